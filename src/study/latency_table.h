/* latency_table.h - how long the parts of networks take on a machine, and what that says about a network: the sum.
 *
 * A table is a file of keys (space/part.h) and milliseconds, in one of two formats:
 *
 *   CSV    as `pada bench latency` writes it: op,in_h,in_w,in_c,out_h,out_w,out_c,expand,kernel,stride,skip,ms,std,count
 *   YAML   as published with ProxylessNAS and Once-for-all: a key, and below it `mean` in ms beside other numbers
 *
 * Operators that are left out or dead take no time. */
#ifndef PADA_STUDY_LATENCY_TABLE_H
#define PADA_STUDY_LATENCY_TABLE_H

#include "space/space.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pada_latency_table pada_latency_table;

/* What is no table, has a key twice, or a number that is not finite or below zero, is PADA_EDATA, "path:line: ...". */
pada_status pada_latency_table_open(pada_latency_table **out, const char *path);
/* The same from memory; `name` is for messages. Nothing of the text is kept. */
pada_status pada_latency_table_read(pada_latency_table **out, const char *name, const char *text,
                                    size_t bytes);
void pada_latency_table_close(pada_latency_table *table); /* NULL is fine */

int pada_latency_table_count(const pada_latency_table *table); /* keys; at least one */
/* By number, in the order of their text. The string is borrowed. */
const char *pada_latency_table_key(const pada_latency_table *table, int i);
double pada_latency_table_ms(const pada_latency_table *table, int i);

/* The latency of a network by itself: the sum over the parts that run, those that are not dead. A part without a key is
 * PADA_EDATA and named. */
pada_status pada_latency_of(const pada_latency_table *table, const pada_space *space,
                            const pada_path *path, double *ms);
/* The same in microseconds, each part rounded and dead ones counted, so that it is a fixed number and one for the choice of
 * every slot that the path takes. */
pada_status pada_latency_path_us(const pada_latency_table *table, const pada_space *space,
                                 const pada_path *path, int64_t *us);

/* One measured part. */
typedef struct pada_latency_row {
    pada_part part;
    double ms, std_ms; /* median, and deviation of the repeats */
    int count;         /* repeats */
} pada_latency_row;

/* Appends a table as CSV. */
void pada_latency_rows_write(const pada_latency_row *rows, int n, pada_text *out);

#ifdef __cplusplus
}
#endif
#endif
