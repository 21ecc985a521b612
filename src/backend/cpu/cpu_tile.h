/* cpu_tile.h - small matrix products in registers: the inner loop of the convolution kernels.
 *
 *   acc[i][k] += sum over blocks and steps of  a[i] (one float, broadcast)  *  b[k] (one vector)
 *
 * for i < rows and k < columns, both known to the compiler. rows * columns accumulators, `columns`
 * vectors of b and nothing else have to fit the registers: 8 x 2 or 16 x 1 with AVX-512, half of
 * that with AVX2. */
#ifndef PADA_BACKEND_CPU_CPU_TILE_H
#define PADA_BACKEND_CPU_CPU_TILE_H

#include "backend/cpu/cpu_simd.h"

enum {
    TILE_TALL = VW == 16 ? 16 : 8, /* rows with one column */
    TILE_PAIR = TILE_TALL / 2      /* rows with two columns */
};

typedef vec tile[TILE_TALL][2];

/* Where the operands of a product are: distances in floats. */
typedef struct tile_operands {
    const float *a, *b;
    int64_t a_row, a_step, a_block;
    int64_t b_column, b_step, b_block;
    int n_steps, n_last; /* steps of a block, and of the last one */
    int n_blocks;
} tile_operands;

INLINE void tile_fill(tile acc, vec value, const int rows, const int columns)
{
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 2
        for (int k = 0; k < columns; k++)
            acc[i][k] = value;
}

INLINE void tile_load(tile acc, const float *c, int64_t row, int64_t column, const int rows,
                      const int columns)
{
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 2
        for (int k = 0; k < columns; k++)
            acc[i][k] = vload(c + i * row + k * column);
}

INLINE void tile_store(tile acc, float *c, int64_t row, int64_t column, const int rows,
                       const int columns)
{
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 2
        for (int k = 0; k < columns; k++)
            vstore(c + i * row + k * column, acc[i][k]);
}

/* `n_steps` steps of one block. */
INLINE void tile_block(tile acc, const tile_operands *p, const float *a, const float *b,
                       const int n_steps, const int rows, const int columns)
{
    for (int t = 0; t < n_steps; t++, a += p->a_step, b += p->b_step) {
        vec v[2];
#pragma GCC unroll 2
        for (int k = 0; k < columns; k++)
            v[k] = vload(b + k * p->b_column);
#pragma GCC unroll 16
        for (int i = 0; i < rows; i++) {
            const vec s = vset(a[i * p->a_row]);
#pragma GCC unroll 2
            for (int k = 0; k < columns; k++)
                acc[i][k] = vfma(s, v[k], acc[i][k]);
        }
    }
}

/* Whole blocks have a number of steps that the compiler knows; only a last one that is not whole has not. */
INLINE void tile_product(tile acc, const tile_operands *p, const int rows, const int columns)
{
    const int whole = p->n_last == p->n_steps ? p->n_blocks : p->n_blocks - 1;

    for (int block = 0; block < whole; block++)
        tile_block(acc, p, p->a + block * p->a_block, p->b + block * p->b_block, p->n_steps, rows,
                   columns);
    if (whole < p->n_blocks)
        tile_block(acc, p, p->a + whole * p->a_block, p->b + whole * p->b_block, p->n_last, rows,
                   columns);
}

#endif
