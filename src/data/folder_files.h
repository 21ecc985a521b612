/* folder_files.h - which files a class folder has, on all its levels.
 *
 * A picture is a file whose name ends as a format that is read does. Folders inside are gone through,
 * also by links, each once. Everything else is left out, and said to whoever asks: hidden files,
 * pictures of other formats, other files. */
#ifndef PADA_DATA_FOLDER_FILES_H
#define PADA_DATA_FOLDER_FILES_H

#include <stdbool.h>

#include "base/status.h"
#include "data/findings.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Zero-initialise; deinit accepts that and half-made ones. */
typedef struct pada_names {
    char **items; /* [n], and each of them, owned */
    int n, cap;
} pada_names;

void pada_names_deinit(pada_names *list);

/* Whether a name in a folder is that of a class: a folder that is not hidden. */
bool pada_is_class_folder(const char *path, const char *name);
/* The names of the class folders, byte by byte in order. The list is the caller's also after a failure. */
pada_status pada_list_classes(pada_names *list, const char *folder);

/* Whether there is any picture on any level; links to folders are not followed. Takes no memory. */
bool pada_has_pictures(const char *folder);
/* The same for any of the class folders. */
bool pada_has_classes(const char *folder);

/* Appends the paths of all pictures; those of a folder are in the order of their names. `unread` gets
 * the paths of pictures in formats that are not read. With `others` everything that is left out is a
 * finding, and so is a folder that cannot be read, which fails otherwise. */
pada_status pada_list_pictures(pada_names *list, const char *folder, pada_names *unread,
                               pada_findings *others);

#ifdef __cplusplus
}
#endif
#endif
