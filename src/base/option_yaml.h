/* option_yaml.h - reads a YAML file that is a flat mapping of scalars. Private to option.c. */
#ifndef PADA_BASE_OPTION_YAML_H
#define PADA_BASE_OPTION_YAML_H

#include <stddef.h>

#include "base/status.h"

/* Called for every pair in file order, with the line of the key; a failure ends the reading. The
 * strings are borrowed for the call. */
typedef pada_status (*pada__yaml_pair)(void *user, const char *key, const char *value, int line);

/* PADA_EDATA, "path:line: ...", for anything but at most one document that maps scalars to scalars: what yaml_tree.h
 * refuses, collections inside of it, keys without value. */
pada_status pada__yaml_read(const char *path, pada__yaml_pair pair, void *user);
/* The same of a text; `name` stands for the path in messages. */
pada_status pada__yaml_read_text(const char *name, const void *text, size_t bytes,
                                 pada__yaml_pair pair, void *user);

#endif
