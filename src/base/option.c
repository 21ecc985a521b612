/* option.c - tables of options bound to structs: flags, files, help, dump.
 *
 * Invariants
 *   1. A string field is NULL or points to the `owned` copy of its entry; destroy frees those and clears the fields.
 *   2. A value in a struct is in its option's range, or is the zero of an option without default.
 *   3. A value from a flag is never replaced by one from a file. */
#include "base/option.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/option_value.h"
#include "base/option_yaml.h"

/* Where a value came from; later ones win. */
typedef enum source { FROM_DEFAULT, FROM_FILE, FROM_FLAG } source;

typedef struct entry {
    const pada_opt *opt;       /* borrowed, from the table */
    void *field;               /* in the bound struct */
    const char *default_value; /* of the table, or the one that replaces it; borrowed */
    char *owned;               /* STRING: what the field points to */
    char *preset;              /* default_value, where it is a copy; or NULL */
    source from;
} entry;

struct pada_options {
    entry *entries; /* of all tables, in order of binding */
    char **words;
    int n_entries, cap_entries, n_words, cap_words;
};

pada_status pada_options_create(pada_options **out)
{
    void *memory;

    *out = NULL;
    PADA_TRY(pada_calloc(&memory, 1, sizeof **out));
    *out = memory;
    return PADA_OK;
}

/* Takes the last entries away again, down to n. */
static void drop_entries(pada_options *options, int n)
{
    while (options->n_entries > n) {
        entry *e = &options->entries[--options->n_entries];
        if (e->opt->type == PADA_OPT_STRING) *(const char **)e->field = NULL;
        pada_free(e->owned);
        pada_free(e->preset);
        *e = (entry){0};
    }
}

void pada_options_destroy(pada_options *options)
{
    if (!options) return;
    drop_entries(options, 0);
    for (int i = 0; i < options->n_words; i++)
        pada_free(options->words[i]);
    pada_free(options->words);
    pada_free(options->entries);
    pada_free(options);
}

/* Names are compared over the first n letters of `typed`, with '_' as '-'. */
static bool is_same_name(const char *name, const char *typed, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char c = typed[i] == '_' ? '-' : typed[i];
        if ((name[i] == '_' ? '-' : name[i]) != c) return false; /* also at the end of name */
    }
    return name[n] == '\0';
}

static entry *find(const pada_options *options, const char *typed, size_t n)
{
    for (int i = 0; i < options->n_entries; i++) {
        const pada_opt *opt = options->entries[i].opt;
        if (is_same_name(opt->name, typed, n) || (opt->also && is_same_name(opt->also, typed, n)))
            return &options->entries[i];
    }
    return NULL;
}

/* Checks the text, and stores it unless a stronger source has spoken. `what` begins the message. */
static pada_status store(entry *e, const char *text, source from, const char *what)
{
    pada__opt_value value;
    char *copy;

    PADA_TRY(pada__opt_parse(e->opt, text, what, &value));
    if (from < e->from) return PADA_OK;
    switch (e->opt->type) {
    case PADA_OPT_INT: *(int64_t *)e->field = value.i64; break;
    case PADA_OPT_U64: *(uint64_t *)e->field = value.u64; break;
    case PADA_OPT_DOUBLE: *(double *)e->field = value.f64; break;
    case PADA_OPT_BOOL: *(bool *)e->field = value.flag; break;
    case PADA_OPT_CHOICE: *(int *)e->field = value.choice; break;
    case PADA_OPT_INTS: *(pada_int_list *)e->field = value.ints; break;
    case PADA_OPT_STRING:
        PADA_TRY(pada_strdup(&copy, text));
        pada_free(e->owned);
        e->owned = copy;
        *(const char **)e->field = copy;
        break;
    }
    e->from = from;
    return PADA_OK;
}

