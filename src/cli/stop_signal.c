/* stop_signal.c - signals that ask a long command to stop where it can go on later. */
#include "cli/stop_signal.h"

#include <stdbool.h>
#include <stddef.h>

static volatile sig_atomic_t stopped;
static bool is_handled;

static void on_signal(int number)
{
    stopped = 1;
    if (number == SIGINT) signal(SIGINT, SIG_DFL);
}

static void set_handlers(void (*handler)(int))
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};

    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct sigaction before;
        if (signals[i] == SIGHUP && sigaction(SIGHUP, NULL, &before) == 0 &&
            before.sa_handler == SIG_IGN)
            continue;
        sigaction(signals[i], &action, NULL);
    }
}

const volatile sig_atomic_t *pada_stop_signal(void)
{
    if (!is_handled) set_handlers(on_signal);
    is_handled = true;
    return &stopped;
}

void pada_stop_signal_end(void)
{
    set_handlers(SIG_DFL);
    is_handled = false;
}
