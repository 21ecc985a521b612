/* yaml_tree.h - reads a small YAML document as a tree of maps, lists and scalars. */
#ifndef PADA_BASE_YAML_TREE_H
#define PADA_BASE_YAML_TREE_H

#include <stddef.h>

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum pada_yaml_kind { PADA_YAML_SCALAR, PADA_YAML_LIST, PADA_YAML_MAP } pada_yaml_kind;

/* A node; it owns its strings and what is below it. */
typedef struct pada_yaml {
    pada_yaml_kind kind;
    int line;                       /* where it begins, from 1 */
    char *key;                      /* in a map, with '-' for '_'; NULL elsewhere */
    int key_line;                   /* of the key */
    char *text;                     /* of a scalar; NULL: YAML's null, which is no string */
    int n;                          /* members of a list or a map, */
    struct pada_yaml *first, *next; /* in file order; the next one of the same list or map */
} pada_yaml;

enum {
    PADA_YAML_MAX_KEYS = 1000,   /* of a map: few enough to look through all of them for each key */
    PADA_YAML_MAX_NODES = 20000, /* of a document */
    PADA_YAML_MAX_DEPTH = 8      /* lists and maps inside each other */
};

/* Reads a text; `path` is its name for messages. *out is NULL for a document with only blanks and comments. PADA_EDATA, "path:line: ...", for syntax errors, more than
 * one document, anchors, aliases, tags, keys that are no scalars or stand twice in a map ('-' and '_' are the same in
 * keys), scalars with a zero byte, and what is larger than the limits above. */
pada_status pada_yaml_read(pada_yaml **out, const char *path, const void *text, size_t bytes);
void pada_yaml_destroy(pada_yaml *node); /* NULL is fine */

/* The member of a map with this key; NULL: there is none. */
const pada_yaml *pada_yaml_find(const pada_yaml *map, const char *key);

#ifdef __cplusplus
}
#endif
#endif
