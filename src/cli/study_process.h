/* study_process.h - a command of pada as a process of its own. */
#ifndef PADA_CLI_STUDY_PROCESS_H
#define PADA_CLI_STUDY_PROCESS_H

#include <sys/types.h>

#include "cli/command_line.h"
#include "train/run_config.h"

/* Starts this program with the words, by itself also where this process is one of several (base/launch.h); what it says is
 * appended to the file. It gets SIGTERM when the thread that made this call ends, and shares a lock that is held until both
 * have ended; NULL: none. */
pada_status pada_process_start(pid_t *out, const pada_command_line *line, const char *log,
                               const pada_run_lock *lock);
/* Waits for the end of a process. */
pada_status pada_process_wait(pid_t process, int *code);
/* Whether it has ended, without waiting; *code is its exit code, 128 and the signal where one ended it. */
pada_status pada_process_ended(pid_t process, bool *ended, int *code);
/* Appends the last line of a file, without "pada: " before it; nothing where there is none. */
pada_status pada_last_line(const char *path, pada_text *out);

#endif
