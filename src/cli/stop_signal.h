/* stop_signal.h - signals that ask a long command to stop where it can go on later. */
#ifndef PADA_CLI_STOP_SIGNAL_H
#define PADA_CLI_STOP_SIGNAL_H

#include <signal.h>

/* Not 0 once SIGINT, SIGTERM or SIGUSR1 came; a second SIGINT ends the program at once. The handlers
 * are set by the first call. */
const volatile sig_atomic_t *pada_stop_signal(void);

#endif
