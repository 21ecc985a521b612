/* option_value.c - the value of one option, read from what a user typed and written as a YAML
 * scalar. */
#include "base/option_value.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The allowed range of an INT as integers; a table has doubles. */
static void int_range(const pada_opt *opt, int64_t *min, int64_t *max)
{
    const double limit = 9223372036854775808.0; /* 2^63 */
    const bool is_free = opt->min == 0 && opt->max == 0;

    *min = is_free || opt->min <= -limit ? INT64_MIN : (int64_t)ceil(opt->min);
    *max = is_free || opt->max >= limit ? INT64_MAX : (int64_t)floor(opt->max);
}

static void double_range(const pada_opt *opt, double *min, double *max)
{
    const bool is_free = opt->min == 0 && opt->max == 0;

    *min = is_free ? -INFINITY : opt->min;
    *max = is_free ? INFINITY : opt->max;
}

/* Word i of "a|b|c", n letters long and not terminated; NULL after the last. */
static const char *choice_word(const char *choices, int i, size_t *n)
{
    for (; i > 0; i--) {
        choices = strchr(choices, '|');
        if (!choices) return NULL;
        choices++;
    }
    *n = strcspn(choices, "|");
    return choices;
}

static pada_status parse_choice(const char *text, const char *what, const char *choices, int *out)
{
    const char *word;
    char *rest;
    size_t n;

    for (int i = 0; (word = choice_word(choices, i, &n)) != NULL; i++) {
        if (strlen(text) != n || memcmp(text, word, n) != 0) continue;
        *out = i;
        return PADA_OK;
    }

    /* pada_nearest wants terminated names. Lists that do not fit get no suggestion. */
    char names[512];
    const char *candidates[64];
    const char *near = NULL;
    int n_candidates = 0;
    if (strlen(choices) < sizeof names) {
        strcpy(names, choices);
        for (char *p = strtok_r(names, "|", &rest); p && n_candidates < 64;
             p = strtok_r(NULL, "|", &rest))
            candidates[n_candidates++] = p;
        near = pada_nearest(text, candidates, n_candidates);
    }
    if (near)
        return PADA_FAIL(PADA_EINVAL, "%s: '%.100s' is not one of %s (did you mean %s?)", what,
                         text, choices, near);
    return PADA_FAIL(PADA_EINVAL, "%s: '%.100s' is not one of %s", what, text, choices);
}

/* Whole numbers with commas between them. */
static pada_status parse_ints(const pada_opt *opt, const char *text, const char *what,
                              pada_int_list *out)
{
    int64_t min, max, value;

    int_range(opt, &min, &max);
    if (min < INT32_MIN) min = INT32_MIN;
    if (max > INT32_MAX) max = INT32_MAX;
    *out = (pada_int_list){0};
    for (const char *at = text;; at++) {
        char number[32];
        const size_t n = strcspn(at, ",");
        if (out->n == PADA_MAX_INTS)
            return PADA_FAIL(PADA_EINVAL, "%s: more than %d numbers", what, PADA_MAX_INTS);
        (void)snprintf(number, sizeof number, "%.*s", n < sizeof number ? (int)n : 31, at);
        PADA_TRY(pada_parse_int(number, what, min, max, &value));
        out->values[out->n++] = (int32_t)value;
        at += n;
        if (*at == '\0') return PADA_OK;
    }
}

static void write_ints(const pada_int_list *list, pada_text *out)
{
    /* Quoted, since other readers of YAML take "1,000" for one number. */
    for (int i = 0; i < list->n; i++)
        pada_text_add(out, "%s%" PRId32, i > 0 ? "," : "\"", list->values[i]);
    pada_text_add(out, "\"");
}

static bool is_utf8(const char *text)
{
    uint32_t code;

    while (*text) {
        const int n = pada_utf8_decode(text, &code);
        if (n == 0) return false;
        text += n;
    }
    return true;
}

