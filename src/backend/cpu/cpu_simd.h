/* cpu_simd.h - one vector of floats, as wide as the instruction set this file is compiled for.
 *
 * Every kernel source is compiled once per instruction set with PADA_CPU_ISA set to avx512, avx2,
 * fma or plain; PADA_ISA(x) gives its exported names a suffix. Vectors hold `VW` consecutive
 * channels; tensors are stored as
 *
 *   [ channel block | row | column | VW channels ]     channels padded with zeros to whole blocks
 *
 * so one vector is one pixel of one channel block.
 *
 * All sets give the same bits (docs/design/0012-same-bits.md): lanes never meet, vfma and vfnma
 * round once everywhere, and what is added over channels is added channel by channel, without the
 * channels of padding. */
#ifndef PADA_BACKEND_CPU_CPU_SIMD_H
#define PADA_BACKEND_CPU_CPU_SIMD_H

#include <stdint.h>

#define PADA_CAT_(a, b) a##_##b
#define PADA_CAT(a, b)  PADA_CAT_(a, b)
#define PADA_ISA(name)  PADA_CAT(name, PADA_CPU_ISA)

#define INLINE static inline __attribute__((always_inline))

/* clang-format off */
#if defined(__AVX512F__)
#include <immintrin.h>
#define VW 16
typedef __m512 vec;
INLINE vec vzero(void) { return _mm512_setzero_ps(); }
INLINE vec vset(float x) { return _mm512_set1_ps(x); }
INLINE vec vload(const float *p) { return _mm512_load_ps(p); }
INLINE void vstore(float *p, vec a) { _mm512_store_ps(p, a); }
INLINE vec vadd(vec a, vec b) { return _mm512_add_ps(a, b); }
INLINE vec vsub(vec a, vec b) { return _mm512_sub_ps(a, b); }
INLINE vec vmul(vec a, vec b) { return _mm512_mul_ps(a, b); }
INLINE vec vfma(vec a, vec b, vec c) { return _mm512_fmadd_ps(a, b, c); }   /* a b + c */
INLINE vec vfnma(vec a, vec b, vec c) { return _mm512_fnmadd_ps(a, b, c); } /* c - a b */
INLINE vec vmax(vec a, vec b) { return _mm512_max_ps(a, b); } /* b where one is NaN; so does vmin */
INLINE vec vmin(vec a, vec b) { return _mm512_min_ps(a, b); }
typedef __mmask16 vmask;
INLINE vmask vmask_all(void) { return 0xffff; }
INLINE vmask vequal(vec a, vec b) { return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ); }
INLINE vmask vboth(vmask a, vmask b) { return a & b; }
INLINE vmask vbut_not(vmask a, vmask b) { return a & (vmask)~b; }
INLINE vec vkeep(vmask m, vec a) { return _mm512_maskz_mov_ps(m, a); } /* a where m is set, else 0 */
/* The larger one, or NaN if there is one. */
INLINE vec vmax_nan(vec a, vec b) { return _mm512_mask_mov_ps(vmax(a, b), _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q), a); }
/* value where x > 0 (and x < limit), else 0 */
INLINE vec vgate(vec x, vec value)
{
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, vzero(), _CMP_GT_OQ), value);
}
INLINE vec vgate_below(vec x, vec limit, vec value)
{
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, limit, _CMP_LT_OQ), vgate(x, value));
}
#elif defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>
#define VW 8
typedef __m256 vec;
INLINE vec vzero(void) { return _mm256_setzero_ps(); }
INLINE vec vset(float x) { return _mm256_set1_ps(x); }
INLINE vec vload(const float *p) { return _mm256_load_ps(p); }
INLINE void vstore(float *p, vec a) { _mm256_store_ps(p, a); }
INLINE vec vadd(vec a, vec b) { return _mm256_add_ps(a, b); }
INLINE vec vsub(vec a, vec b) { return _mm256_sub_ps(a, b); }
INLINE vec vmul(vec a, vec b) { return _mm256_mul_ps(a, b); }
INLINE vec vfma(vec a, vec b, vec c) { return _mm256_fmadd_ps(a, b, c); }
INLINE vec vfnma(vec a, vec b, vec c) { return _mm256_fnmadd_ps(a, b, c); }
INLINE vec vmax(vec a, vec b) { return _mm256_max_ps(a, b); }
INLINE vec vmin(vec a, vec b) { return _mm256_min_ps(a, b); }
typedef __m256 vmask;
INLINE vmask vequal(vec a, vec b) { return _mm256_cmp_ps(a, b, _CMP_EQ_OQ); }
INLINE vmask vmask_all(void) { return vequal(vzero(), vzero()); }
INLINE vmask vboth(vmask a, vmask b) { return _mm256_and_ps(a, b); }
INLINE vmask vbut_not(vmask a, vmask b) { return _mm256_andnot_ps(b, a); }
INLINE vec vkeep(vmask m, vec a) { return _mm256_and_ps(m, a); }
INLINE vec vmax_nan(vec a, vec b) { return _mm256_blendv_ps(vmax(a, b), a, _mm256_cmp_ps(a, a, _CMP_UNORD_Q)); }
INLINE vec vgate(vec x, vec value) { return _mm256_and_ps(_mm256_cmp_ps(x, vzero(), _CMP_GT_OQ), value); }
INLINE vec vgate_below(vec x, vec limit, vec value)
{
    return _mm256_and_ps(_mm256_cmp_ps(x, limit, _CMP_LT_OQ), vgate(x, value));
}
#else
/* Plain C with the vectors of GCC and Clang, four floats on every machine. fmaf is one instruction in
 * the set `fma` and on other processors that have it, a function of the C library elsewhere. */
