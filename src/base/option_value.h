/* option_value.h - the value of one option as text. Private to option.c. */
#ifndef PADA_BASE_OPTION_VALUE_H
#define PADA_BASE_OPTION_VALUE_H

#include "base/option.h"

/* The member that the option's type says; a STRING is its text and has none. */
typedef union pada__opt_value {
    int64_t i64;
    uint64_t u64;
    double f64;
    bool flag;
    int choice;
    pada_int_list ints;
} pada__opt_value;

/* Checks the text against type, range and choices. PADA_EINVAL, "`what`: ...". */
pada_status pada__opt_parse(const pada_opt *opt, const char *text, const char *what,
                            pada__opt_value *out);

/* Whether the value in the struct is one that a user could have typed: not a NULL string, not out
 * of range. */
bool pada__opt_can_be_given(const pada_opt *opt, const void *field);

/* Appends the value as a YAML scalar that reads back as the same value. */
void pada__opt_write(const pada_opt *opt, const void *field, pada_text *out);

#endif
