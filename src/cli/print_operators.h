/* print_operators.h - how often networks have each operator, for people and for programs. */
#ifndef PADA_CLI_PRINT_OPERATORS_H
#define PADA_CLI_PRINT_OPERATORS_H

#include "base/json.h"

#include "base/text.h"
#include "space/operator_counts.h"

/* Appends "  normal: sep_conv_3x3 5 (3 from inputs), skip_connect 3 (3 from inputs)  reduce: ..", means of several networks. */
void pada_add_operators(pada_text *out, const pada_operator_counts *counts);
/* A list of objects with cell, operator, count and from_inputs. */
json_t *pada_json_operators(pada_text *out, const pada_operator_counts *counts);

#endif
