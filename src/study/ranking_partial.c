/* ranking_partial.c - the results of a ranking that is not finished, in a file that only grows. */
#include "study/ranking_partial.h"

#include <errno.h>
#include <fcntl.h>
#include <float.h>
#include <string.h>
#include <unistd.h>

#include "base/csv.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"

struct pada__partial {
    pada_space space;
    char *path;
    int fd;
};

static pada_status fail_errno(const pada__partial *p)
{
    return PADA_FAIL(PADA_EIO, "%s: %s", p->path, strerror(errno));
}

/* Whether the line is a result. */
static bool read_entry(pada_csv *csv, const pada_space *space, pada__partial_entry *entry)
{
    char text[PADA_CSV_FIELD];
    int64_t correct;

    if (pada_csv_field(csv, text) != PADA_OK) return false;
    if (space->ops->parse(space, text, space->ops->dialects[0], &entry->path) != PADA_OK)
        return false;
    if (pada_csv_field(csv, text) != PADA_OK) return false;
    if (pada_parse_int(text, "correct", 0, INT32_MAX, &correct) != PADA_OK) return false;
    entry->correct = (int)correct;
    if (pada_csv_field(csv, text) != PADA_OK) return false;
    if (pada_parse_double(text, "loss", -DBL_MAX, DBL_MAX, &entry->loss) != PADA_OK) return false;
    return !csv->field;
}

/* Hands out the results; *bytes is how much of the file is good, 0: the header is not ours. */
static void read_results(const pada__partial_desc *desc, const pada_file *file, size_t *bytes)
{
    const size_t n = strlen(desc->header);
    pada__partial_entry entry;
    pada_csv csv;

    *bytes = 0;
    if (file->bytes <= n || memcmp(file->data, desc->header, n) != 0 || file->data[n] != '\n')
        return;
    pada_csv_init(&csv, desc->path, file);
    (void)pada_csv_line(&csv);
    *bytes = n + 1;
    while (pada_csv_line(&csv)) {
        if (csv.at[-1] != '\n' || !read_entry(&csv, desc->space, &entry)) return;
        desc->take(desc->user, &entry);
        *bytes = (size_t)(csv.at - (const char *)file->data);
    }
}

static pada_status write_all(pada__partial *p, const char *bytes, size_t n)
{
    while (n > 0) {
        const ssize_t written = write(p->fd, bytes, n);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return fail_errno(p);
        bytes += written;
        n -= (size_t)written;
    }
    return PADA_OK;
}

/* Opens the file with the first `bytes` of what it holds; without any, writes the header. */
static pada_status open_for_appending(pada__partial *p, const char *header, size_t bytes)
{
    p->fd = open(p->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (p->fd < 0 || ftruncate(p->fd, (off_t)bytes) != 0) return fail_errno(p);
    if (bytes > 0) return PADA_OK;
    PADA_TRY(write_all(p, header, strlen(header)));
    return write_all(p, "\n", 1);
}

static pada_status open_partial(pada__partial *p, const pada__partial_desc *desc,
                                pada__partial_found *found)
{
    pada_file file = {0};
    size_t bytes = 0;

    *found = PADA__PARTIAL_NONE;
    PADA_TRY(pada_strdup(&p->path, desc->path));
    if (pada_path_exists(desc->path)) {
        PADA_TRY(pada_file_open(&file, desc->path));
        read_results(desc, &file, &bytes);
        *found = bytes > 0 ? PADA__PARTIAL_RESULTS : PADA__PARTIAL_OTHER;
        pada_file_close(&file);
    }
    return open_for_appending(p, desc->header, bytes);
}

pada_status pada__partial_open(pada__partial **out, const pada__partial_desc *desc,
                               pada__partial_found *found)
{
    void *mem;

    *out = NULL;
    PADA_TRY(pada_calloc(&mem, 1, sizeof **out));
    pada__partial *p = mem;
    p->space = *desc->space;
    p->fd = -1;
    const pada_status st = open_partial(p, desc, found);
    if (st != PADA_OK) {
        pada__partial_close(p);
        return st;
    }
    *out = p;
    return PADA_OK;
}

pada_status pada__partial_append(pada__partial *p, const pada__partial_entry *entry)
{
    const pada_space_ops *ops = p->space.ops;
    pada_text line = {0};
    pada_status st = ops->format(&p->space, &entry->path, ops->dialects[0], &line);

    pada_text_add(&line, ",%d,", entry->correct);
    pada_text_add_double(&line, entry->loss);
    pada_text_add(&line, "\n");
    if (st == PADA_OK) st = line.status;
    if (st == PADA_OK) st = write_all(p, line.data, line.length);
    pada_text_deinit(&line);
    return st;
}

void pada__partial_close(pada__partial *p)
{
    if (!p) return;
    if (p->fd >= 0) close(p->fd);
    pada_free(p->path);
    pada_free(p);
}
