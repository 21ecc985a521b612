/* stop_signal.h - signals that ask a long command to stop where it can go on later. */
#ifndef PADA_CLI_STOP_SIGNAL_H
#define PADA_CLI_STOP_SIGNAL_H

#include <signal.h>

/* Sets the handlers, the first time that it is called. What is pointed to is not 0 once SIGINT,
 * SIGTERM, SIGHUP or SIGUSR1 came; a second SIGINT ends the program at once. A SIGHUP that is ignored
 * (nohup) stays so. */
const volatile sig_atomic_t *pada_stop_signal(void);
/* The signals do again what they usually do. */
void pada_stop_signal_end(void);

#endif
