/* darts_codec.c - reads and writes the text dialects of DARTS architectures. */
#include "space/darts_codec.h"

#include <string.h>

#include "space/arch_scanner.h"

enum { DARTS, GENOTYPE, PT_DARTS, RANDOMNAS, NSAS, NB301, N_DIALECTS };
enum { PAIRS = 2 * PADA_DARTS_NODES };

const char *const pada_darts_dialects[] = {"darts", "genotype", "pt_darts", "randomnas",
                                           "nsas",  "nb301",    NULL};

static const char *const kinds[PADA_DARTS_KINDS] = {"normal", "reduce"};

/* ---- what all dialects share ---- */

/* The value that pair k reads; the first one of its node is there already. */
static pada_status scan_input(pada_scanner *s, pada_darts_cell *cell, int k)
{
    const int node = k / 2;
    const pada_scanner before = *s;
    int input;

    PADA_TRY(pada_scan_digit(s, "an input 0 to 5", 5, &input));
    if (input > node + 1) {
        PADA_TRY(pada_scan_fail(&before, "a value before the node"));
    } else if (k % 2 == 1 && input == cell->input[k - 1]) {
        PADA_TRY(pada_scan_fail(&before, "another input than the first one of the node"));
    }
    cell->input[k] = (uint8_t)input;
    return PADA_OK;
}

static pada_status check_op(const pada_space *space, const pada_scanner *before, int op)
{
    return op == PADA_DARTS_NONE && !pada_darts_settings_of(space)->none
               ? pada_scan_fail(before, "an operator of the space, which is --no-none")
               : PADA_OK;
}

static pada_status scan_name(const pada_space *space, pada_scanner *s, pada_darts_cell *cell, int k)
{
    const pada_scanner before = *s;
    int op;

    PADA_TRY(pada_scan_word(s, "an operator", pada_darts_labels, PADA_DARTS_OPS, &op));
    PADA_TRY(check_op(space, &before, op));
    cell->op[k] = (uint8_t)op;
    return PADA_OK;
}

/* '[' or '(', and what closes it. */
static pada_status scan_open(pada_scanner *s, char *close)
{
    *close = *s->at == '[' ? ']' : ')';
    if (!pada_scan_take(s, '[') && !pada_scan_take(s, '(')) return pada_scan_fail(s, "'[' or '('");
    return PADA_OK;
}

/* ---- darts ---- */

static pada_status parse_darts(const pada_space *space, pada_scanner *s, pada_darts_cell *cells)
{
    for (int kind = 0; kind < PADA_DARTS_KINDS; kind++) {
        if (kind > 0) PADA_TRY(pada_scan_char(s, '/'));
        for (int k = 0; k < PAIRS; k++) {
            if (k % 2 == 0 && k > 0) PADA_TRY(pada_scan_char(s, '+'));
            if (k % 2 == 0) PADA_TRY(pada_scan_char(s, '|'));
            PADA_TRY(scan_name(space, s, &cells[kind], k));
            PADA_TRY(pada_scan_char(s, '~'));
            PADA_TRY(scan_input(s, &cells[kind], k));
            PADA_TRY(pada_scan_char(s, '|'));
        }
    }
    return PADA_OK;
}

static void format_darts(const pada_darts_cell *cells, pada_text *out)
{
    for (int kind = 0; kind < PADA_DARTS_KINDS; kind++) {
        if (kind > 0) pada_text_add(out, "/");
        for (int k = 0; k < PAIRS; k++) {
            if (k % 2 == 0) pada_text_add(out, k > 0 ? "+|" : "|");
            pada_text_add(out, "%s~%d|", pada_darts_labels[cells[kind].op[k]],
                          cells[kind].input[k]);
        }
    }
}

/* ---- genotype, pt_darts ---- */

/* ('sep_conv_3x3', 0) */
static pada_status scan_named_pair(const pada_space *space, pada_scanner *s, pada_darts_cell *cell,
                                   int k)
{
    char close;

    PADA_TRY(scan_open(s, &close));
    const char quote = *s->at == '"' ? '"' : '\'';
    PADA_TRY(pada_scan_char(s, quote));
    PADA_TRY(scan_name(space, s, cell, k));
    PADA_TRY(pada_scan_char(s, quote));
    PADA_TRY(pada_scan_comma(s));
    PADA_TRY(scan_input(s, cell, k));
    return pada_scan_char(s, close);
}

