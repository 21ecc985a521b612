/* nb201_codec.c - reads and writes the text dialects of NAS-Bench-201 cells. */
#include "space/nb201_codec.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "space/arch_scanner.h"
#include "space/nb201_canon.h"

/* ---- scanning: nb201, list, naslib, tuples ---- */

static pada_scanner scan(const char *text)
{
    return (pada_scanner){"nb201", text, text};
}

static pada_status expect_op(pada_scanner *s, uint8_t *op)
{
    int i;

    PADA_TRY(pada_scan_word(s, "an operator", pada_nb201_labels, PADA_NB201_OPS, &i));
    *op = (uint8_t)i;
    return PADA_OK;
}

/* nb201: one group |op~0|op~1| for every node, joined by '+'. */
static pada_status parse_string(const char *text, pada_path *path)
{
    pada_scanner s = scan(text);

    for (int to = 1; to < PADA_NB201_NODES; to++) {
        if (to > 1) PADA_TRY(pada_scan_char(&s, '+'));
        PADA_TRY(pada_scan_char(&s, '|'));
        for (int from = 0; from < to; from++) {
            PADA_TRY(expect_op(&s, &path->choice[pada_nb201_edge(to, from)]));
            PADA_TRY(pada_scan_char(&s, '~'));
            PADA_TRY(pada_scan_char(&s, (char)('0' + from)));
            PADA_TRY(pada_scan_char(&s, '|'));
        }
    }
    return pada_scan_end(&s);
}

static void format_string(const pada_path *path, pada_text *out)
{
    for (int to = 1; to < PADA_NB201_NODES; to++) {
        pada_text_add(out, to > 1 ? "+|" : "|");
        for (int from = 0; from < to; from++)
            pada_text_add(out, "%s~%d|", pada_nb201_labels[path->choice[pada_nb201_edge(to, from)]],
                          from);
    }
}

/* tuples: the list few-shot-NAS keys its tables with, a tuple of (op, from) for every node. */
static pada_status parse_tuples(const char *text, pada_path *path)
{
    pada_scanner s = scan(text);

    PADA_TRY(pada_scan_char(&s, '['));
    for (int to = 1; to < PADA_NB201_NODES; to++) {
        if (to > 1) PADA_TRY(pada_scan_comma(&s));
        PADA_TRY(pada_scan_char(&s, '('));
        for (int from = 0; from < to; from++) {
            if (from > 0) PADA_TRY(pada_scan_comma(&s));
            PADA_TRY(pada_scan_char(&s, '('));
            PADA_TRY(pada_scan_char(&s, '\''));
            PADA_TRY(expect_op(&s, &path->choice[pada_nb201_edge(to, from)]));
            PADA_TRY(pada_scan_char(&s, '\''));
            PADA_TRY(pada_scan_comma(&s));
            PADA_TRY(pada_scan_char(&s, (char)('0' + from)));
            PADA_TRY(pada_scan_char(&s, ')'));
        }
        if (to == 1) PADA_TRY(pada_scan_char(&s, ',')); /* how Python writes a tuple of one */
        PADA_TRY(pada_scan_char(&s, ')'));
    }
    PADA_TRY(pada_scan_char(&s, ']'));
    return pada_scan_end(&s);
}

static void format_tuples(const pada_path *path, pada_text *out)
{
    for (int to = 1; to < PADA_NB201_NODES; to++) {
        pada_text_add(out, to > 1 ? ", (" : "[(");
        for (int from = 0; from < to; from++)
            pada_text_add(out, "%s('%s', %d)", from > 0 ? ", " : "",
                          pada_nb201_labels[path->choice[pada_nb201_edge(to, from)]], from);
        pada_text_add(out, to == 1 ? ",)" : ")");
    }
    pada_text_add(out, "]");
}