static void store_zero(const entry *e)
{
    switch (e->opt->type) {
    case PADA_OPT_INT: *(int64_t *)e->field = 0; break;
    case PADA_OPT_U64: *(uint64_t *)e->field = 0; break;
    case PADA_OPT_DOUBLE: *(double *)e->field = 0; break;
    case PADA_OPT_BOOL: *(bool *)e->field = false; break;
    case PADA_OPT_STRING: *(const char **)e->field = NULL; break;
    case PADA_OPT_CHOICE: *(int *)e->field = 0; break;
    case PADA_OPT_INTS: *(pada_int_list *)e->field = (pada_int_list){0}; break;
    }
}

void pada_options_defaults(const pada_opt *table, void *target)
{
    for (const pada_opt *opt = table; opt->name; opt++) {
        entry e = {.opt = opt, .field = (char *)target + opt->offset};

        PADA_ASSERT(opt->type != PADA_OPT_STRING);
        store_zero(&e);
        if (opt->default_value)
            PADA_ASSERT(store(&e, opt->default_value, FROM_DEFAULT, opt->name) == PADA_OK);
    }
}

pada_status pada_options_bind(pada_options *options, const pada_opt *table, void *target)
{
    const int before = options->n_entries;
    void *entries = options->entries;
    int n = 0;

    while (table[n].name)
        n++;
    PADA_TRY(pada_grow(&entries, &options->cap_entries, before + n, sizeof *options->entries));
    options->entries = entries;

    for (int i = 0; i < n; i++) {
        const pada_opt *opt = &table[i];
        PADA_ASSERT(!find(options, opt->name, strlen(opt->name)));
        PADA_ASSERT(!opt->also || !find(options, opt->also, strlen(opt->also)));
        PADA_ASSERT(opt->type != PADA_OPT_CHOICE || opt->choices);
        entry *e = &options->entries[options->n_entries++];
        *e = (entry){
            .opt = opt, .field = (char *)target + opt->offset, .default_value = opt->default_value};
        store_zero(e);
        if (!opt->default_value) continue;
        const pada_status st = store(e, opt->default_value, FROM_DEFAULT, opt->name);
        if (st == PADA_OK) continue;
        PADA_ASSERT(st ==
                    PADA_ENOMEM); /* a default that its own option refuses is a bug in the table */
        drop_entries(options, before);
        return st;
    }
    return PADA_OK;
}

pada_status pada_options_set_default(pada_options *options, const char *name, const char *value)
{
    entry *e = find(options, name, strlen(name));

    PADA_ASSERT(e && e->from == FROM_DEFAULT);
    const pada_status st = store(e, value, FROM_DEFAULT, name);
    PADA_ASSERT(st == PADA_OK || st == PADA_ENOMEM);
    if (st == PADA_OK) e->default_value = value;
    return st;
}

/* Whether a word is one of those in "a|b|c". */
static bool is_among(const char *words, const char *word)
{
    const size_t n = strlen(word);

    for (; words; words = strchr(words, '|') ? strchr(words, '|') + 1 : NULL)
        if (strncmp(words, word, n) == 0 && (words[n] == '|' || words[n] == '\0')) return true;
    return false;
}

/* The option name nearest to `typed`, for messages; NULL if none is near. */
static pada_status nearest_name(const pada_options *options, const char *typed, const char **out)
{
    void *memory;

    *out = NULL;
    for (int i = 0; i < options->n_entries; i++) {
        const pada_opt *opt = options->entries[i].opt;
        if (!is_among(opt->tried, typed)) continue;
        *out = opt->name;
        return PADA_OK;
    }
    PADA_TRY(pada_calloc(&memory, (size_t)options->n_entries, sizeof(const char *)));
    const char **names = memory;
    for (int i = 0; i < options->n_entries; i++)
        names[i] = options->entries[i].opt->name;
    *out = pada_nearest(typed, names, options->n_entries);
    pada_free(memory);
    return PADA_OK;
}

