/* cpu_concat.c - channels of one tensor to and from a place among those of another. */
#include <string.h>

#include "backend/cpu/cpu_isa.h"

/* Floats before pixel 0 of a channel. */
static int64_t channel_at(int channel, int64_t plane)
{
    return channel / VW * plane * VW + channel % VW;
}

/* Whole blocks of n channels that lie on whole blocks of both tensors. */
static int whole_blocks(int first, int n)
{
    return first % VW == 0 ? n / VW : 0;
}

void PADA_ISA(pada_cpu_join)(const float *x, int n, pada_shape shape, int first, float *y)
{
    const int64_t plane = (int64_t)shape.h * shape.w;
    const int whole = whole_blocks(first, n);

    memcpy(y + channel_at(first, plane), x, (size_t)(whole * plane * VW) * sizeof *y);
    for (int c = whole * VW; c < n; c++) {
        const float *from = x + channel_at(c, plane);
        float *to = y + channel_at(first + c, plane);
        for (int64_t i = 0; i < plane; i++)
            to[i * VW] = from[i * VW];
    }
}

void PADA_ISA(pada_cpu_part)(const float *dy, pada_shape shape, int first, int n, bool accumulate,
                             float *dx)
{
    const int64_t plane = (int64_t)shape.h * shape.w;
    const int whole = whole_blocks(first, n);

    if (!accumulate && n % VW != 0)
        memset(dx + channel_at(n - n % VW, plane), 0, (size_t)(plane * VW) * sizeof *dx);
    for (int64_t i = 0; i < whole * plane * VW; i += VW) {
        const vec d = vload(dy + channel_at(first, plane) + i);
        vstore(dx + i, accumulate ? vadd(vload(dx + i), d) : d);
    }
    for (int c = whole * VW; c < n; c++) {
        const float *from = dy + channel_at(first + c, plane);
        float *to = dx + channel_at(c, plane);
        for (int64_t i = 0; i < plane; i++)
            to[i * VW] = accumulate ? to[i * VW] + from[i * VW] : from[i * VW];
    }
}
