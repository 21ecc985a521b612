/* epoch_metrics.c - the named numbers of one epoch, and the file they go to. */
#include "train/epoch_metrics.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

void pada_epoch_metrics_add(pada_epoch_metrics *m, double value, const char *name, ...)
{
    va_list args;

    PADA_ASSERT(m->n < PADA_MAX_EPOCH_METRICS);
    va_start(args, name);
    vsnprintf(m->items[m->n].name, sizeof m->items[m->n].name, name, args);
    va_end(args);
    m->items[m->n++].value = value;
}

double pada_epoch_metrics_get(const pada_epoch_metrics *m, const char *name)
{
    for (int i = 0; i < m->n; i++)
        if (strcmp(m->items[i].name, name) == 0) return m->items[i].value;
    return NAN;
}

void pada_epoch_metrics_warn(pada_epoch_metrics *m, const char *word)
{
    const size_t used = strlen(m->warnings);

    snprintf(m->warnings + used, sizeof m->warnings - used, "%s%s", used > 0 ? ";" : "", word);
}

static pada_status path_of(pada_text *path, const char *run)
{
    pada_text_add(path, "%s/metrics.csv", run);
    return path->status;
}

/* The end of the line that starts at `line`, or NULL if it has no newline. */
static const char *end_of_line(const char *line, const char *end)
{
    return line < end ? memchr(line, '\n', (size_t)(end - line)) : NULL;
}

/* The epoch that a row is about, -1 if it is not a row. `end` is its newline. */
static int epoch_of(const char *line, const char *end)
{
    int64_t number = 0;
    const char *p = line;

    for (; p < end && *p >= '0' && *p <= '9' && number <= INT32_MAX; p++)
        number = 10 * number + (*p - '0');
    return p > line && p < end && *p == ',' && number <= INT32_MAX ? (int)number : -1;
}

/* How much of the file stays: the header and the whole rows of earlier epochs, *n_rows of them. */
static size_t bytes_before(const char *text, size_t bytes, int epoch, int *n_rows)
{
    const char *end = text + bytes, *line = end_of_line(text, end);
    int last = -1;

    *n_rows = 0;
    if (!line) return 0;
    line++;
    for (const char *next; (next = end_of_line(line, end)); line = next + 1) {
        const int number = epoch_of(line, next);
        if (number <= last || number >= epoch) break;
        last = number;
        ++*n_rows;
    }
    return (size_t)(line - text);
}

pada_status pada_epoch_metrics_rewind(const char *run, int epoch, int *n_missing)
{
    pada_text path = {0};
    pada_file file = {0};
    int n_rows = 0;
    size_t keep = 0;
    pada_status st;

    *n_missing = epoch;
    if ((st = path_of(&path, run)) != PADA_OK) goto out;
    if (!pada_path_exists(pada_text_str(&path))) goto out;
    if ((st = pada_file_open(&file, pada_text_str(&path))) != PADA_OK) goto out;
    if (file.bytes > 0 && epoch > 0)
        keep = bytes_before((const char *)file.data, file.bytes, epoch, &n_rows);
    *n_missing = epoch - n_rows;
    if (keep != file.bytes) st = pada_file_replace(pada_text_str(&path), file.data, keep);
out:
    pada_file_close(&file);
    pada_text_deinit(&path);
    return st;
}

static void add_row(pada_text *text, const pada_epoch_metrics *m)
{
    for (int i = 0; i < m->n; i++) {
        if (isnan(m->items[i].value))
            pada_text_add(text, "%s", i > 0 ? "," : "");
        else
            pada_text_add(text, "%s%.9g", i > 0 ? "," : "", m->items[i].value);
    }
    pada_text_add(text, ",%016" PRIx64 ",%s\n", m->weights_hash, m->warnings);
}

static pada_status append(const char *path, const pada_epoch_metrics *m)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    pada_text text = {0};
    pada_status st = PADA_OK;

    if (fd < 0) return PADA_FAIL(PADA_EIO, "%s: %s", path, strerror(errno));
    if (lseek(fd, 0, SEEK_END) == 0) {
        for (int i = 0; i < m->n; i++)
            pada_text_add(&text, "%s%s", i > 0 ? "," : "", m->items[i].name);
        pada_text_add(&text, ",weights_hash,warnings\n");
    }
    add_row(&text, m);
    st = text.status;
    const ssize_t written = st == PADA_OK ? write(fd, text.data, text.length) : 0;
    if (st == PADA_OK && written != (ssize_t)text.length)
        st = PADA_FAIL(PADA_EIO, "%s: %s", path, written < 0 ? strerror(errno) : "disk full");
    close(fd);
    pada_text_deinit(&text);
    return st;
}

pada_status pada_epoch_metrics_append(const char *run, const pada_epoch_metrics *metrics)
{
    pada_text path = {0};
    pada_status st = path_of(&path, run);

    if (st == PADA_OK) st = append(pada_text_str(&path), metrics);
    pada_text_deinit(&path);
    return st;
}

/* ---- reading ---- */

/* The next field of a line, without its end; false: there is none. */
static bool next_field(const char **at, const char *end, char *field, size_t bytes)
{
    if (*at > end) return false;
    const char *comma = memchr(*at, ',', (size_t)(end - *at));
    const char *stop = comma ? comma : end;
    snprintf(field, bytes, "%.*s", (int)(stop - *at), *at);
    *at = stop + 1;
    return true;
}

/* A row with the names of the header; the last two columns are no numbers. */
static bool read_row(const char *names, const char *names_end, const char *row, const char *row_end,
                     pada_epoch_metrics *m)
{
    char name[sizeof m->items[0].name], field[sizeof m->warnings];

    *m = (pada_epoch_metrics){0};
    while (next_field(&names, names_end, name, sizeof name)) {
        if (!next_field(&row, row_end, field, sizeof field)) return false;
        if (strcmp(name, "weights_hash") == 0)
            m->weights_hash = strtoull(field, NULL, 16);
        else if (strcmp(name, "warnings") == 0)
            snprintf(m->warnings, sizeof m->warnings, "%s", field);
        else if (m->n < PADA_MAX_EPOCH_METRICS)
            pada_epoch_metrics_add(m, *field ? strtod(field, NULL) : NAN, "%s", name);
    }
    return row > row_end;
}

static pada_status read_rows(const pada_file *file, void *user,
                             pada_status (*use)(void *user, const pada_epoch_metrics *m))
{
    const char *names = (const char *)file->data, *end = names + file->bytes;
    const char *names_end = end_of_line(names, end);
    pada_epoch_metrics m;

    if (!names_end) return PADA_OK;
    for (const char *row = names_end + 1, *next; (next = end_of_line(row, end)); row = next + 1) {
        if (!read_row(names, names_end, row, next, &m)) break;
        PADA_TRY(use(user, &m));
    }
    return PADA_OK;
}

pada_status pada_epoch_metrics_each(const char *run, void *user,
                                    pada_status (*use)(void *user, const pada_epoch_metrics *m))
{
    pada_text path = {0};
    pada_file file = {0};
    pada_status st = path_of(&path, run);

    if (st == PADA_OK) st = pada_file_open(&file, path.data);
    if (st == PADA_OK && file.bytes > 0) st = read_rows(&file, user, use);
    pada_file_close(&file);
    pada_text_deinit(&path);
    return st;
}

pada_status pada_epoch_metrics_sync(const char *run)
{
    pada_text path = {0};
    pada_status st = path_of(&path, run);

    if (st == PADA_OK && pada_path_exists(pada_text_str(&path)))
        st = pada_file_sync(pada_text_str(&path));
    pada_text_deinit(&path);
    return st;
}
