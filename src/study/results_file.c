/* results_file.c - a CSV file of results that only grows, and is never cut short by its reader. */
#include "study/results_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"

struct pada__results_file {
    char *path;
    int fd; /* -1: closed */
};

static pada_status fail_errno(const pada__results_file *f)
{
    return PADA_FAIL(PADA_EIO, "%s: %s", f->path, strerror(errno));
}

/* Whether the file starts with the header, or is a first part of it: *bytes is then 0. */
static bool has_header(const pada_file *file, const char *header, size_t *bytes)
{
    const size_t n = strlen(header);
    const size_t common = file->bytes < n ? file->bytes : n;

    *bytes = 0;
    if (common > 0 && memcmp(file->data, header, common) != 0) return false;
    if (file->bytes <= n) return true;
    *bytes = n + 1;
    return file->data[n] == '\n';
}

/* Hands out the results; *bytes is how much of the file is whole lines. */
static pada_status read_lines(const pada__results_desc *desc, const pada_file *file, size_t *bytes)
{
    pada_csv csv;

    pada_csv_init(&csv, desc->path, file);
    (void)pada_csv_line(&csv);
    while (pada_csv_line(&csv) && csv.at[-1] == '\n') {
        PADA_TRY(desc->take(desc->user, &csv));
        PADA_TRY(pada_csv_end(&csv));
        *bytes = (size_t)(csv.at - (const char *)file->data);
    }
    return PADA_OK;
}

static pada_status read_file(const pada__results_desc *desc, pada__results_found *found,
                             size_t *bytes)
{
    pada_file file = {0};
    pada_status st = PADA_OK;

    *found = PADA__RESULTS_NONE;
    *bytes = 0;
    if (!pada_path_exists(desc->path)) return PADA_OK;
    PADA_TRY(pada_file_open(&file, desc->path));
    if (!has_header(&file, desc->header, bytes)) {
        *found = PADA__RESULTS_OTHER;
        *bytes = 0;
        if (!desc->replaces_others)
            st = PADA_FAIL(PADA_EDATA, "%s:1: not %s", desc->path, desc->what);
    } else if (*bytes > 0) {
        *found = PADA__RESULTS_OURS;
        st = read_lines(desc, &file, bytes);
    }
    pada_file_close(&file);
    return st;
}

static pada_status open_file(pada__results_file *f, const pada__results_desc *desc,
                             pada__results_found *found)
{
    size_t bytes;

    PADA_TRY(pada_strdup(&f->path, desc->path));
    PADA_TRY(read_file(desc, found, &bytes));
    f->fd = open(f->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (f->fd < 0 || ftruncate(f->fd, (off_t)bytes) != 0) return fail_errno(f);
    if (bytes > 0) return PADA_OK;
    PADA_TRY(pada__results_file_append(f, desc->header, strlen(desc->header)));
    return pada__results_file_append(f, "\n", 1);
}

pada_status pada__results_file_open(pada__results_file **out, const pada__results_desc *desc,
                                    pada__results_found *found)
{
    void *memory;

    *out = NULL;
    PADA_TRY(pada_calloc(&memory, 1, sizeof **out));
    pada__results_file *f = memory;
    f->fd = -1;
    const pada_status st = open_file(f, desc, found);
    if (st != PADA_OK) {
        pada__results_file_close(f);
        return st;
    }
    *out = f;
    return PADA_OK;
}

pada_status pada__results_file_append(pada__results_file *f, const char *lines, size_t bytes)
{
    while (bytes > 0) {
        const ssize_t written = write(f->fd, lines, bytes);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return fail_errno(f);
        lines += written;
        bytes -= (size_t)written;
    }
    return PADA_OK;
}

pada_status pada__results_file_sync(pada__results_file *f)
{
    return fsync(f->fd) == 0 ? PADA_OK : fail_errno(f);
}

void pada__results_file_close(pada__results_file *f)
{
    if (!f) return;
    if (f->fd >= 0) close(f->fd);
    pada_free(f->path);
    pada_free(f);
}

pada_status pada__results_fail(const pada_csv *csv)
{
    char reason[512];

    (void)snprintf(reason, sizeof reason, "%s", pada_message());
    return PADA_FAIL(PADA_EDATA, "%s:%d: %s", csv->name, csv->line, reason);
}

pada_status pada__results_read_int(pada_csv *csv, const char *what, int64_t min, int64_t max,
                                   int *out)
{
    char text[PADA_CSV_FIELD];
    int64_t value;

    PADA_TRY(pada_csv_field(csv, text));
    if (pada_parse_int(text, what, min, max, &value) != PADA_OK) return pada__results_fail(csv);
    *out = (int)value;
    return PADA_OK;
}
