/* path_list.c - lists of different networks: all of a space, a random sample, those of a file. */
#include "study/path_list.h"

#include <inttypes.h>
#include <string.h>

#include "base/csv.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/text.h"
#include "space/path_index.h"
#include "space/path_number.h"

enum { MAX_PATHS = 10000000, MAX_TRIES = 1000 /* for each network of a sample */ };

static pada_status allocate(pada_path_list *list, int n)
{
    void *mem;

    PADA_TRY(pada_calloc(&mem, (size_t)n, sizeof *list->paths));
    *list = (pada_path_list){.paths = mem, .n = n};
    return PADA_OK;
}

/* The choices of all slots together, more than `most` are most + 1. Of a space whose paths leave slots out, the networks
 * are fewer. */
static int count_combinations(const pada_space *space, const pada_subspace *within, int most)
{
    int64_t n = 1;

    for (int slot = 0; slot < space->ops->n_slots && n <= most; slot++)
        n *= pada_subspace_choices(within, slot);
    return n > most ? most + 1 : (int)n;
}

static int nth_allowed(const pada_subspace *within, int slot, int k)
{
    for (int c = 0;; c++)
        if (within->allowed[slot] >> c & 1 && k-- == 0) return c;
}

/* Combination `number` of a part; false: a path that leaves slots out has been there with another number. */
static bool path_of_combination(const pada_space *space, const pada_subspace *within, int number,
                                pada_path *path)
{
    bool is_first = true;

    *path = (pada_path){{0}};
    for (int slot = space->ops->n_slots - 1; slot >= 0; slot--) {
        const int n = pada_subspace_choices(within, slot);
        path->choice[slot] = (uint8_t)nth_allowed(within, slot, number % n);
        number /= n;
    }
    for (int slot = 0; slot < space->ops->n_slots; slot++)
        if (!pada_path_takes(space, path, slot))
            is_first &= path->choice[slot] == nth_allowed(within, slot, 0);
    pada_path_settle(space, path);
    return is_first;
}

static pada_status list_part(pada_path_list *list, const pada_space *space,
                             const pada_subspace *within)
{
    const int n = count_combinations(space, within, MAX_PATHS);

    if (n > MAX_PATHS)
        return PADA_FAIL(PADA_EINVAL,
                         "this part of space %s has more than %d networks; take a sample",
                         space->ops->name, MAX_PATHS);
    PADA_TRY(allocate(list, n));
    list->n = 0;
    for (int i = 0; i < n; i++)
        list->n += path_of_combination(space, within, i, &list->paths[list->n]);
    return PADA_OK;
}

pada_status pada_path_list_all(pada_path_list *list, const pada_space *space,
                               const pada_subspace *within)
{
    const int n = pada_path_count(space, MAX_PATHS);

    if (within) return list_part(list, space, within);
    if (n > MAX_PATHS)
        return PADA_FAIL(PADA_EINVAL, "space %s has more than %d networks; take a sample",
                         space->ops->name, MAX_PATHS);
    PADA_TRY(allocate(list, n));
    for (int i = 0; i < n; i++)
        pada_path_of_number(space, i, &list->paths[i]);
    return PADA_OK;
}

static void draw(const pada_space *space, const pada_subspace *within, pada_rng *rng,
                 pada_path *path)
{
    if (!within) {
        pada_path_random(space, rng, path);
        return;
    }
    *path = (pada_path){{0}};
    for (int slot = 0; slot < space->ops->n_slots; slot++) {
        const uint32_t n = (uint32_t)pada_subspace_choices(within, slot);
        path->choice[slot] = (uint8_t)nth_allowed(within, slot, (int)pada_rng_below(rng, n));
    }
    pada_path_settle(space, path);
}

pada_status pada_path_list_random(pada_path_list *list, const pada_space *space,
                                  const pada_subspace *within, int n, uint64_t seed)
{
    const int n_space =
        within ? count_combinations(space, within, MAX_PATHS) : pada_path_count(space, MAX_PATHS);
    pada_path_index *seen;
    pada_path path;
    pada_rng rng;
    int64_t tries = 0;

    if (n < 1 || n > MAX_PATHS || n > n_space)
        return PADA_FAIL(PADA_EINVAL, "a sample of %d networks is not in 1 to %d", n,
                         n_space < MAX_PATHS ? n_space : MAX_PATHS);
    PADA_TRY(pada_path_index_create(&seen, space, n));
    pada_status st = allocate(list, n);
    if (st == PADA_OK) {
        pada_rng_init(&rng, seed, "networks", 0);
        for (int found = 0; found < n;) {
            draw(space, within, &rng, &path);
            if (within && ++tries > MAX_TRIES + (int64_t)MAX_TRIES * n) {
                st =
                    PADA_FAIL(PADA_EINVAL,
                              "no %d different networks were found in %" PRId64 " draws", n, tries);
                break;
            }
            if (pada_path_index_find(seen, &path) >= 0) continue;
            (void)pada_path_index_add(seen, &path);
            list->paths[found++] = path;
        }
    }
    pada_path_index_destroy(seen);
    return st;
}

pada_status pada_path_list_narrow(pada_path_list *list, const pada_space *space,
                                  const pada_subspace *within)
{
    int n = 0;

    for (int i = 0; i < list->n; i++)
        if (pada_subspace_admits(within, space, &list->paths[i])) list->paths[n++] = list->paths[i];
    list->n = n;
    return n > 0 ? PADA_OK
                 : PADA_FAIL(PADA_EDATA, "none of the networks is in this part of space %s",
                             space->ops->name);
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

static bool is_distinct(const pada_space *space, const pada_path *path)
{
    pada_path form;

    space->ops->canonical(space, path, &form);
    return pada_path_equal(space, path, &form);
}

static pada_status list_distinct(pada_path_list *list, const pada_space *space,
                                 const pada_subspace *within)
{
    int n = 0;

    PADA_TRY(pada_path_list_all(list, space, within));
    for (int i = 0; i < list->n; i++)
        if (is_distinct(space, &list->paths[i])) list->paths[n++] = list->paths[i];
    list->n = n;
    return n > 0 ? PADA_OK
                 : PADA_FAIL(PADA_EDATA, "no canonical form is in this part of space %s",
                             space->ops->name);
}

pada_status pada_path_list_choose(pada_path_list *list, const pada_space *space,
                                  const pada_subspace *within, const char *word,
                                  const pada_score_table *truth, uint64_t seed)
{
    int64_t n;

    if (strcmp(word, "all") == 0) return pada_path_list_all(list, space, within);
    if (strcmp(word, "distinct") == 0) return list_distinct(list, space, within);
    if (strcmp(word, "truth") == 0) {
        if (!truth)
            return PADA_FAIL(PADA_EINVAL, "--networks truth: give the table with --truth FILE.csv");
        PADA_TRY(pada_path_list_truth(list, truth));
        return within ? pada_path_list_narrow(list, space, within) : PADA_OK;
    }
    if (pada_parse_int(word, "--networks", 1, INT32_MAX, &n) != PADA_OK)
        return PADA_FAIL(PADA_EINVAL, "--networks: '%s' is not all, distinct, truth or a number",
                         word);
    return pada_path_list_random(list, space, within, (int)n, seed);
}

void pada_path_list_deinit(pada_path_list *list)
{
    pada_free(list->paths);
    *list = (pada_path_list){0};
}