/* What the integers of a list mean: item k is edge[k], number v is op[v]. */
typedef struct numbering {
    uint8_t edge[PADA_NB201_EDGES], op[PADA_NB201_OPS];
} numbering;

static const numbering own_numbers = {{0, 1, 2, 3, 4, 5}, {0, 1, 2, 3, 4}};

/* NASLib numbers nodes from 1 and lists edges by source: 1-2 1-3 1-4 2-3 2-4 3-4. */
static const numbering naslib_numbers = {
    {0, 1, 3, 2, 4, 5},
    {PADA_NB201_SKIP, PADA_NB201_NONE, PADA_NB201_CONV3, PADA_NB201_CONV1, PADA_NB201_POOL},
};

static pada_status parse_integers(const char *text, const numbering *numbers, pada_path *path)
{
    pada_scanner s = scan(text);
    const char close = *text == '[' ? ']' : *text == '(' ? ')' : '\0';

    if (close != '\0') s.at++;
    for (int k = 0; k < PADA_NB201_EDGES; k++) {
        int number;
        if (k > 0) PADA_TRY(pada_scan_comma(&s));
        PADA_TRY(pada_scan_digit(&s, "an operator number 0 to 4", PADA_NB201_OPS - 1, &number));
        path->choice[numbers->edge[k]] = numbers->op[number];
    }
    if (close != '\0') PADA_TRY(pada_scan_char(&s, close));
    return pada_scan_end(&s);
}

static void format_integers(const pada_path *path, const numbering *numbers, pada_text *out)
{
    for (int k = 0; k < PADA_NB201_EDGES; k++) {
        int v = 0;

        while (numbers->op[v] != path->choice[numbers->edge[k]])
            v++;
        pada_text_add(out, "%c%d", k > 0 ? ',' : '[', v);
    }
    pada_text_add(out, "]");
}

static pada_status parse_list(const char *text, pada_path *path)
{
    return parse_integers(text, &own_numbers, path);
}

static void format_list(const pada_path *path, pada_text *out)
{
    format_integers(path, &own_numbers, out);
}

static pada_status parse_naslib(const char *text, pada_path *path)
{
    return parse_integers(text, &naslib_numbers, path);
}

static void format_naslib(const pada_path *path, pada_text *out)
{
    format_integers(path, &naslib_numbers, out);
}

/* ---- nni: a JSON object from edges to NNI's own operator names ---- */

static const char *const nni_edges[PADA_NB201_EDGES] = {"0_1", "0_2", "1_2", "0_3", "1_3", "2_3"};
static const char *const nni_ops[PADA_NB201_OPS] = {
    [PADA_NB201_NONE] = "none",         [PADA_NB201_SKIP] = "skip_connect",
    [PADA_NB201_CONV1] = "conv_1x1",    [PADA_NB201_CONV3] = "conv_3x3",
    [PADA_NB201_POOL] = "avg_pool_3x3",
};

static pada_status read_nni(json_t *object, pada_path *path)
{
    bool seen[PADA_NB201_EDGES] = {false};
    const char *key;
    json_t *value;

    if (!json_is_object(object))
        return PADA_FAIL(PADA_EINVAL, "nb201 architecture: the JSON text is not an object");
    json_object_foreach(object, key, value)
    {
        char where[16];
        int edge = 0, op;

        while (edge < PADA_NB201_EDGES && strcmp(key, nni_edges[edge]) != 0)
            edge++;
        if (edge == PADA_NB201_EDGES)
            return PADA_FAIL(PADA_EINVAL,
                             "nb201 architecture: unknown edge '%.48s'; edges are 0_1 to 2_3", key);
        if (!json_is_string(value))
            return PADA_FAIL(PADA_EINVAL,
                             "nb201 architecture: the operator of edge '%s' is not a string", key);
        snprintf(where, sizeof where, "edge '%s'", nni_edges[edge]);
        PADA_TRY(pada_scan_find("nb201", where, json_string_value(value), json_string_length(value),
                                nni_ops, PADA_NB201_OPS, &op));
        path->choice[edge] = (uint8_t)op;
        seen[edge] = true;
    }
    for (int edge = 0; edge < PADA_NB201_EDGES; edge++)
        if (!seen[edge])
            return PADA_FAIL(PADA_EINVAL, "nb201 architecture: edge '%s' is missing",
                             nni_edges[edge]);
    return PADA_OK;
}

