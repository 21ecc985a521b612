/* path_list.c - lists of different networks: all of a space, a random sample, those of a file. */
#include "study/path_list.h"

#include <string.h>

#include "base/csv.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/rng.h"
#include "space/path_index.h"
#include "space/path_number.h"

enum { MAX_PATHS = 10000000 };

static pada_status allocate(pada_path_list *list, int n)
{
    void *mem;

    PADA_TRY(pada_calloc(&mem, (size_t)n, sizeof *list->paths));
    *list = (pada_path_list){.paths = mem, .n = n};
    return PADA_OK;
}

pada_status pada_path_list_all(pada_path_list *list, const pada_space *space)
{
    const int n = pada_path_count(space, MAX_PATHS);

    if (n > MAX_PATHS)
        return PADA_FAIL(PADA_EINVAL, "space %s has more than %d networks; take a sample",
                         space->ops->name, MAX_PATHS);
    PADA_TRY(allocate(list, n));
    for (int i = 0; i < n; i++)
        pada_path_of_number(space, i, &list->paths[i]);
    return PADA_OK;
}

pada_status pada_path_list_random(pada_path_list *list, const pada_space *space, int n,
                                  uint64_t seed)
{
    const int n_space = pada_path_count(space, MAX_PATHS);
    pada_path_index *seen;
    pada_path path;
    pada_rng rng;

    if (n < 1 || n > MAX_PATHS || n > n_space)
        return PADA_FAIL(PADA_EINVAL, "a sample of %d networks is not in 1 to %d", n,
                         n_space < MAX_PATHS ? n_space : MAX_PATHS);
    PADA_TRY(pada_path_index_create(&seen, space, n));
    const pada_status st = allocate(list, n);
    if (st == PADA_OK) {
        pada_rng_init(&rng, seed, "networks", 0);
        for (int found = 0; found < n;) {
            pada_path_random(space, &rng, &path);
            if (pada_path_index_find(seen, &path) >= 0) continue;
            (void)pada_path_index_add(seen, &path);
            list->paths[found++] = path;
        }
    }
    pada_path_index_destroy(seen);
    return st;
}

/* The line as text, without the blanks around it. */
static pada_status copy_line(const pada_csv *csv, char out[PADA_CSV_FIELD])
{
    const char *start = csv->field, *end = csv->line_end;

    while (start < end && (*start == ' ' || *start == '\t'))
        start++;
    while (start < end && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    const size_t n = (size_t)(end - start);
    if (n >= PADA_CSV_FIELD)
        return PADA_FAIL(PADA_EDATA, "%s:%d: line of %zu characters", csv->name, csv->line, n);
    if (memchr(start, '\0', n))
        return PADA_FAIL(PADA_EDATA, "%s:%d: a zero byte", csv->name, csv->line);
    memcpy(out, start, n);
    out[n] = '\0';
    return PADA_OK;
}

static pada_status parse(const pada_space *space, const char *line, const char *dialect,
                         const char *otherwise, pada_path *path)
{
    const pada_space_ops *ops = space->ops;

    if (ops->parse(space, line, dialect, path) == PADA_OK) return PADA_OK;
    if (otherwise && ops->parse(space, line, otherwise, path) == PADA_OK) return PADA_OK;
    return ops->parse(space, line, dialect, path); /* once more, for its message */
}

static pada_status read_lines(pada_csv *csv, const pada_space *space, const char *dialect,
                              const char *otherwise, pada_path_index *seen)
{
    char line[PADA_CSV_FIELD];
    pada_path path;

    while (pada_csv_row(csv)) {
        const int n = pada_path_index_count(seen);

        PADA_TRY(copy_line(csv, line));
        if (parse(space, line, dialect, otherwise, &path) != PADA_OK)
            return PADA_FAIL(PADA_EDATA, "%s:%d: %s", csv->name, csv->line, pada_message());
        if (pada_path_index_add(seen, &path) != n)
            return PADA_FAIL(PADA_EDATA, "%s:%d: duplicate architecture", csv->name, csv->line);
    }
    if (pada_path_index_count(seen) == 0)
        return PADA_FAIL(PADA_EDATA, "%s: no architectures", csv->name);
    return PADA_OK;
}

static pada_status take_index(pada_path_list *list, const pada_path_index *index)
{
    PADA_TRY(allocate(list, pada_path_index_count(index)));
    for (int i = 0; i < list->n; i++)
        list->paths[i] = *pada_path_index_get(index, i);
    return PADA_OK;
}

pada_status pada_path_list_read(pada_path_list *list, const pada_space *space, const char *file,
                                const char *dialect, const char *otherwise)
{
    pada_path_index *seen = NULL;
    pada_file bytes = {0};
    pada_csv csv;
    int n_lines = 0;
    pada_status st;

    PADA_TRY(pada_file_open(&bytes, file));
    if ((st = pada_csv_init_foreign(&csv, file, &bytes)) != PADA_OK) goto out;
    /* No more room than the space has networks: with more lines, one is there twice. */
    const int n_networks = pada_path_count(space, MAX_PATHS);
    for (pada_csv ahead = csv; n_lines < n_networks && pada_csv_row(&ahead);)
        n_lines++;
    if (n_lines > MAX_PATHS) {
        st = PADA_FAIL(PADA_EDATA, "%s: more than %d lines", file, MAX_PATHS);
        goto out;
    }
    if ((st = pada_path_index_create(&seen, space, n_lines)) != PADA_OK) goto out;
    if ((st = read_lines(&csv, space, dialect, otherwise, seen)) != PADA_OK) goto out;
    st = take_index(list, seen);
out:
    pada_path_index_destroy(seen);
    pada_file_close(&bytes);
    return st;
}

pada_status pada_path_list_truth(pada_path_list *list, const pada_score_table *truth)
{
    PADA_TRY(allocate(list, pada_score_table_count(truth)));
    for (int i = 0; i < list->n; i++)
        list->paths[i] = *pada_score_table_path(truth, i);
    return PADA_OK;
}

void pada_path_list_deinit(pada_path_list *list)
{
    pada_free(list->paths);
    *list = (pada_path_list){0};
}