/* Eight pairs, or four lists of two. */
static pada_status scan_pairs(const pada_space *space, pada_scanner *s, pada_darts_cell *cell)
{
    char close, close_node = '\0';

    PADA_TRY(scan_open(s, &close));
    const bool is_nested = strchr("[(", s->at[0]) && s->at[0] && strchr("[(", s->at[1]) && s->at[1];
    for (int k = 0; k < PAIRS; k++) {
        if (k > 0) PADA_TRY(pada_scan_comma(s));
        if (is_nested && k % 2 == 0) PADA_TRY(scan_open(s, &close_node));
        PADA_TRY(scan_named_pair(space, s, cell, k));
        if (is_nested && k % 2 == 1) PADA_TRY(pada_scan_char(s, close_node));
    }
    return pada_scan_char(s, close);
}

/* All nodes: [2, 3, 4, 5] or range(2, 6). */
static pada_status scan_concat(pada_scanner *s)
{
    char close;

    if (*s->at == 'r') {
        PADA_TRY(pada_scan_text(s, "range(2"));
        PADA_TRY(pada_scan_comma(s));
        return pada_scan_text(s, "6)");
    }
    PADA_TRY(scan_open(s, &close));
    for (int node = 2; node < 2 + PADA_DARTS_NODES; node++) {
        if (node > 2) PADA_TRY(pada_scan_comma(s));
        PADA_TRY(pada_scan_char(s, (char)('0' + node)));
    }
    return pada_scan_char(s, close);
}

static pada_status parse_genotype(const pada_space *space, pada_scanner *s, pada_darts_cell *cells)
{
    PADA_TRY(pada_scan_text(s, "Genotype("));
    for (int kind = 0; kind < PADA_DARTS_KINDS; kind++) {
        if (kind > 0) PADA_TRY(pada_scan_comma(s));
        PADA_TRY(pada_scan_text(s, kinds[kind]));
        PADA_TRY(pada_scan_char(s, '='));
        PADA_TRY(scan_pairs(space, s, &cells[kind]));
        PADA_TRY(pada_scan_comma(s));
        PADA_TRY(pada_scan_text(s, kinds[kind]));
        PADA_TRY(pada_scan_text(s, "_concat="));
        PADA_TRY(scan_concat(s));
    }
    return pada_scan_char(s, ')');
}

static void format_genotype(const pada_darts_cell *cells, bool is_nested, pada_text *out)
{
    for (int kind = 0; kind < PADA_DARTS_KINDS; kind++) {
        pada_text_add(out, "%s%s=[", kind > 0 ? ", " : "Genotype(", kinds[kind]);
        for (int k = 0; k < PAIRS; k++)
            pada_text_add(out, "%s%s('%s', %d)%s", k > 0 ? ", " : "",
                          is_nested && k % 2 == 0 ? "[" : "", pada_darts_labels[cells[kind].op[k]],
                          cells[kind].input[k], is_nested && k % 2 == 1 ? "]" : "");
        pada_text_add(out, "], %s_concat=%s", kinds[kind],
                      is_nested ? "range(2, 6)" : "[2, 3, 4, 5]");
    }
    pada_text_add(out, ")");
}

/* ---- lists of numbers ---- */

typedef struct numbering {
    bool op_first;
    int first_op; /* the operator that is number 0 */
} numbering;

static const numbering numberings[N_DIALECTS] = {
    [RANDOMNAS] = {false, PADA_DARTS_NONE},
    [NSAS] = {true, PADA_DARTS_NONE},
    [NB301] = {false, PADA_DARTS_MAX_POOL},
};

static pada_status scan_number(const pada_space *space, pada_scanner *s, const numbering *n,
                               pada_darts_cell *cell, int k)
{
    const pada_scanner before = *s;
    const int most = PADA_DARTS_OPS - 1 - n->first_op;
    int op;

    PADA_TRY(pada_scan_digit(
        s, most == 7 ? "an operator number 0 to 7" : "an operator number 0 to 6", most, &op));
    op += n->first_op;
    PADA_TRY(check_op(space, &before, op));
    cell->op[k] = (uint8_t)op;
    return PADA_OK;
}