#include <math.h>
#define VW 4
typedef float vec __attribute__((vector_size(16), may_alias));
typedef int32_t vmask __attribute__((vector_size(16)));
INLINE vec vset(float x) { return (vec){x, x, x, x}; }
INLINE vec vzero(void) { return vset(0); }
INLINE vec vload(const float *p) { return *(const vec *)p; }
INLINE void vstore(float *p, vec a) { *(vec *)p = a; }
INLINE vec vadd(vec a, vec b) { return a + b; }
INLINE vec vsub(vec a, vec b) { return a - b; }
INLINE vec vmul(vec a, vec b) { return a * b; }
INLINE vec vfma(vec a, vec b, vec c)
{
    return (vec){fmaf(a[0], b[0], c[0]), fmaf(a[1], b[1], c[1]), fmaf(a[2], b[2], c[2]),
                 fmaf(a[3], b[3], c[3])};
}
INLINE vec vfnma(vec a, vec b, vec c) { return vfma(-a, b, c); }
/* a where the mask is set, else b */
INLINE vec vpick(vmask m, vec a, vec b) { return (vec)((m & (vmask)a) | (~m & (vmask)b)); }
INLINE vec vmax(vec a, vec b) { return vpick(a > b, a, b); }
INLINE vec vmin(vec a, vec b) { return vpick(a < b, a, b); }
INLINE vmask vequal(vec a, vec b) { return a == b; }
INLINE vmask vmask_all(void) { return vequal(vzero(), vzero()); }
INLINE vmask vboth(vmask a, vmask b) { return a & b; }
INLINE vmask vbut_not(vmask a, vmask b) { return a & ~b; }
INLINE vec vkeep(vmask m, vec a) { return vpick(m, a, vzero()); }
INLINE vec vmax_nan(vec a, vec b) { return vpick((a > b) | (a != a), a, b); }
INLINE vec vgate(vec x, vec value) { return vpick(x > vzero(), value, vzero()); }
INLINE vec vgate_below(vec x, vec limit, vec value)
{
    return vpick((x > vzero()) & (x < limit), value, vzero());
}
#endif
/* clang-format on */

INLINE int blocks(int channels)
{
    return (channels + VW - 1) / VW;
}

/* Channels in the last block. */
INLINE int last_lanes(int channels)
{
    return channels - (blocks(channels) - 1) * VW;
}

/* Floats from one vector of per-channel numbers to the next: whole cache lines for every width. */
INLINE int64_t channel_floats(int channels)
{
    return (channels + 15) / 16 * 16;
}

#endif