pada_status pada__opt_parse(const pada_opt *opt, const char *text, const char *what,
                            pada__opt_value *out)
{
    int64_t min, max;
    double low, high;

    switch (opt->type) {
    case PADA_OPT_INT:
        int_range(opt, &min, &max);
        return pada_parse_int(text, what, min, max, &out->i64);
    case PADA_OPT_U64: return pada_parse_u64(text, what, &out->u64);
    case PADA_OPT_DOUBLE:
        double_range(opt, &low, &high);
        return pada_parse_double(text, what, low, high, &out->f64);
    case PADA_OPT_BOOL: return pada_parse_bool(text, what, &out->flag);
    case PADA_OPT_CHOICE: return parse_choice(text, what, opt->choices, &out->choice);
    case PADA_OPT_INTS: return parse_ints(opt, text, what, &out->ints);
    case PADA_OPT_STRING: break;
    }
    if (!is_utf8(text)) return PADA_FAIL(PADA_EINVAL, "%s: '%.100s' is not UTF-8", what, text);
    return PADA_OK;
}

/* A double-quoted YAML scalar that reads back as the same bytes. */
static void add_quoted(pada_text *out, const char *name, const char *text)
{
    uint32_t code;

    pada_text_add(out, "\"");
    while (*text) {
        const int n = pada_utf8_decode(text, &code);
        if (n == 0) {
            /* Only a program that wrote to the struct itself gets here; flags and files are
             * checked. */
            if (out->status == PADA_OK)
                out->status = PADA_FAIL(PADA_EINVAL, "%s: a value is not UTF-8", name);
            return;
        }
        if (code == '"' || code == '\\') {
            pada_text_add(out, "\\%c", (char)code);
        } else if (code < 0x20 || (code >= 0x7f && code <= 0xa0)) {
            pada_text_add(out, "\\x%02" PRIx32, code);
        } else if (code == 0x2028 || code == 0x2029 || code == 0xfeff ||
                   (code & 0xfffe) == 0xfffe) {
            /* Line breaks that YAML folds, the byte order mark, and codes that are no characters.
             */
            pada_text_add(out, "\\U%08" PRIx32, code);
        } else {
            pada_text_add_bytes(out, text, (size_t)n);
        }
        text += n;
    }
    pada_text_add(out, "\"");
}

bool pada__opt_can_be_given(const pada_opt *opt, const void *field)
{
    int64_t min, max;
    double low, high;

    switch (opt->type) {
    case PADA_OPT_INT: {
        const int64_t n = *(const int64_t *)field;
        int_range(opt, &min, &max);
        return n >= min && n <= max;
    }
    case PADA_OPT_DOUBLE: {
        const double x = *(const double *)field;
        double_range(opt, &low, &high);
        return isfinite(x) && x >= low && x <= high;
    }
    case PADA_OPT_STRING: return *(const char *const *)field != NULL;
    case PADA_OPT_INTS: return ((const pada_int_list *)field)->n > 0;
    case PADA_OPT_U64:
    case PADA_OPT_BOOL:
    case PADA_OPT_CHOICE: break;
    }
    return true;
}

static void write_choice(const pada_opt *opt, int choice, pada_text *out)
{
    pada_text word = {0};
    size_t n = 0;
    const char *start = choice_word(opt->choices, choice, &n);

    PADA_ASSERT(choice >= 0 && start);
    pada_text_add_bytes(&word, start, n);
    /* Quoted, since other readers of YAML take words such as `off` for something else. */
    add_quoted(out, opt->name, pada_text_str(&word));
    if (out->status == PADA_OK) out->status = word.status;
    pada_text_deinit(&word);
}

void pada__opt_write(const pada_opt *opt, const void *field, pada_text *out)
{
    switch (opt->type) {
    case PADA_OPT_INT: pada_text_add(out, "%" PRId64, *(const int64_t *)field); break;
    case PADA_OPT_U64: pada_text_add(out, "%" PRIu64, *(const uint64_t *)field); break;
    case PADA_OPT_DOUBLE: pada_text_add_double(out, *(const double *)field); break;
    case PADA_OPT_BOOL: pada_text_add(out, *(const bool *)field ? "true" : "false"); break;
    case PADA_OPT_STRING: add_quoted(out, opt->name, *(const char *const *)field); break;
    case PADA_OPT_CHOICE: write_choice(opt, *(const int *)field, out); break;
    case PADA_OPT_INTS: write_ints(field, out); break;
    }
}
