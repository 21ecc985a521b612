/* folder_files.c - which files a class folder has, on all its levels. */
#include "data/folder_files.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/mem.h"
#include "data/ds_path.h"
#include "data/image_file.h"

#define MAX_LEVELS 64 /* of folders in folders */

/* ---- names ---- */

void pada_names_deinit(pada_names *list)
{
    for (int i = 0; i < list->n; i++)
        pada_free(list->items[i]);
    pada_free(list->items);
    *list = (pada_names){0};
}

static pada_status add_name(pada_names *list, const char *name)
{
    void *items = list->items;

    PADA_TRY(pada_grow(&items, &list->cap, list->n + 1, sizeof *list->items));
    list->items = items;
    PADA_TRY(pada_strdup(&list->items[list->n], name));
    list->n++;
    return PADA_OK;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static pada_status fail_long(const char *folder, const char *name)
{
    return PADA_FAIL(PADA_ENOENT, "%s/%s: name too long", folder, name);
}

/* The names of the entries that are wanted, sorted; `wanted` NULL: all. */
static pada_status list_entries(pada_names *list, const char *folder,
                                bool (*wanted)(const char *path, const char *name))
{
    char path[PADA__PATH_BYTES];
    pada_status st = PADA_OK;
    DIR *dir = opendir(folder);

    if (!dir)
        return PADA_FAIL(errno == ENOENT ? PADA_ENOENT : PADA_EIO, "%s: %s", folder,
                         strerror(errno));
    for (const struct dirent *e; st == PADA_OK && (e = readdir(dir)) != NULL;) {
        if (is_dots(e->d_name)) continue;
        if (!pada__path_join(path, folder, e->d_name))
            st = fail_long(folder, e->d_name);
        else if (!wanted || wanted(path, e->d_name))
            st = add_name(list, e->d_name);
    }
    closedir(dir);
    if (list->n > 0) qsort(list->items, (size_t)list->n, sizeof *list->items, by_name);
    return st;
}

/* ---- classes ---- */

bool pada_is_class_folder(const char *path, const char *name)
{
    return name[0] != '.' && pada_path_is_dir(path);
}

pada_status pada_list_classes(pada_names *list, const char *folder)
{
    return list_entries(list, folder, pada_is_class_folder);
}

static bool is_picture_name(const char *name)
{
    const pada_image_format *format = pada_image_format_named(name);

    return name[0] != '.' && format && format->decode;
}

/* A folder itself, not a link to one. */
static bool is_own_folder(const char *path)
{
    struct stat info;

    return lstat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static bool has_pictures(const char *folder, int level)
{
    char path[PADA__PATH_BYTES];
    bool found = false;
    DIR *dir = level < MAX_LEVELS ? opendir(folder) : NULL;

    if (!dir) return false;
    for (const struct dirent *e; !found && (e = readdir(dir)) != NULL;) {
        if (e->d_name[0] == '.' || !pada__path_join(path, folder, e->d_name)) continue;
        found = is_picture_name(e->d_name) ? !pada_path_is_dir(path)
                                           : is_own_folder(path) && has_pictures(path, level + 1);
    }
    closedir(dir);
    return found;
}

bool pada_has_pictures(const char *folder)
{
    return has_pictures(folder, 0);
}

bool pada_has_classes(const char *folder)
{
    char path[PADA__PATH_BYTES];
    bool found = false;
    DIR *dir = opendir(folder);

    if (!dir) return false;
    for (const struct dirent *e; !found && (e = readdir(dir)) != NULL;)
        found = pada__path_join(path, folder, e->d_name) && pada_is_class_folder(path, e->d_name) &&
                pada_has_pictures(path);
    closedir(dir);
    return found;
}

/* ---- pictures ---- */

/* A folder that was read, so that links do not lead back to it. */
typedef struct place {
    dev_t device;
    ino_t number;
} place;

typedef struct walk {
    pada_names *pictures, *unread;
    pada_findings *others; /* NULL: nobody asks */
    place *seen;           /* owned */
    int n_seen, cap_seen;
} walk;

/* Marks the folder; *is_new is false if it was marked before. */
static pada_status enter(walk *w, const char *folder, bool *is_new)
{
    void *items = w->seen;
    struct stat info;

    *is_new = true;
    if (stat(folder, &info) != 0) return PADA_OK; /* the listing says why */
    for (int i = 0; i < w->n_seen; i++)
        if (w->seen[i].device == info.st_dev && w->seen[i].number == info.st_ino) *is_new = false;
    if (!*is_new) return PADA_OK;
    PADA_TRY(pada_grow(&items, &w->cap_seen, w->n_seen + 1, sizeof *w->seen));
    w->seen = items;
    w->seen[w->n_seen++] = (place){info.st_dev, info.st_ino};
    return PADA_OK;
}

/* Why a file is left out. */
static pada_status say_other(walk *w, const char *path, const char *name)
{
    const pada_image_format *format = pada_image_format_named(name), *held = NULL;
    pada_file file;

    if (format && name[0] != '.') PADA_TRY(add_name(w->unread, path));
    if (!w->others) return PADA_OK;
    if (name[0] == '.')
        return pada_findings_add(w->others, PADA_REMARK, "skipped", path,
                                 "left out: its name begins with a dot");
    if (format)
        return pada_findings_add(w->others, PADA_REMARK, "unsupported", path,
                                 "left out: a %s image, which is not read", format->name);
    if (pada_file_open(&file, path) == PADA_OK) {
        held = pada_image_format_of(file.data, file.bytes);
        pada_file_close(&file);
    }
    if (held && held->decode)
        return pada_findings_add(w->others, PADA_REMARK, "skipped", path,
                                 "left out: a %s image by its contents, but not by its name",
                                 held->name);
    return pada_findings_add(w->others, PADA_REMARK, "skipped", path,
                             "left out: no image by its name");
}

static pada_status walk_folder(walk *w, const char *folder, int level);

static pada_status walk_inner(walk *w, const char *path, int level)
{
    const int before = w->pictures->n;
    bool is_new;

    PADA_TRY(enter(w, path, &is_new));
    if (is_new && level < MAX_LEVELS) {
        PADA_TRY(walk_folder(w, path, level + 1));
        if (!w->others) return PADA_OK;
        return pada_findings_add(w->others, PADA_REMARK, "nested", path,
                                 "a folder inside a class; its %d images belong to the class",
                                 w->pictures->n - before);
    }
    if (!w->others) return PADA_OK;
    return pada_findings_add(w->others, PADA_REMARK, "skipped", path, "left out: %s",
                             is_new ? "too many folders in folders"
                                    : "a link to a folder that is read already");
}

static pada_status walk_entry(walk *w, const char *folder, const char *name, int level)
{
    char path[PADA__PATH_BYTES];

    if (!pada__path_join(path, folder, name)) return fail_long(folder, name);
    if (name[0] == '.') return say_other(w, path, name);
    if (pada_path_is_dir(path)) return walk_inner(w, path, level);
    return is_picture_name(name) ? add_name(w->pictures, path) : say_other(w, path, name);
}

static pada_status walk_folder(walk *w, const char *folder, int level)
{
    pada_names entries = {0};
    pada_status st = list_entries(&entries, folder, NULL);

    if (w->others && (st == PADA_ENOENT || st == PADA_EIO))
        st = pada_findings_add_failure(w->others, "unreadable", folder);
    for (int i = 0; i < entries.n && st == PADA_OK; i++)
        st = walk_entry(w, folder, entries.items[i], level);
    pada_names_deinit(&entries);
    return st;
}

pada_status pada_list_pictures(pada_names *list, const char *folder, pada_names *unread,
                               pada_findings *others)
{
    walk w = {.pictures = list, .unread = unread, .others = others};
    bool is_new;
    pada_status st = enter(&w, folder, &is_new);

    if (st == PADA_OK) st = walk_folder(&w, folder, 0);
    pada_free(w.seen);
    return st;
}