/* `flag` is a whole word of the command line, e.g. "--bach-size=3". */
static pada_status fail_unknown_flag(const pada_options *options, const char *flag)
{
    const size_t n_dashes = strspn(flag, "-");
    const int n = (int)strcspn(flag, "=");
    const char *near = NULL, *no = "";
    pada_text name = {0};

    pada_text_add_bytes(&name, flag + n_dashes, (size_t)n > n_dashes ? (size_t)n - n_dashes : 0);
    const char *typed = pada_text_str(&name);
    pada_status st = name.status;
    if (st == PADA_OK) st = nearest_name(options, typed, &near);
    if (st == PADA_OK && !near && strncmp(typed, "no-", 3) == 0) {
        st = nearest_name(options, typed + 3, &near);
        if (near && find(options, near, strlen(near))->opt->type != PADA_OPT_BOOL) near = NULL;
        no = "no-";
    }
    pada_text_deinit(&name);
    if (st != PADA_OK) return st;
    if (near)
        return PADA_FAIL(PADA_EINVAL, "unknown option %.*s (did you mean --%s%s?)",
                         n > 100 ? 100 : n, flag, no, near);
    return PADA_FAIL(PADA_EINVAL, "unknown option %.*s", n > 100 ? 100 : n, flag);
}

static pada_status add_word(pada_options *options, const char *word)
{
    void *words = options->words;

    PADA_TRY(pada_grow(&words, &options->cap_words, options->n_words + 1, sizeof *options->words));
    options->words = words;
    PADA_TRY(pada_strdup(&options->words[options->n_words], word));
    options->n_words++;
    return PADA_OK;
}

/* One flag, argv[0]; *used becomes the number of words it took. */
static pada_status parse_flag(pada_options *options, int argc, const char *const *argv, int *used)
{
    const char *name = argv[0] + 2;
    const size_t n = strcspn(name, "=");
    const char *value = name[n] == '=' ? name + n + 1 : NULL;
    const char *next = argc > 1 && strncmp(argv[1], "--", 2) != 0 ? argv[1] : NULL;
    char what[128];

    *used = 1;
    entry *e = find(options, name, n);
    if (!e && n > 3 && (strncmp(name, "no-", 3) == 0 || strncmp(name, "no_", 3) == 0)) {
        e = find(options, name + 3, n - 3);
        if (e && e->opt->type == PADA_OPT_BOOL) {
            if (value) return PADA_FAIL(PADA_EINVAL, "--no-%s: takes no value", e->opt->name);
            return store(e, "false", FROM_FLAG, e->opt->name);
        }
        e = NULL;
    }
    if (!e) return fail_unknown_flag(options, argv[0]);

    (void)snprintf(what, sizeof what, "--%s", e->opt->name);
    if (!value && e->opt->type == PADA_OPT_BOOL) {
        value = "true";
        if (next && (strcmp(next, "true") == 0 || strcmp(next, "false") == 0)) {
            value = next;
            *used = 2;
        }
    } else if (!value) {
        if (!next) return PADA_FAIL(PADA_EINVAL, "%s: the value is missing", what);
        value = next;
        *used = 2;
    }
    return store(e, value, FROM_FLAG, what);
}

pada_status pada_options_parse(pada_options *options, int argc, const char *const *argv)
{
    bool only_words = false;

    for (int i = 0; i < argc;) {
        const char *word = argv[i];
        int used = 1;

        if (!only_words && strcmp(word, "--") == 0) {
            only_words = true;
        } else if (!only_words && strncmp(word, "--", 2) == 0) {
            PADA_TRY(parse_flag(options, argc - i, argv + i, &used));
        } else if (!only_words && word[0] == '-' && word[1] != '\0' && word[1] != '.' &&
                   !isdigit((unsigned char)word[1])) {
            return fail_unknown_flag(options, word);
        } else {
            PADA_TRY(add_word(options, word));
        }
        i += used;
    }
    return PADA_OK;
}

typedef struct load_context {
    pada_options *options;
    const char *path;
    bool only_known;
    source from;
} load_context;

/* Keeps a default that a preset has given. */
static pada_status keep_preset(entry *e, const char *value)
{
    char *copy;

    PADA_ASSERT(e->from == FROM_DEFAULT);
    PADA_TRY(pada_strdup(&copy, value));
    pada_free(e->preset);
    e->default_value = e->preset = copy;
    return PADA_OK;
}