static pada_status parse_nni(const char *text, pada_path *path)
{
    json_error_t error;

    pada_json_begin();
    json_t *object = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    if (pada_json_ran_out()) {
        json_decref(object);
        return PADA_FAIL(PADA_ENOMEM, "nb201 architecture: out of memory (JSON)");
    }
    if (!object)
        return PADA_FAIL(PADA_EINVAL, "nb201 architecture, character %d: %s", error.position,
                         error.text);
    pada_status st = read_nni(object, path);
    json_decref(object);
    return st;
}

static void format_nni(const pada_path *path, pada_text *out)
{
    for (int edge = 0; edge < PADA_NB201_EDGES; edge++)
        pada_text_add(out, "%c\"%s\":\"%s\"", edge > 0 ? ',' : '{', nni_edges[edge],
                      nni_ops[path->choice[edge]]);
    pada_text_add(out, "}");
}

/* ---- the dialects ---- */

enum { NB201, LIST, NASLIB, NNI, TUPLES, N_DIALECTS };

const char *const pada_nb201_dialects[] = {
    [NB201] = "nb201", [LIST] = "list",     [NASLIB] = "naslib",
    [NNI] = "nni",     [TUPLES] = "tuples", [N_DIALECTS] = NULL,
};

static const struct {
    pada_status (*parse)(const char *text, pada_path *path);
    void (*format)(const pada_path *path, pada_text *out);
} dialects[N_DIALECTS] = {
    [NB201] = {parse_string, format_string},  [LIST] = {parse_list, format_list},
    [NASLIB] = {parse_naslib, format_naslib}, [NNI] = {parse_nni, format_nni},
    [TUPLES] = {parse_tuples, format_tuples},
};

static pada_status find_dialect(const char *name, int *out)
{
    for (int i = 0; i < N_DIALECTS; i++) {
        if (strcmp(name, pada_nb201_dialects[i]) == 0) {
            *out = i;
            return PADA_OK;
        }
    }
    return pada_fail_unknown(PADA_EINVAL, "unknown dialect", name, pada_nb201_dialects, N_DIALECTS);
}

/* The dialect a text starts like. */
static pada_status guess_dialect(const char *text, int *out)
{
    if (text[0] == '{')
        *out = NNI;
    else if (text[0] == '[' && text[1] == '(')
        *out = TUPLES;
    else if (text[0] != '\0' && strchr("[(0123456789", text[0]))
        return PADA_FAIL(PADA_EINVAL,
                         "a list of integers is ambiguous: name its dialect, list or naslib");
    else
        *out = NB201;
    return PADA_OK;
}

pada_status pada_nb201_parse(const pada_space *space, const char *text, const char *dialect,
                             pada_path *path)
{
    pada_path parsed = {{0}};
    int i = NB201;

    (void)space;
    PADA_TRY(dialect ? find_dialect(dialect, &i) : guess_dialect(text, &i));
    PADA_TRY(dialects[i].parse(text, &parsed));
    *path = parsed;
    return PADA_OK;
}

pada_status pada_nb201_format(const pada_space *space, const pada_path *path, const char *dialect,
                              pada_text *out)
{
    int i = NB201;

    (void)space;
    if (dialect) PADA_TRY(find_dialect(dialect, &i));
    for (int edge = 0; edge < PADA_NB201_EDGES; edge++)
        PADA_ASSERT(path->choice[edge] < PADA_NB201_OPS);
    dialects[i].format(path, out);
    return out->status;
}
