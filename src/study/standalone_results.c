/* standalone_results.c - the accuracies of finished trainings, in a file that only grows. */
#include "study/standalone_results.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/csv.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"

#define HEADER "arch,seed,correct,images"

struct pada__results {
    pada_space space;
    char *path;
    int fd; /* -1: closed */
};

static pada_status fail_errno(const pada__results *r)
{
    return PADA_FAIL(PADA_EIO, "%s: %s", r->path, strerror(errno));
}

static bool read_count(pada_csv *csv, int *out)
{
    char text[PADA_CSV_FIELD];
    int64_t value;

    if (pada_csv_field(csv, text) != PADA_OK) return false;
    if (pada_parse_int(text, "count", 0, INT32_MAX, &value) != PADA_OK) return false;
    *out = (int)value;
    return true;
}

/* Whether the line is a result. */
static bool read_result(pada_csv *csv, const pada_space *space, pada__result *out)
{
    const pada_space_ops *ops = space->ops;
    char text[PADA_CSV_FIELD];

    if (pada_csv_field(csv, text) != PADA_OK) return false;
    if (ops->parse(space, text, ops->dialects[0], &out->form) != PADA_OK) return false;
    if (pada_csv_field(csv, text) != PADA_OK) return false;
    if (pada_parse_u64(text, "seed", &out->seed) != PADA_OK) return false;
    return read_count(csv, &out->correct) && read_count(csv, &out->images) && !csv->field &&
           out->images > 0 && out->correct <= out->images;
}

/* Hands out the results; *bytes is how much of the file is good, 0 if not even the header is. */
static pada_status read_results(pada__results *r, const pada_file *file,
                                void (*take)(void *user, const pada__result *result), void *user,
                                size_t *bytes)
{
    const size_t n = strlen(HEADER "\n");
    const size_t common = file->bytes < n ? file->bytes : n;
    pada__result result;
    pada_csv csv;

    *bytes = 0;
    if (common > 0 && memcmp(file->data, HEADER "\n", common) != 0)
        return PADA_FAIL(PADA_EDATA, "%s:1: not results of `pada truth`", r->path);
    if (common < n) return PADA_OK;
    pada_csv_init(&csv, r->path, file);
    (void)pada_csv_line(&csv);
    *bytes = n;
    while (pada_csv_line(&csv)) {
        if (csv.at[-1] != '\n' || !read_result(&csv, &r->space, &result)) break;
        take(user, &result);
        *bytes = (size_t)(csv.at - (const char *)file->data);
    }
    return PADA_OK;
}

static pada_status write_all(pada__results *r, const char *bytes, size_t n)
{
    while (n > 0) {
        const ssize_t written = write(r->fd, bytes, n);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return fail_errno(r);
        bytes += written;
        n -= (size_t)written;
    }
    return fsync(r->fd) == 0 ? PADA_OK : fail_errno(r);
}

static pada_status open_results(pada__results *r, const char *path,
                                void (*take)(void *user, const pada__result *result), void *user)
{
    pada_file file = {0};
    size_t bytes = 0;
    pada_status st = PADA_OK;

    PADA_TRY(pada_strdup(&r->path, path));
    if (pada_path_exists(path)) {
        PADA_TRY(pada_file_open(&file, path));
        st = read_results(r, &file, take, user, &bytes);
        pada_file_close(&file);
    }
    if (st != PADA_OK) return st;
    r->fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (r->fd < 0 || ftruncate(r->fd, (off_t)bytes) != 0) return fail_errno(r);
    return bytes > 0 ? PADA_OK : write_all(r, HEADER "\n", strlen(HEADER "\n"));
}

pada_status pada__results_open(pada__results **out, const pada_space *space, const char *path,
                               void (*take)(void *user, const pada__result *result), void *user)
{
    void *memory;

    *out = NULL;
    PADA_TRY(pada_calloc(&memory, 1, sizeof **out));
    pada__results *r = memory;
    r->space = *space;
    r->fd = -1;
    const pada_status st = open_results(r, path, take, user);
    if (st != PADA_OK) {
        pada__results_close(r);
        return st;
    }
    *out = r;
    return PADA_OK;
}

pada_status pada__results_append(pada__results *r, const pada__result *result)
{
    const pada_space_ops *ops = r->space.ops;
    pada_text line = {0};
    pada_status st = ops->format(&r->space, &result->form, ops->dialects[0], &line);

    pada_text_add(&line, ",%" PRIu64 ",%d,%d\n", result->seed, result->correct, result->images);
    if (st == PADA_OK) st = line.status;
    if (st == PADA_OK) st = write_all(r, line.data, line.length);
    pada_text_deinit(&line);
    return st;
}

void pada__results_close(pada__results *r)
{
    if (!r) return;
    if (r->fd >= 0) close(r->fd);
    pada_free(r->path);
    pada_free(r);
}
