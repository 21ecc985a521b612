/* run_config.c - the papers of a run folder, and who may work in it. */
#include "train/run_config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "data/folder_splits.h"
#include "train/run_starts.h"

#define CONFIG_FILE "config.yaml"

enum { MAX_NAMED = 6 }; /* keys that differ, in a message */

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

pada_status pada_run_lock_await(pada_run_lock *lock, const char *run, double seconds,
                                const volatile sig_atomic_t *stop)
{
    const struct timespec pause = {.tv_nsec = 100 * 1000 * 1000};
    const double start = pada_clock_seconds();
    pada_status st;

    while ((st = pada_run_lock_take(lock, run)) == PADA_EINVAL && !*stop &&
           pada_clock_seconds() - start < seconds)
        (void)nanosleep(&pause, NULL);
    return st;
}

void pada_run_lock_release(pada_run_lock *lock)
{
    if (lock->fd > 0) close(lock->fd - 1);
    lock->fd = 0;
}

/* A name that says whose the folder is: the first one that is no remainder of a start that died. The
 * buffer is for it; false: there is none. */
static bool find_stranger(DIR *dir, char *name, size_t bytes)
{
    for (const struct dirent *e; (e = readdir(dir)) != NULL;) {
        if (e->d_name[0] == '.' || strncmp(e->d_name, CONFIG_FILE ".tmp.", 16) == 0) continue;
        snprintf(name, bytes, "%s", e->d_name);
        return true;
    }
    return false;
}

pada_status pada_run_check_folder(const char *run, const char *data)
{
    pada_text config = {0};
    char name[256];

    if (data && pada_folder_would_take(data, run))
        return PADA_FAIL(PADA_EINVAL,
                         "%s: among the images of %s, where it would be a class; give another one",
                         run, data);

    pada_text_add(&config, "%s/" CONFIG_FILE, run);
    PADA_TRY(config.status);
    const bool is_run = pada_path_exists(config.data);
    pada_text_deinit(&config);
    DIR *dir = is_run ? NULL : opendir(run);
    if (!dir) return PADA_OK; /* what is wrong with it is said by whoever makes it */
    const bool found = find_stranger(dir, name, sizeof name);
    closedir(dir);
    if (!found) return PADA_OK;
    return PADA_FAIL(PADA_EINVAL, "%s: no run folder, and not empty: it has '%s'; give another one",
                     run, name);
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

static bool is_one_of(const line *x, const char *const *keys)
{
    for (; keys && *keys; keys++)
        if (strlen(*keys) == x->key_bytes && memcmp(*keys, x->start, x->key_bytes) == 0)
            return true;
    return false;
}

/* Appends what lines of `a` are not in `b`: "key (value there, value here)", and counts them: only the first ones are
 * named. With `only_missing`, keys that `b` has are left to the other direction. */
static void add_differences(pada_text *out, int *n, const char *a, const char *a_end, const char *b,
                            const char *b_end, bool only_missing, const char *const *except)
{
    line x, y;

    while (next_line(&a, a_end, &x)) {
        if (is_one_of(&x, except)) continue;
        const bool found = find_key(b, b_end, &x, &y);
        if (found &&
            (only_missing || (x.bytes == y.bytes && memcmp(x.start, y.start, x.bytes) == 0)))
            continue;
        if (++*n > MAX_NAMED) continue;
        pada_text_add(out, "%s%.*s", out->length > 0 ? ", " : "", (int)x.key_bytes, x.start);
        if (found)
            pada_text_add(out, " (%.*s there,%.*s here)", (int)(y.bytes - y.key_bytes - 1),
                          y.start + y.key_bytes + 1, (int)(x.bytes - x.key_bytes - 1),
                          x.start + x.key_bytes + 1);
        else
            pada_text_add(out, " (only %s)", only_missing ? "there" : "here");
    }
}

pada_status pada_config_check(const char *path, const char *config, const char *const *except)
{
    pada_text differences = {0};
    pada_file file = {0};
    pada_status st;
    int n = 0;

    PADA_TRY(pada_file_open(&file, path));
    const char *old = file.bytes > 0 ? (const char *)file.data : "", *old_end = old + file.bytes;
    const char *config_end = config + strlen(config);
    add_differences(&differences, &n, config, config_end, old, old_end, false, except);
    add_differences(&differences, &n, old, old_end, config, config_end, true, except);
    if (n > MAX_NAMED) pada_text_add(&differences, ", and %d more", n - MAX_NAMED);
    st = differences.status;
    if (st == PADA_OK && differences.length > 0)
        st = PADA_FAIL(PADA_EINVAL, "%s: this run has another configuration: %s", path,
                       pada_text_str(&differences));
    pada_text_deinit(&differences);
    pada_file_close(&file);
    return st;
}

pada_status pada_run_check_config(const char *run, const char *config, const char *const *except)
{
    pada_text path = {0};
    pada_status st;

    pada_text_add(&path, "%s/" CONFIG_FILE, run);
    st = path.status;
    if (st == PADA_OK && pada_path_exists(path.data))
        st = pada_config_check(path.data, config, except);
    pada_text_deinit(&path);
    return st;
}

/* Writes RUN/NAME; `only_new`: unless it is there. */
static pada_status write_paper(const char *run, const char *name, const char *text, bool only_new)
{
    pada_text path = {0};
    pada_status st;

    pada_text_add(&path, "%s/%s", run, name);
    st = path.status;
    if (st == PADA_OK && !(only_new && pada_path_exists(path.data)))
        st = pada_file_replace(path.data, text, strlen(text));
    pada_text_deinit(&path);
    return st;
}

static pada_status write_card(const char *run, const pada_data_card *card)
{
    pada_text text = {0};
    pada_status st = pada_data_card_print(card, true, &text);

    pada_text_add(&text, "\n");
    if (st == PADA_OK) st = text.status;
    if (st == PADA_OK) st = write_paper(run, PADA_DATA_CARD_FILE, text.data, false);
    pada_text_deinit(&text);
    return st;
}

static pada_status check_papers(const char *run, const pada_run_papers *papers)
{
    const char *except[3] = {NULL};
    pada_data_card there = {0};
    bool has_starts = false;
    int n = 0;

    PADA_TRY(pada_data_card_read(&there, run));
    const bool has_cards = there.json && papers->card;
    pada_status st =
        papers->start ? pada_run_starts_check(run, papers->start, &has_starts) : PADA_OK;
    if (has_cards) except[n++] = "data";
    if (has_starts) except[n++] = "backend";
    if (st == PADA_OK && papers->config) st = pada_run_check_config(run, papers->config, except);
    if (st == PADA_OK && has_cards)
        st = pada_data_card_check_same(&there, papers->card, run,
                                       papers->card->where ? papers->card->where
                                                           : papers->card->name);
    pada_data_card_deinit(&there);
    return st;
}

pada_status pada_run_store(const char *run, const pada_run_papers *papers)
{
    PADA_TRY(pada_make_dirs(run));
    PADA_TRY(check_papers(run, papers));
    if (papers->config) PADA_TRY(write_paper(run, CONFIG_FILE, papers->config, true));
    if (papers->card) PADA_TRY(write_card(run, papers->card));
    return papers->start ? pada_run_starts_add(run, papers->start) : PADA_OK;
}
