/* checkpoint.c - the checkpoints of a run. */
#include "train/checkpoint.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"

#define SUFFIX ".safetensors"
#define DIGITS 8 /* at least */
#define KEPT   2

static pada_status path_of(pada_text *path, const char *run, int64_t step)
{
    pada_text_add(path, "%s/ckpt/%0*" PRId64 SUFFIX, run, DIGITS, step);
    return path->status;
}

/* The number in the name of a checkpoint, -1 if it is the name of something else. */
static int64_t step_of(const char *name)
{
    const size_t n = strspn(name, "0123456789");

    if (n < DIGITS || n > 18 || strcmp(name + n, SUFFIX) != 0) return -1;
    return strtoll(name, NULL, 10);
}

static int newest_first(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x < y) - (x > y);
}

/* The steps of all checkpoints, newest first; *steps is owned by the caller. A folder that is not
 * there has none. */
static pada_status list_steps(const char *run, int64_t **steps, int *n)
{
    pada_text folder = {0};
    void *items = NULL;
    int cap = 0;
    pada_status st;

    *steps = NULL;
    *n = 0;
    pada_text_add(&folder, "%s/ckpt", run);
    if ((st = folder.status) != PADA_OK) return st;
    DIR *dir = opendir(pada_text_str(&folder));
    const int reason = errno;
    if (!dir) {
        if (reason != ENOENT)
            st = PADA_FAIL(PADA_EIO, "%s: %s", pada_text_str(&folder), strerror(reason));
        pada_text_deinit(&folder);
        return st;
    }
    for (struct dirent *entry; st == PADA_OK && (entry = readdir(dir));) {
        const int64_t step = step_of(entry->d_name);
        if (step < 0) continue;
        st = pada_grow(&items, &cap, *n + 1, sizeof **steps);
        if (st == PADA_OK) ((int64_t *)items)[(*n)++] = step;
    }
    closedir(dir);
    pada_text_deinit(&folder);
    if (st != PADA_OK) {
        pada_free(items);
        return st;
    }
    if (*n > 0) qsort(items, (size_t)*n, sizeof **steps, newest_first);
    *steps = items;
    return PADA_OK;
}

static bool is_kept(int64_t step, int64_t kept_steps)
{
    return kept_steps > 0 && step % kept_steps == 0;
}

/* Removes what is older than the newest two, but for those that are kept. That a file cannot be removed harms nobody. */
static pada_status prune(const char *run, int64_t kept_steps)
{
    int64_t *steps;
    pada_status st;
    int n;

    PADA_TRY(list_steps(run, &steps, &n));
    st = PADA_OK;
    for (int i = KEPT; i < n && st == PADA_OK; i++) {
        pada_text path = {0};
        if (is_kept(steps[i], kept_steps)) continue;
        st = path_of(&path, run, steps[i]);
        if (st == PADA_OK) unlink(pada_text_str(&path));
        pada_text_deinit(&path);
    }
    pada_free(steps);
    return st;
}

pada_status pada_checkpoint_save(const char *run, int64_t step, int64_t kept_steps,
                                 const pada_state *state)
{
    pada_text folder = {0}, path = {0};
    pada_status st;

    pada_text_add(&folder, "%s/ckpt", run);
    if ((st = folder.status) != PADA_OK) goto out;
    if ((st = path_of(&path, run, step)) != PADA_OK) goto out;
    if ((st = pada_make_dirs(pada_text_str(&folder))) != PADA_OK) goto out;
    if ((st = pada_state_write(state, pada_text_str(&path))) != PADA_OK) goto out;
    st = prune(run, kept_steps);
out:
    pada_text_deinit(&folder);
    pada_text_deinit(&path);
    return st;
}