static pada_status parse_numbers(const pada_space *space, pada_scanner *s, const numbering *n,
                                 pada_darts_cell *cells)
{
    char close, close_cell, close_pair;

    PADA_TRY(scan_open(s, &close));
    for (int kind = 0; kind < PADA_DARTS_KINDS; kind++) {
        if (kind > 0) PADA_TRY(pada_scan_comma(s));
        PADA_TRY(scan_open(s, &close_cell));
        for (int k = 0; k < PAIRS; k++) {
            if (k > 0) PADA_TRY(pada_scan_comma(s));
            PADA_TRY(scan_open(s, &close_pair));
            if (n->op_first) PADA_TRY(scan_number(space, s, n, &cells[kind], k));
            if (n->op_first) PADA_TRY(pada_scan_comma(s));
            PADA_TRY(scan_input(s, &cells[kind], k));
            if (!n->op_first) PADA_TRY(pada_scan_comma(s));
            if (!n->op_first) PADA_TRY(scan_number(space, s, n, &cells[kind], k));
            PADA_TRY(pada_scan_char(s, close_pair));
        }
        PADA_TRY(pada_scan_char(s, close_cell));
    }
    return pada_scan_char(s, close);
}

static pada_status format_numbers(const pada_darts_cell *cells, int dialect, pada_text *out)
{
    const numbering *n = &numberings[dialect];

    for (int kind = 0; kind < PADA_DARTS_KINDS; kind++) {
        pada_text_add(out, kind > 0 ? ", [" : "([");
        for (int k = 0; k < PAIRS; k++) {
            const int op = cells[kind].op[k] - n->first_op, input = cells[kind].input[k];
            if (op < 0)
                return PADA_FAIL(PADA_EINVAL, "dialect %s has no number for the operator %s",
                                 pada_darts_dialects[dialect],
                                 pada_darts_labels[cells[kind].op[k]]);
            pada_text_add(out, "%s(%d, %d)", k > 0 ? ", " : "", n->op_first ? op : input,
                          n->op_first ? input : op);
        }
        pada_text_add(out, "]");
    }
    pada_text_add(out, ")");
    return PADA_OK;
}

/* ---- the dialects ---- */

static pada_status find_dialect(const char *name, int *out)
{
    for (*out = 0; *out < N_DIALECTS; ++*out)
        if (strcmp(name, pada_darts_dialects[*out]) == 0) return PADA_OK;
    return pada_fail_unknown(PADA_EINVAL, "unknown dialect", name, pada_darts_dialects, N_DIALECTS);
}

static pada_status guess_dialect(const char *text, int *out)
{
    if (text[0] == '[' || text[0] == '(')
        return PADA_FAIL(PADA_EINVAL, "lists of numbers are ambiguous: name their dialect, "
                                      "randomnas, nsas or nb301");
    *out = text[0] == 'G' ? GENOTYPE : DARTS;
    return PADA_OK;
}

pada_status pada_darts_parse(const pada_space *space, const char *text, const char *dialect,
                             pada_path *path)
{
    pada_scanner s = {"darts", text, text};
    pada_darts_cell cells[PADA_DARTS_KINDS];
    pada_path parsed = {{0}};
    int i = DARTS;

    PADA_TRY(dialect ? find_dialect(dialect, &i) : guess_dialect(text, &i));
    if (i == DARTS)
        PADA_TRY(parse_darts(space, &s, cells));
    else if (i == GENOTYPE || i == PT_DARTS)
        PADA_TRY(parse_genotype(space, &s, cells));
    else
        PADA_TRY(parse_numbers(space, &s, &numberings[i], cells));
    PADA_TRY(pada_scan_end(&s));
    for (int kind = 0; kind < PADA_DARTS_KINDS; kind++)
        pada_darts_set(&parsed, kind, &cells[kind]);
    *path = parsed;
    return PADA_OK;
}

pada_status pada_darts_format(const pada_space *space, const pada_path *path, const char *dialect,
                              pada_text *out)
{
    pada_darts_cell cells[PADA_DARTS_KINDS];
    int i = DARTS;

    (void)space;
    if (dialect) PADA_TRY(find_dialect(dialect, &i));
    for (int kind = 0; kind < PADA_DARTS_KINDS; kind++)
        pada_darts_get(path, kind, &cells[kind]);
    if (i == DARTS)
        format_darts(cells, out);
    else if (i == GENOTYPE || i == PT_DARTS)
        format_genotype(cells, i == PT_DARTS, out);
    else
        PADA_TRY(format_numbers(cells, i, out));
    return out->status;
}
