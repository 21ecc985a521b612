/* option_table.h - a table with an option of every type, for the targets about options. */
#ifndef PADA_TESTS_FUZZ_OPTION_TABLE_H
#define PADA_TESTS_FUZZ_OPTION_TABLE_H

#include "base/option.h"
#include "fuzz/fuzz.h"

typedef struct fuzz_values {
    int64_t batch_size;
    uint64_t seed;
    double lr;
    bool amp;
    const char *out;
    int method;
    pada_int_list widths;
} fuzz_values;

static const pada_opt fuzz_table[] = {
    {.name = "batch-size",
     .type = PADA_OPT_INT,
     .offset = offsetof(fuzz_values, batch_size),
     .default_value = "64",
     .min = 1,
     .max = 1000000},
    {.name = "seed", .type = PADA_OPT_U64, .offset = offsetof(fuzz_values, seed)},
    {.name = "lr",
     .type = PADA_OPT_DOUBLE,
     .offset = offsetof(fuzz_values, lr),
     .default_value = "0.05"},
    {.name = "amp",
     .type = PADA_OPT_BOOL,
     .offset = offsetof(fuzz_values, amp),
     .default_value = "true"},
    {.name = "out", .type = PADA_OPT_STRING, .offset = offsetof(fuzz_values, out)},
    {.name = "method",
     .type = PADA_OPT_CHOICE,
     .offset = offsetof(fuzz_values, method),
     .default_value = "spos",
     .choices = "spos|pada|single"},
    {.name = "widths", .type = PADA_OPT_INTS, .offset = offsetof(fuzz_values, widths)},
    {.name = NULL},
};

static inline pada_options *fuzz_options(fuzz_values *values)
{
    pada_options *options;

    FUZZ_CHECK(pada_options_create(&options) == PADA_OK);
    FUZZ_CHECK(pada_options_bind(options, fuzz_table, values) == PADA_OK);
    return options;
}

/* What is written as YAML must read back as the same values. */
static inline void fuzz_check_dump(const pada_options *options)
{
    fuzz_values values = {0};
    pada_options *again = fuzz_options(&values);
    pada_text first = {0}, second = {0};

    pada_options_dump(options, &first);
    FUZZ_CHECK(first.status == PADA_OK);
    FUZZ_CHECK(pada_options_load(again, fuzz_file("dump.yaml", first.data, first.length)) ==
               PADA_OK);
    pada_options_dump(again, &second);
    FUZZ_CHECK(strcmp(pada_text_str(&first), pada_text_str(&second)) == 0);
    pada_text_deinit(&first);
    pada_text_deinit(&second);
    pada_options_destroy(again);
}

#endif