/* Renames a damaged checkpoint and tells it in `notes`; the thread's message says what is wrong. */
static pada_status set_aside(const char *run, int64_t step, pada_text *notes)
{
    pada_text path = {0}, aside = {0};
    pada_status st;

    if ((st = path_of(&path, run, step)) != PADA_OK) goto out;
    pada_text_add(&aside, "%s.damaged", pada_text_str(&path));
    if ((st = aside.status) != PADA_OK) goto out;
    pada_text_add(notes, "%s; kept as *.damaged, going on from the one before\n", pada_message());
    if ((st = notes->status) != PADA_OK) goto out;
    if (rename(pada_text_str(&path), pada_text_str(&aside)) != 0)
        st = PADA_FAIL(PADA_EIO, "%s: %s", pada_text_str(&aside), strerror(errno));
out:
    pada_text_deinit(&path);
    pada_text_deinit(&aside);
    return st;
}

/* Whether a failure says something about the file, and not about this process. */
static bool is_damage(pada_status st)
{
    return st == PADA_EDATA || st == PADA_ENOENT;
}

pada_status pada_checkpoint_open(pada_state **state, const char *run, pada_text *notes)
{
    int64_t *steps;
    pada_status st;
    int n;

    *state = NULL;
    PADA_TRY(list_steps(run, &steps, &n));
    st = PADA_OK;
    for (int i = 0; i < n && st == PADA_OK && !*state; i++) {
        pada_text path = {0};
        st = path_of(&path, run, steps[i]);
        if (st == PADA_OK) st = pada_state_open(state, pada_text_str(&path));
        if (is_damage(st)) st = set_aside(run, steps[i], notes);
        pada_text_deinit(&path);
    }
    pada_free(steps);
    return st;
}

pada_status pada_checkpoint_room(const char *run, int64_t kept_steps, int64_t last_step,
                                 const pada_state *state, int64_t *bytes)
{
    int64_t *steps;
    int n;

    PADA_TRY(list_steps(run, &steps, &n));
    int64_t n_kept = 0;
    for (int i = 0; i < n; i++)
        n_kept += is_kept(steps[i], kept_steps);
    const int64_t n_others = n - n_kept < KEPT ? n - n_kept : KEPT;
    const int64_t n_to_keep = kept_steps > 0 ? last_step / kept_steps - n_kept : 0;
    pada_free(steps);
    *bytes = (KEPT + 1 - n_others + (n_to_keep > 0 ? n_to_keep : 0)) * pada_state_bytes(state);
    return PADA_OK;
}

pada_status pada_checkpoint_list(const char *run, pada_checkpoint_file **out, int *n)
{
    int64_t *steps;
    void *memory;
    pada_status st;

    *out = NULL;
    PADA_TRY(list_steps(run, &steps, n));
    st = pada_calloc(&memory, (size_t)*n + 1, sizeof **out);
    if (st == PADA_OK) *out = memory;
    for (int i = 0; i < *n && st == PADA_OK; i++) {
        (*out)[i].step = steps[*n - 1 - i];
        st = path_of(&(*out)[i].path, run, (*out)[i].step);
    }
    pada_free(steps);
    if (st != PADA_OK) {
        pada_checkpoint_list_free(*out, *n);
        *out = NULL;
    }
    return st;
}

void pada_checkpoint_list_free(pada_checkpoint_file *list, int n)
{
    for (int i = 0; list && i < n; i++)
        pada_text_deinit(&list[i].path);
    pada_free(list);
}

pada_status pada_checkpoint_newest(const char *run, pada_text *path, pada_text *notes)
{
    int64_t *steps;
    pada_state *state = NULL;
    pada_status st;
    int n;

    PADA_TRY(list_steps(run, &steps, &n));
    st = PADA_FAIL(PADA_ENOENT, "%s: no checkpoint in this folder", run);
    for (int i = 0; i < n && is_damage(st); i++) {
        pada_text file = {0};
        st = path_of(&file, run, steps[i]);
        if (st == PADA_OK) st = pada_state_open(&state, pada_text_str(&file));
        if (st == PADA_OK) pada_text_add(path, "%s", pada_text_str(&file));
        if (is_damage(st) && i + 1 < n && notes)
            pada_text_add(notes, "%s; the checkpoint before it is used\n", pada_message());
        pada_text_deinit(&file);
    }
    pada_state_destroy(state);
    pada_free(steps);
    if (st == PADA_OK) st = path->status;
    return st == PADA_OK && notes ? notes->status : st;
}
