/* option_yaml.c - flat YAML mappings, over libyaml's event interface.
 *
 * libyaml allocates with malloc and offers no hook, so its memory is neither counted nor reached by
 * the fault injection of base/mem.h. It does report its own failures (YAML_MEMORY_ERROR), and they
 * are passed on. */
#include "base/option_yaml.h"

#include <string.h>
#include <strings.h>
#include <yaml.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"

/* More than any configuration has, and few enough to look through all of them for each key. */
#define MAX_KEYS 1000

typedef struct reader {
    const char *path;
    yaml_parser_t parser;
    yaml_event_t event;
    char **keys; /* seen so far, owned; to find doubled ones */
    int *lines;
    int n_keys, cap_keys, cap_lines;
} reader;

static int mark_line(const yaml_mark_t *mark)
{
    return (int)mark->line + 1;
}

static pada_status bad_event(const reader *r, const char *problem)
{
    return PADA_FAIL(PADA_EDATA, "%s:%d: %s", r->path, mark_line(&r->event.start_mark), problem);
}

/* Replaces r->event by the next one. */
static pada_status next_event(reader *r)
{
    yaml_event_delete(&r->event);
    if (yaml_parser_parse(&r->parser, &r->event)) return PADA_OK;

    const char *problem = r->parser.problem ? r->parser.problem : "not YAML";
    switch (r->parser.error) {
    case YAML_MEMORY_ERROR: return PADA_FAIL(PADA_ENOMEM, "%s: out of memory", r->path);
    case YAML_READER_ERROR: /* not text; it has no line */
        return PADA_FAIL(PADA_EDATA, "%s: %s at byte %zu", r->path, problem,
                         r->parser.problem_offset);
    default:
        return PADA_FAIL(PADA_EDATA, "%s:%d: %s", r->path, mark_line(&r->parser.problem_mark),
                         problem);
    }
}

static const char *scalar_text(const yaml_event_t *event)
{
    return (const char *)event->data.scalar.value;
}

/* The current event must be a scalar and nothing more. */
static pada_status check_scalar(const reader *r, const char *key)
{
    switch (r->event.type) {
    case YAML_SCALAR_EVENT: break;
    case YAML_ALIAS_EVENT: return bad_event(r, "aliases are not supported");
    case YAML_SEQUENCE_START_EVENT:
    case YAML_MAPPING_START_EVENT:
        if (!key) return bad_event(r, "a key is not a scalar");
        return PADA_FAIL(PADA_EDATA, "%s:%d: the value of '%.100s' is not a scalar", r->path,
                         mark_line(&r->event.start_mark), key);
    default: return bad_event(r, "a scalar is missing");
    }
    if (r->event.data.scalar.anchor) return bad_event(r, "anchors are not supported");
    if (r->event.data.scalar.tag) return bad_event(r, "tags are not supported");
    if (strlen(scalar_text(&r->event)) != r->event.data.scalar.length)
        return bad_event(r, "a scalar holds a zero byte");
    return PADA_OK;
}

/* YAML's null. Quoted, the same letters are a string. */
static bool is_null(const yaml_event_t *event)
{
    const char *text = scalar_text(event);

    return event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
           (text[0] == '\0' || strcmp(text, "~") == 0 || strcasecmp(text, "null") == 0);
}

/* Stores the current scalar as the next key; *key is borrowed from r. */
static pada_status read_key(reader *r, const char **key, int *line)
{
    char *copy;
    void *keys = r->keys, *lines = r->lines;

    *key = NULL;
    PADA_TRY(check_scalar(r, NULL));
    *line = mark_line(&r->event.start_mark);
    if (r->n_keys == MAX_KEYS)
        return PADA_FAIL(PADA_EDATA, "%s:%d: more than %d keys", r->path, *line, MAX_KEYS);
    PADA_TRY(pada_grow(&keys, &r->cap_keys, r->n_keys + 1, sizeof *r->keys));
    r->keys = keys;
    PADA_TRY(pada_grow(&lines, &r->cap_lines, r->n_keys + 1, sizeof *r->lines));
    r->lines = lines;
    PADA_TRY(pada_strdup(&copy, scalar_text(&r->event)));
    r->keys[r->n_keys] = copy;
    r->lines[r->n_keys++] = *line;

    for (char *p = copy; *p; p++)
        if (*p == '_') *p = '-';
    for (int i = 0; i < r->n_keys - 1; i++)
        if (strcmp(r->keys[i], copy) == 0)
            return PADA_FAIL(PADA_EDATA, "%s:%d: key '%.100s' stands already on line %d", r->path,
                             *line, copy, r->lines[i]);
    *key = copy;
    return PADA_OK;
}

/* After the start of the mapping: pairs until its end. */
static pada_status read_pairs(reader *r, pada__yaml_pair pair, void *user)
{
    for (;;) {
        const char *key;
        int line;

        PADA_TRY(next_event(r));
        if (r->event.type == YAML_MAPPING_END_EVENT) return PADA_OK;
        PADA_TRY(read_key(r, &key, &line));
        PADA_TRY(next_event(r));
        PADA_TRY(check_scalar(r, key));
        if (is_null(&r->event))
            return PADA_FAIL(PADA_EDATA, "%s:%d: key '%.100s' has no value", r->path, line, key);
        PADA_TRY(pair(user, key, scalar_text(&r->event), line));
    }
}

static pada_status read_stream(reader *r, pada__yaml_pair pair, void *user)
{
    PADA_TRY(next_event(r)); /* start of the stream */
    PADA_TRY(next_event(r));
    if (r->event.type == YAML_STREAM_END_EVENT) return PADA_OK; /* only blanks and comments */
    PADA_TRY(next_event(r));
    if (r->event.type != YAML_MAPPING_START_EVENT)
        return bad_event(r, "not a mapping of names to values");
    if (r->event.data.mapping_start.anchor) return bad_event(r, "anchors are not supported");
    if (r->event.data.mapping_start.tag) return bad_event(r, "tags are not supported");
    PADA_TRY(read_pairs(r, pair, user));
    PADA_TRY(next_event(r)); /* end of the document */
    PADA_TRY(next_event(r));
    if (r->event.type != YAML_STREAM_END_EVENT) return bad_event(r, "more than one document");
    return PADA_OK;
}

pada_status pada__yaml_read_text(const char *name, const void *text, size_t bytes,
                                 pada__yaml_pair pair, void *user)
{
    reader r = {.path = name};

    if (!yaml_parser_initialize(&r.parser))
        return PADA_FAIL(PADA_ENOMEM, "%s: out of memory", name);
    yaml_parser_set_input_string(&r.parser, text ? text : (const yaml_char_t *)"", bytes);
    const pada_status st = read_stream(&r, pair, user);
    yaml_event_delete(&r.event);
    yaml_parser_delete(&r.parser);
    for (int i = 0; i < r.n_keys; i++)
        pada_free(r.keys[i]);
    pada_free(r.keys);
    pada_free(r.lines);
    return st;
}

pada_status pada__yaml_read(const char *path, pada__yaml_pair pair, void *user)
{
    pada_file file;

    PADA_TRY(pada_file_open(&file, path));
    const pada_status st = pada__yaml_read_text(path, file.data, file.bytes, pair, user);
    pada_file_close(&file);
    return st;
}
