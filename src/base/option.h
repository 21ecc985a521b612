/* option.h - one table of options serves flags, configuration files, help and defaults.
 *
 * A table describes the fields of a struct. Every command, space and strategy has one; a command's
 * set of options is a list of (table, struct) pairs. Values come, later ones winning, from: the
 * defaults in the table, a YAML file (`--config FILE.yaml`: a flat mapping of long names to
 * scalars), the flags (`--name value`, `--name=value`, for booleans also `--name` and `--no-name`;
 * `_` and `-` are the same in names). An unknown name is an error that offers the nearest valid
 * one.
 *
 * A flag that takes a value never takes a word starting with "--" (write `--name=--word`), a
 * boolean takes the next word only if it is `true` or `false`, and the last of repeated flags wins.
 * "-" and negative numbers are positional words; other words with one dash are unknown options.
 * Strings must be UTF-8, since a configuration file is. */
#ifndef PADA_BASE_OPTION_H
#define PADA_BASE_OPTION_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/text.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum pada_opt_type {
    PADA_OPT_INT,    /* int64_t */
    PADA_OPT_U64,    /* uint64_t */
    PADA_OPT_DOUBLE, /* double */
    PADA_OPT_BOOL,   /* bool */
    PADA_OPT_STRING, /* const char *, NULL when not given and without default; owned by the pada_options */
    PADA_OPT_CHOICE, /* int: index into the words of `choices`, separated by '|' */
    PADA_OPT_INTS,   /* pada_int_list, written "40,24,32"; no numbers: not given */
} pada_opt_type;

#define PADA_MAX_INTS 16

typedef struct pada_int_list {
    int32_t n;
    int32_t values[PADA_MAX_INTS];
} pada_int_list;

typedef struct pada_opt {
    const char *name; /* long name without dashes, e.g. "batch-size"; NULL ends a table */
    pada_opt_type type;
    size_t offset;             /* of the field in its struct */
    const char *default_value; /* as a user would type it; NULL: zero / not given */
    double min, max;           /* INT, DOUBLE, each of INTS: allowed range; both 0: no limit */
    const char *choices;       /* CHOICE: "a|b|c" */
    /* What stands for the value in help: alternatives separated by '|', where small letters are meant
     * literally, e.g. "DIR|builtin", "FILE.csv", "N". */
    const char *meta;
    const char *help; /* one line */
    bool session;     /* not stored in config.yaml; may differ on resume */
    /* STRING: the i-th of the names that it takes, NULL after the last, for manuals and completion;
     * NULL: there is no list. */
    const char *(*names)(int i);
    const char *also; /* a name that it had before, which still works; not shown */
    /* Names that people try instead, "path|network": a wrong name that is one of them is answered
     * with this option, however unlike it is. */
    const char *tried;
    /* What runs had that are older than the option, as a user would type it. config.yaml leaves this value out, so that
     * they resume. NULL: the option is as old as runs. */
    const char *before;
} pada_opt;

/* A set of tables bound to structs, and the words that are not flags. */
typedef struct pada_options pada_options;

pada_status pada_options_create(pada_options **out);
void pada_options_destroy(
    pada_options *options); /* also frees the strings stored in the bound structs */

/* Binds a table to a struct and stores the defaults in it. A name may stand in one table only
 * (asserted). */
pada_status pada_options_bind(pada_options *options, const pada_opt *table, void *target);

/* Stores the defaults of a table without strings in a struct. */
void pada_options_defaults(const pada_opt *table, void *target);

/* Another default for a bound option, as a user would type it; borrowed. A name that is not bound, or
 * a value that the option does not take, is a bug (asserted). To be called before values arrive. */
pada_status pada_options_set_default(pada_options *options, const char *name, const char *value);

/* Other defaults for bound options, from a YAML file, or from a text that messages call `name`; they may be given
 * repeatedly. Fails like pada_options_load. To be called before values arrive. */
pada_status pada_options_preset(pada_options *options, const char *path);
pada_status pada_options_preset_text(pada_options *options, const char *name, const char *text,
                                     size_t bytes);

/* Takes the flags out of argv[0..argc-1]; "--" ends the flags. What is left are the positional
 * words. A wrong flag is PADA_EINVAL; those before it are stored by then. */
pada_status pada_options_parse(pada_options *options, int argc, const char *const *argv);
/* Takes the mapping of a YAML file. Values set by flags stay, whatever the order of the calls.
 * Messages begin with "path:line: ". A file that is not a flat mapping is PADA_EDATA; an unknown
 * key or a value that the option does not take is PADA_EINVAL, as for a flag. An empty file sets
 * nothing. */
pada_status pada_options_load(pada_options *options, const char *path);
/* The same for a file that was written for other tables too: keys that are not bound here are
 * passed over, whatever their values. */
pada_status pada_options_load_known(pada_options *options, const char *path);

/* The value that the last flag --name gives, before any table is bound; NULL: there is none. For
 * commands whose tables depend on it. */
const char *pada_options_peek(int argc, const char *const *argv, const char *name);

int pada_options_n_words(const pada_options *options);
const char *pada_options_word(const pada_options *options, int i);
/* Whether a value came from a flag or a file rather than from the default. */
bool pada_options_given(const pada_options *options, const char *name);

/* The bound options in table order. The default is that of pada_options_set_default, or of the
 * table; NULL: none. */
int pada_options_count(const pada_options *options);
const pada_opt *pada_options_get(const pada_options *options, int i);
const char *pada_options_default(const pada_options *options, int i);
/* The index of the option of that name, written with '-' or '_'; -1: there is none. */
int pada_options_find(const pada_options *options, const char *name);
/* Appends "--name META", or "--[no-]name" for a boolean that is on. */
void pada_options_usage(const pada_options *options, int i, pada_text *out);

/* Appends the value that an option has now, as a user would type it after its name. False, and nothing is appended:
 * it has none that could be given. */
bool pada_options_value(const pada_options *options, int i, pada_text *out);

/* Appends "  --name META   help (default)" lines, one option each, in table order. Options without
 * help are hidden. */
void pada_options_help(const pada_options *options, pada_text *out);
/* Appends the resolved configuration (the values in the structs now) as YAML, names in table order.
 * Loading it gives the same values. Session options, and those that hold no value a user could
 * give (a NULL string, a zero below the minimum), are left out. */
void pada_options_dump(const pada_options *options, pada_text *out);

#ifdef __cplusplus
}
#endif
#endif