static pada_status load_pair(void *user, const char *key, const char *value, int line)
{
    load_context *load = user;
    const char *near;
    char what[512];

    entry *e = find(load->options, key, strlen(key));
    if (!e && load->only_known) return PADA_OK;
    if (!e) {
        PADA_TRY(nearest_name(load->options, key, &near));
        if (near)
            return PADA_FAIL(PADA_EINVAL, "%s:%d: unknown key '%.100s' (did you mean %s?)",
                             load->path, line, key, near);
        return PADA_FAIL(PADA_EINVAL, "%s:%d: unknown key '%.100s'", load->path, line, key);
    }
    (void)snprintf(what, sizeof what, "%s:%d: %s", load->path, line, e->opt->name);
    PADA_TRY(store(e, value, load->from, what));
    return load->from == FROM_DEFAULT ? keep_preset(e, value) : PADA_OK;
}

pada_status pada_options_load(pada_options *options, const char *path)
{
    return pada__yaml_read(path, load_pair, &(load_context){options, path, false, FROM_FILE});
}

pada_status pada_options_load_known(pada_options *options, const char *path)
{
    return pada__yaml_read(path, load_pair, &(load_context){options, path, true, FROM_FILE});
}

pada_status pada_options_preset(pada_options *options, const char *path)
{
    return pada__yaml_read(path, load_pair, &(load_context){options, path, false, FROM_DEFAULT});
}

pada_status pada_options_preset_text(pada_options *options, const char *name, const char *text,
                                     size_t bytes)
{
    return pada__yaml_read_text(name, text, bytes, load_pair,
                                &(load_context){options, name, false, FROM_DEFAULT});
}

const char *pada_options_peek(int argc, const char *const *argv, const char *name)
{
    const size_t n = strlen(name);
    const char *value = NULL;

    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strncmp(argv[i], "--", 2) != 0 || strncmp(argv[i] + 2, name, n) != 0) continue;
        if (argv[i][n + 2] == '=') value = argv[i] + n + 3;
        if (argv[i][n + 2] == '\0' && i + 1 < argc) value = argv[i + 1];
    }
    return value;
}

int pada_options_n_words(const pada_options *options)
{
    return options->n_words;
}

const char *pada_options_word(const pada_options *options, int i)
{
    PADA_ASSERT(i >= 0 && i < options->n_words);
    return options->words[i];
}

bool pada_options_given(const pada_options *options, const char *name)
{
    const entry *e = find(options, name, strlen(name));

    PADA_ASSERT(e);
    return e->from != FROM_DEFAULT;
}

int pada_options_count(const pada_options *options)
{
    return options->n_entries;
}

const pada_opt *pada_options_get(const pada_options *options, int i)
{
    PADA_ASSERT(i >= 0 && i < options->n_entries);
    return options->entries[i].opt;
}

const char *pada_options_default(const pada_options *options, int i)
{
    PADA_ASSERT(i >= 0 && i < options->n_entries);
    return options->entries[i].default_value;
}

int pada_options_find(const pada_options *options, const char *name)
{
    const entry *e = find(options, name, strlen(name));

    return e ? (int)(e - options->entries) : -1;
}

void pada_options_usage(const pada_options *options, int i, pada_text *out)
{
    static const char *const metas[] = {
        [PADA_OPT_INT] = "N",       [PADA_OPT_U64] = "N", [PADA_OPT_DOUBLE] = "X",
        [PADA_OPT_STRING] = "TEXT", [PADA_OPT_BOOL] = "", [PADA_OPT_CHOICE] = "",
        [PADA_OPT_INTS] = "N,N,..",
    };
    const entry *e = &options->entries[i];
    const pada_opt *opt = e->opt;
    const char *meta = opt->meta                      ? opt->meta
                       : opt->type == PADA_OPT_CHOICE ? opt->choices
                                                      : metas[opt->type];

    if (opt->type == PADA_OPT_BOOL) {
        /* Whoever reads the help of something that is on wants to know how to switch it off. */
        bool on = false;
        if (e->default_value) (void)pada_parse_bool(e->default_value, opt->name, &on);
        pada_text_add(out, "--%s%s", on ? "[no-]" : "", opt->name);
    } else {
        pada_text_add(out, "--%s %s", opt->name, meta);
    }
}

