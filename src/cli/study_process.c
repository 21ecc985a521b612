/* study_process.c - a command of pada as a process of its own. */
#include "cli/study_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/launch.h"
#include "base/mem.h"

#define THIS_PROGRAM "/proc/self/exe"

enum { NOT_STARTED = 127, BY_SIGNAL = 128 };

/* In the new process: what it may do between fork and exec is little. */
static void become(const char *const *words, char *const *environment, int log,
                   const pada_run_lock *lock, pid_t parent)
{
    const int nothing = open("/dev/null", O_RDONLY);

    if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 || dup2(log, STDOUT_FILENO) < 0 ||
        dup2(log, STDERR_FILENO) < 0)
        _exit(NOT_STARTED);
    if (lock && lock->fd > 0 && fcntl(lock->fd - 1, F_SETFD, 0) != 0) _exit(NOT_STARTED);
    if (prctl(PR_SET_PDEATHSIG, SIGTERM) != 0 || getppid() != parent) _exit(NOT_STARTED);
    execve(THIS_PROGRAM, (char *const *)words, environment);
    _exit(NOT_STARTED);
}

static pada_status start(pid_t *out, const char *const *words, char *const *environment,
                         const char *log, const pada_run_lock *lock)
{
    const pid_t parent = getpid();
    const int fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);

    if (fd < 0) return PADA_FAIL(PADA_EIO, "%s: %s", log, strerror(errno));
    fflush(NULL); /* nothing is to be written twice */
    *out = fork();
    if (*out == 0) become(words, environment, fd, lock, parent);
    const int reason = errno;
    close(fd);
    if (*out < 0) return PADA_FAIL(PADA_EIO, "a new process: %s", strerror(reason));
    return PADA_OK;
}

pada_status pada_process_start(pid_t *out, const pada_command_line *line, const char *log,
                               const pada_run_lock *lock)
{
    pada_command_line program = {0};
    const char **words = NULL;
    char **environment = NULL;

    pada_command_line_add(&program, "pada");
    for (int i = 0; i < line->n && line->text.status == PADA_OK; i++)
        pada_command_line_add(&program, pada_text_str(&line->text) + line->at[i]);
    pada_status st = line->text.status;
    if (st == PADA_OK) st = pada_command_line_words(&program, &words);
    if (st == PADA_OK) st = pada_launch_environment(&environment);
    if (st == PADA_OK) st = start(out, words, environment, log, lock);
    pada_free(environment);
    pada_free(words);
    pada_command_line_deinit(&program);
    return st;
}

static int exit_code(int status)
{
    return WIFEXITED(status) ? WEXITSTATUS(status) : BY_SIGNAL + WTERMSIG(status);
}

pada_status pada_process_ended(pid_t process, bool *ended, int *code)
{
    int status;
    const pid_t found = waitpid(process, &status, WNOHANG);

    *ended = false;
    if (found < 0 && errno != EINTR)
        return PADA_FAIL(PADA_EIO, "waiting for process %d: %s", (int)process, strerror(errno));
    if (found != process) return PADA_OK;
    *ended = true; /* without WUNTRACED there is nothing else to tell */
    *code = exit_code(status);
    return PADA_OK;
}

pada_status pada_process_wait(pid_t process, int *code)
{
    int status;

    while (waitpid(process, &status, 0) != process)
        if (errno != EINTR)
            return PADA_FAIL(PADA_EIO, "waiting for process %d: %s", (int)process, strerror(errno));
    *code = exit_code(status);
    return PADA_OK;
}

pada_status pada_last_line(const char *path, pada_text *out)
{
    pada_file file = {0};

    PADA_TRY(pada_file_load(&file, path));
    const char *text = (const char *)file.data;
    size_t end = file.bytes;
    while (end > 0 && text[end - 1] == '\n')
        end--;
    size_t begin = end;
    while (begin > 0 && text[begin - 1] != '\n')
        begin--;
    if (end - begin >= 6 && memcmp(text + begin, "pada: ", 6) == 0) begin += 6;
    if (end > begin) pada_text_add_bytes(out, text + begin, end - begin);
    pada_file_close(&file);
    return out->status;
}
