/* run_config.c - the configuration of a run folder, and who may work in it. */
#include "train/run_config.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"

pada_status pada_run_lock_take(pada_run_lock *lock, const char *run)
{
    PADA_TRY(pada_make_dirs(run));
    const int fd = open(run, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return PADA_FAIL(PADA_EIO, "%s: %s", run, strerror(errno));
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        const int reason = errno;
        close(fd);
        if (reason == EWOULDBLOCK)
            return PADA_FAIL(PADA_EINVAL, "%s: another process is working in this folder", run);
        return PADA_FAIL(PADA_EIO, "%s: %s", run, strerror(reason));
    }
    lock->fd = fd + 1;
    return PADA_OK;
}

void pada_run_lock_release(pada_run_lock *lock)
{
    if (lock->fd > 0) close(lock->fd - 1);
    lock->fd = 0;
}

/* A line of a configuration: from `start`, without its end. */
typedef struct line {
    const char *start;
    size_t bytes, key_bytes;
} line;

/* Takes the next line that is a setting; false at the end. */
static bool next_line(const char **at, const char *end, line *out)
{
    while (*at < end) {
        const char *newline = memchr(*at, '\n', (size_t)(end - *at));
        const char *stop = newline ? newline : end;
        const char *colon = memchr(*at, ':', (size_t)(stop - *at));
        *out = (line){*at, (size_t)(stop - *at), colon ? (size_t)(colon - *at) : 0};
        *at = newline ? newline + 1 : end;
        if (out->key_bytes > 0 && out->start[0] != '#') return true;
    }
    return false;
}

static bool find_key(const char *text, const char *end, const line *key, line *out)
{
    while (next_line(&text, end, out))
        if (out->key_bytes == key->key_bytes && memcmp(out->start, key->start, key->key_bytes) == 0)
            return true;
    return false;
}

/* Appends what lines of `a` are not in `b`: "key (value there, value here)". With `only_missing`,
 * keys that `b` has are left to the other direction. */
static void add_differences(pada_text *out, const char *a, const char *a_end, const char *b,
                            const char *b_end, bool only_missing)
{
    line x, y;

    while (next_line(&a, a_end, &x)) {
        const bool found = find_key(b, b_end, &x, &y);
        if (found &&
            (only_missing || (x.bytes == y.bytes && memcmp(x.start, y.start, x.bytes) == 0)))
            continue;
        pada_text_add(out, "%s%.*s", out->length > 0 ? ", " : "", (int)x.key_bytes, x.start);
        if (found)
            pada_text_add(out, " (%.*s there,%.*s here)", (int)(y.bytes - y.key_bytes - 1),
                          y.start + y.key_bytes + 1, (int)(x.bytes - x.key_bytes - 1),
                          x.start + x.key_bytes + 1);
        else
            pada_text_add(out, " (only %s)", only_missing ? "there" : "here");
    }
}

static pada_status compare(const char *path, const char *config)
{
    pada_text differences = {0};
    pada_file file = {0};
    pada_status st;

    PADA_TRY(pada_file_open(&file, path));
    const char *old = file.bytes > 0 ? (const char *)file.data : "", *old_end = old + file.bytes;
    const char *config_end = config + strlen(config);
    add_differences(&differences, config, config_end, old, old_end, false);
    add_differences(&differences, old, old_end, config, config_end, true);
    st = differences.status;
    if (st == PADA_OK && differences.length > 0)
        st = PADA_FAIL(PADA_EINVAL, "%s: this run has another configuration: %s", path,
                       pada_text_str(&differences));
    pada_text_deinit(&differences);
    pada_file_close(&file);
    return st;
}

pada_status pada_run_check_config(const char *run, const char *config)
{
    pada_text path = {0};
    pada_status st;

    pada_text_add(&path, "%s/config.yaml", run);
    st = path.status;
    if (st == PADA_OK)
        st = pada_path_exists(pada_text_str(&path))
                 ? compare(pada_text_str(&path), config)
                 : pada_file_replace(pada_text_str(&path), config, strlen(config));
    pada_text_deinit(&path);
    return st;
}

pada_status pada_run_store(const char *run, const char *config, const char *env)
{
    pada_text path = {0};
    pada_status st;

    PADA_TRY(pada_make_dirs(run));
    if (config) PADA_TRY(pada_run_check_config(run, config));
    if (!env) return PADA_OK;
    pada_text_add(&path, "%s/env.json", run);
    st = path.status;
    if (st == PADA_OK) st = pada_file_replace(pada_text_str(&path), env, strlen(env));
    pada_text_deinit(&path);
    return st;
}
