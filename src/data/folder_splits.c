/* folder_splits.c - where the splits of an image folder are. */
#include "data/folder_splits.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "data/folder_files.h"

/* Names that the folder of a split may have, the first one first. */
static const char *const names[PADA_N_SPLITS][2] = {[PADA_SPLIT_TRAIN] = {"train"},
                                                    [PADA_SPLIT_TEST] = {"test"},
                                                    [PADA_SPLIT_VAL] = {"val", "valid"}};

/* Finds the folder of a split; train, which makes a folder a data set, with images in it. */
static bool find(char path[PADA__PATH_BYTES], const char *where, pada_split split)
{
    for (int i = 0; i < 2 && names[split][i]; i++)
        if (pada__path_join(path, where, names[split][i]) &&
            (split == PADA_SPLIT_TRAIN ? pada_has_classes(path) : pada_path_is_dir(path)))
            return true;
    path[0] = '\0';
    return false;
}

static bool has(const char *where, pada_split split)
{
    char path[PADA__PATH_BYTES];

    return find(path, where, split);
}

bool pada_folder_is_data(const char *where)
{
    return has(where, PADA_SPLIT_TRAIN) || pada_has_classes(where);
}

unsigned pada_folder_has_splits(const char *where)
{
    const bool no_test = has(where, PADA_SPLIT_TRAIN) && !has(where, PADA_SPLIT_TEST);

    return PADA_SPLIT_BIT(PADA_SPLIT_TRAIN) | PADA_SPLIT_BIT(PADA_SPLIT_VAL) |
           (no_test ? 0 : PADA_SPLIT_BIT(PADA_SPLIT_TEST));
}

/* The place, or what there is of the way to it, without links. */
static bool resolve(const char *place, char path[PATH_MAX])
{
    char part[PATH_MAX];

    if (snprintf(part, sizeof part, "%s", place) >= PATH_MAX) return false;
    while (!realpath(part, path)) {
        char *slash = strrchr(part, '/');
        if (!slash) return realpath(".", path) != NULL;
        slash[slash == part] = '\0'; /* "/" stays */
        if (slash == part && part[1] == '\0') return realpath("/", path) != NULL;
    }
    return true;
}

bool pada_folder_would_take(const char *where, const char *place)
{
    char root[PATH_MAX], path[PATH_MAX];
    pada_folder_splits in;

    if (!pada_folder_is_data(where) || pada_folder_find_splits(&in, where) != PADA_OK ||
        !resolve(place, path))
        return false;
    for (int split = 0; split < PADA_N_SPLITS; split++) {
        if (!in.roots[split][0] || !realpath(in.roots[split], root)) continue;
        const size_t n = strlen(root);
        if (strncmp(path, root, n) == 0 && (path[n] == '/' || path[n] == '\0')) return true;
    }
    return false;
}

static bool has_other(const char *where, pada_split split)
{
    for (int other = 0; other < PADA_N_SPLITS; other++)
        if (other != (int)split && has(where, (pada_split)other)) return true;
    return false;
}

static pada_status check_not_split(const char *where)
{
    char path[PATH_MAX];

    if (!realpath(where, path)) return PADA_OK; /* the listing will say what is wrong */
    char *name = strrchr(path, '/');
    *name++ = '\0';
    for (int split = 0; split < PADA_N_SPLITS; split++)
        for (int i = 0; i < 2 && names[split][i]; i++)
            if (strcmp(name, names[split][i]) == 0 && has_other(path, (pada_split)split))
                return PADA_FAIL(PADA_EDATA, "%s: only the %s images of the data set %s; give that",
                                 where, pada_split_name((pada_split)split), path);
    return PADA_OK;
}

pada_status pada_folder_find_splits(pada_folder_splits *out, const char *where)
{
    for (int split = 0; split < PADA_N_SPLITS; split++)
        (void)find(out->roots[split], where, (pada_split)split); /* "" says that it is not there */
    out->flat = !out->roots[PADA_SPLIT_TRAIN][0];
    if (!out->flat) return PADA_OK;
    for (int split = 0; split < PADA_N_SPLITS; split++) /* test may be the name of a class */
        out->roots[split][0] = '\0';
    if (snprintf(out->roots[PADA_SPLIT_TRAIN], PADA__PATH_BYTES, "%s", where) >= PADA__PATH_BYTES)
        return PADA_FAIL(PADA_ENOENT, "%s: name too long", where);
    return check_not_split(where);
}
