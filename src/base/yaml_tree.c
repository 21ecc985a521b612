/* yaml_tree.c - small YAML documents as trees, over libyaml's event interface.
 *
 * libyaml allocates with malloc and offers no hook, so its memory is neither counted nor reached by
 * the fault injection of base/mem.h. It does report its own failures (YAML_MEMORY_ERROR), and they
 * are passed on. */
#include "base/yaml_tree.h"

#include <string.h>
#include <strings.h>
#include <yaml.h>

#include "base/mem.h"

typedef struct reader {
    const char *path;
    yaml_parser_t parser;
    yaml_event_t event;
    int n_nodes;
} reader;

static pada_status read_node(reader *r, int depth, pada_yaml *node);

static int mark_line(const yaml_mark_t *mark)
{
    return (int)mark->line + 1;
}

static int event_line(const reader *r)
{
    return mark_line(&r->event.start_mark);
}

static pada_status bad_event(const reader *r, const char *problem)
{
    return PADA_FAIL(PADA_EDATA, "%s:%d: %s", r->path, event_line(r), problem);
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

static pada_status refuse_extras(const reader *r, const void *anchor, const void *tag)
{
    if (anchor) return bad_event(r, "anchors are not supported");
    if (tag) return bad_event(r, "tags are not supported");
    return PADA_OK;
}

/* The current event is a scalar. */
static pada_status check_scalar(const reader *r)
{
    PADA_TRY(refuse_extras(r, r->event.data.scalar.anchor, r->event.data.scalar.tag));
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

/* ---- nodes ---- */

/* Adds an empty member behind the others, whose last one is *last. */
static pada_status add_member(reader *r, pada_yaml *parent, pada_yaml **last, pada_yaml **out)
{
    void *memory;

    if (++r->n_nodes > PADA_YAML_MAX_NODES)
        return PADA_FAIL(PADA_EDATA, "%s:%d: more than %d values", r->path, event_line(r),
                         PADA_YAML_MAX_NODES);
    PADA_TRY(pada_calloc(&memory, 1, sizeof(pada_yaml)));
    *out = memory;
    if (*last)
        (*last)->next = *out;
    else
        parent->first = *out;
    *last = *out;
    parent->n++;
    return PADA_OK;
}

/* Makes the current event the key of a new member, the last of the map. */
static pada_status read_key(const reader *r, const pada_yaml *map, pada_yaml *member)
{
    if (r->event.type == YAML_ALIAS_EVENT) return bad_event(r, "aliases are not supported");
    if (r->event.type != YAML_SCALAR_EVENT) return bad_event(r, "a key is not a scalar");
    PADA_TRY(check_scalar(r));
    member->key_line = event_line(r);
    PADA_TRY(pada_strdup(&member->key, scalar_text(&r->event)));
    for (char *p = member->key; *p; p++)
        if (*p == '_') *p = '-';
    for (const pada_yaml *other = map->first; other != member; other = other->next)
        if (strcmp(other->key, member->key) == 0)
            return PADA_FAIL(PADA_EDATA, "%s:%d: key '%.100s' stands already on line %d", r->path,
                             member->key_line, member->key, other->key_line);
    return PADA_OK;
}

/* After the start of the map: pairs until its end. */
static pada_status read_map(reader *r, int depth, pada_yaml *map)
{
    pada_yaml *last = NULL, *member = NULL;

    for (;;) {
        PADA_TRY(next_event(r));
        if (r->event.type == YAML_MAPPING_END_EVENT) return PADA_OK;
        if (map->n == PADA_YAML_MAX_KEYS)
            return PADA_FAIL(PADA_EDATA, "%s:%d: more than %d keys", r->path, event_line(r),
                             PADA_YAML_MAX_KEYS);
        PADA_TRY(add_member(r, map, &last, &member));
        PADA_TRY(read_key(r, map, member));
        PADA_TRY(next_event(r));
        PADA_TRY(read_node(r, depth, member));
    }
}

/* The same for a list. */
static pada_status read_list(reader *r, int depth, pada_yaml *list)
{
    pada_yaml *last = NULL, *member = NULL;

    for (;;) {
        PADA_TRY(next_event(r));
        if (r->event.type == YAML_SEQUENCE_END_EVENT) return PADA_OK;
        PADA_TRY(add_member(r, list, &last, &member));
        PADA_TRY(read_node(r, depth, member));
    }
}

/* What the current event begins. */
static pada_status read_node(reader *r, int depth, pada_yaml *node)
{
    const bool is_map = r->event.type == YAML_MAPPING_START_EVENT;

    node->line = event_line(r);
    if (r->event.type == YAML_ALIAS_EVENT) return bad_event(r, "aliases are not supported");
    if (r->event.type == YAML_SCALAR_EVENT) {
        PADA_TRY(check_scalar(r));
        return is_null(&r->event) ? PADA_OK : pada_strdup(&node->text, scalar_text(&r->event));
    }
    if (!is_map && r->event.type != YAML_SEQUENCE_START_EVENT)
        return bad_event(r, "a value is missing");
    if (is_map)
        PADA_TRY(
            refuse_extras(r, r->event.data.mapping_start.anchor, r->event.data.mapping_start.tag));
    else
        PADA_TRY(refuse_extras(r, r->event.data.sequence_start.anchor,
                               r->event.data.sequence_start.tag));
    if (depth == PADA_YAML_MAX_DEPTH)
        return PADA_FAIL(PADA_EDATA, "%s:%d: more than %d lists and maps inside each other",
                         r->path, node->line, PADA_YAML_MAX_DEPTH);
    node->kind = is_map ? PADA_YAML_MAP : PADA_YAML_LIST;
    return is_map ? read_map(r, depth + 1, node) : read_list(r, depth + 1, node);
}

static pada_status read_stream(reader *r, pada_yaml **out)
{
    void *memory;

    PADA_TRY(next_event(r)); /* start of the stream */
    PADA_TRY(next_event(r));
    if (r->event.type == YAML_STREAM_END_EVENT) return PADA_OK; /* only blanks and comments */
    PADA_TRY(next_event(r));
    PADA_TRY(pada_calloc(&memory, 1, sizeof **out));
    *out = memory;
    PADA_TRY(read_node(r, 0, *out));
    PADA_TRY(next_event(r)); /* end of the document */
    PADA_TRY(next_event(r));
    if (r->event.type != YAML_STREAM_END_EVENT) return bad_event(r, "more than one document");
    return PADA_OK;
}

pada_status pada_yaml_read(pada_yaml **out, const char *path, const void *text, size_t bytes)
{
    reader r = {.path = path};

    *out = NULL;
    if (!yaml_parser_initialize(&r.parser))
        return PADA_FAIL(PADA_ENOMEM, "%s: out of memory", path);
    yaml_parser_set_input_string(&r.parser, text ? text : (const yaml_char_t *)"", bytes);
    const pada_status st = read_stream(&r, out);
    yaml_event_delete(&r.event);
    yaml_parser_delete(&r.parser);
    if (st == PADA_OK) return PADA_OK;
    pada_yaml_destroy(*out);
    *out = NULL;
    return st;
}

/* The depth is limited where trees are read. */
void pada_yaml_destroy(pada_yaml *node)
{
    if (!node) return;
    for (pada_yaml *member = node->first, *next; member; member = next) {
        next = member->next;
        pada_yaml_destroy(member);
    }
    pada_free(node->key);
    pada_free(node->text);
    pada_free(node);
}

const pada_yaml *pada_yaml_find(const pada_yaml *map, const char *key)
{
    for (const pada_yaml *member = map->first; member; member = member->next)
        if (strcmp(member->key, key) == 0) return member;
    return NULL;
}