/* The same, and how long it is. */
static size_t add_usage(const pada_options *options, int i, pada_text *out)
{
    const size_t before = out->length;

    pada_options_usage(options, i, out);
    return out->length - before;
}

void pada_options_help(const pada_options *options, pada_text *out)
{
    enum { MAX_COLUMN = 28 }; /* a longer usage gets a line of its own */
    pada_text scratch = {0};
    size_t column = 0;

    for (int i = 0; i < options->n_entries; i++) {
        const size_t n = add_usage(options, i, &scratch);
        if (options->entries[i].opt->help && n <= MAX_COLUMN && n > column) column = n;
    }
    if (scratch.status != PADA_OK && out->status == PADA_OK) out->status = scratch.status;
    pada_text_deinit(&scratch);

    for (int i = 0; i < options->n_entries; i++) {
        const entry *e = &options->entries[i];
        const pada_opt *opt = e->opt;
        if (!opt->help) continue;
        pada_text_add(out, "  ");
        size_t n = add_usage(options, i, out);
        if (n > column) {
            pada_text_add(out, "\n  ");
            n = 0;
        }
        pada_text_add(out, "%*s   %s", (int)(column - n), "", opt->help);
        if (e->default_value && e->default_value[0] && opt->type != PADA_OPT_BOOL)
            pada_text_add(out, " (default %s)", e->default_value);
        pada_text_add(out, "\n");
    }
}

/* Whether an option has the value of runs that are older than it, by what a dump would write. */
static bool is_as_before(const entry *e)
{
    const bool quoted = e->opt->type == PADA_OPT_CHOICE || e->opt->type == PADA_OPT_STRING ||
                        e->opt->type == PADA_OPT_INTS;
    pada_text value = {0}, before = {0};

    if (!e->opt->before) return false;
    pada__opt_write(e->opt, e->field, &value);
    pada_text_add(&before, quoted ? "\"%s\"" : "%s", e->opt->before);
    const bool equal = value.status == PADA_OK && before.status == PADA_OK &&
                       strcmp(pada_text_str(&value), pada_text_str(&before)) == 0;
    pada_text_deinit(&value);
    pada_text_deinit(&before);
    return equal;
}

bool pada_options_value(const pada_options *options, int i, pada_text *out)
{
    PADA_ASSERT(i >= 0 && i < options->n_entries);
    const entry *e = &options->entries[i];
    pada_text yaml = {0};

    if (!pada__opt_can_be_given(e->opt, e->field)) return false;
    if (e->opt->type == PADA_OPT_STRING) {
        pada_text_add(out, "%s", *(const char *const *)e->field);
        return true;
    }
    pada__opt_write(e->opt, e->field, &yaml);
    const bool is_quoted = yaml.length >= 2 && yaml.data[0] == '"';
    if (yaml.status == PADA_OK)
        pada_text_add_bytes(out, yaml.data + is_quoted, yaml.length - 2 * (size_t)is_quoted);
    else if (out->status == PADA_OK)
        out->status = yaml.status;
    pada_text_deinit(&yaml);
    return true;
}

void pada_options_dump(const pada_options *options, pada_text *out)
{
    for (int i = 0; i < options->n_entries; i++) {
        const entry *e = &options->entries[i];
        if (e->opt->session || !pada__opt_can_be_given(e->opt, e->field)) continue;
        if (is_as_before(e)) continue;
        pada_text_add(out, "%s: ", e->opt->name);
        pada__opt_write(e->opt, e->field, out);
        pada_text_add(out, "\n");
    }
}
