/* elementary.h - exp, log and cos with the same bits on every machine.
 *
 * The C library chooses its own by the processor and changes them from version to version. These
 * need nothing but additions, multiplications and divisions of IEEE doubles in a fixed order, which
 * compilers keep (-ffp-contract=off); sqrt is exact to the last bit everywhere. Errors stay below
 * three units in the last place (tests/base/test_elementary.c). */
#ifndef PADA_BASE_ELEMENTARY_H
#define PADA_BASE_ELEMENTARY_H

#ifdef __cplusplus
extern "C" {
#endif

/* 0 and infinity where doubles end; NaN of NaN. */
double pada_exp(double x);

/* Natural; -infinity of 0, NaN of negative numbers and NaN. */
double pada_ln(double x);

/* The cosine of an angle in turns, cos(2 pi x), exact at every quarter; x from -2^50 to 2^50. */
double pada_cos_turns(double x);

#ifdef __cplusplus
}
#endif
#endif
