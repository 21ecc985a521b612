/* cuda_mma.cuh - what the fast kernels do beyond plain CUDA C: operations of a whole warp, packed
 * bfloat16, fixed-point sums.
 *
 * Each exists twice: as instructions for the device, and for tests/cuda/emulate, where the lanes of a
 * warp meet and exchange operands. Fragments are those of mma.m16n8k16; with g = lane / 4 and
 * q = lane % 4 a lane holds
 *
 *   a[0] A[g][2q..]  a[1] A[g+8][2q..]  a[2] A[g][2q+8..]  a[3] A[g+8][2q+8..]   pairs of bfloat16
 *   b0   B[2q..][g]  b1   B[2q+8..][g]                                           pairs of bfloat16
 *   c[0] C[g][2q]    c[1] C[g][2q+1]    c[2] C[g+8][2q]    c[3] C[g+8][2q+1]     float
 */
#ifndef PADA_BACKEND_CUDA_CUDA_MMA_CUH
#define PADA_BACKEND_CUDA_CUDA_MMA_CUH

#include "backend/cuda/cuda_math.cuh"

/* ---- packed bfloat16 ---- */

static __device__ __forceinline__ float cuda_low(uint32_t pair)
{
    return cuda_widen((uint16_t)pair);
}

static __device__ __forceinline__ float cuda_high(uint32_t pair)
{
    return cuda_widen((uint16_t)(pair >> 16));
}

static __device__ __forceinline__ void cuda_unpack8(uint4 u, float f[8])
{
    f[0] = cuda_low(u.x), f[1] = cuda_high(u.x), f[2] = cuda_low(u.y), f[3] = cuda_high(u.y);
    f[4] = cuda_low(u.z), f[5] = cuda_high(u.z), f[6] = cuda_low(u.w), f[7] = cuda_high(u.w);
}

#ifdef __CUDACC__

/* Devices before 8.0 have no bfloat16, and backends that need it are not opened there (cuda_backend.c): their
 * kernels are compiled, and never run. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800

static __device__ __forceinline__ uint32_t cuda_pair(float, float)
{
    __trap();
    return 0;
}

static __device__ __forceinline__ uint32_t cuda_relu2(uint32_t)
{
    __trap();
    return 0;
}

static __device__ __forceinline__ uint32_t cuda_max2(uint32_t, uint32_t)
{
    __trap();
    return 0;
}

static __device__ __forceinline__ uint32_t cuda_order2(uint32_t, uint32_t)
{
    __trap();
    return 0;
}

static __device__ __forceinline__ void cuda_mma(float[4], const uint32_t[4], uint32_t, uint32_t)
{
    __trap();
}

#else

static __device__ __forceinline__ uint32_t cuda_pair(float low, float high)
{
    uint32_t pair;

    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
}

static __device__ __forceinline__ uint32_t cuda_relu2(uint32_t pair) /* keeps NaN */
{
    uint32_t positive;

    asm("max.NaN.bf16x2 %0, %1, %2;" : "=r"(positive) : "r"(pair), "r"(0));
    return positive;
}

static __device__ __forceinline__ uint32_t cuda_max2(uint32_t a, uint32_t b) /* keeps NaN */
{
    uint32_t larger;

    asm("max.NaN.bf16x2 %0, %1, %2;" : "=r"(larger) : "r"(a), "r"(b));
    return larger;
}

/* x times a sign, which is 1, -1 or 0, as integers of 16 bits that have the order of the numbers: equal zeros, and
 * every NaN as 0x7fff. */
static __device__ __forceinline__ uint32_t cuda_order2(uint32_t x, uint32_t sign)
{
    uint32_t signs;

    asm("fma.rn.bf16x2 %0, %0, %1, %2;" : "+r"(x) : "r"(sign), "r"(0));
    asm("prmt.b32 %0, %1, %1, 0xbb99;" : "=r"(signs) : "r"(x)); /* 0xffff where it is negative */
    return x ^ (signs & 0x7fff7fffu);
}

/* c += a b */
static __device__ __forceinline__ void cuda_mma(float c[4], const uint32_t a[4], uint32_t b0,
                                                uint32_t b1)
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

#endif

/* ---- warps ---- */

static __device__ __forceinline__ uint32_t cuda_shared_address(const void *shared)
{
    return (uint32_t)__cvta_generic_to_shared(shared);
}

/* Four 8x8 matrices of 16-bit elements: lane l gives the address of row l % 8 of matrix l / 8 and gets
 * the pair at row lane / 4, columns 2q, 2q + 1 of each. */
static __device__ __forceinline__ void cuda_load_matrices(uint32_t m[4], uint32_t address)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
                 : "r"(address)
                 : "memory");
}

/* The same of the transposed matrices. */
static __device__ __forceinline__ void cuda_load_transposed(uint32_t m[4], uint32_t address)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
                 : "r"(address)
                 : "memory");
}

/* Barrier `id`, 1 to 15, of `threads` threads, whole warps: waits for the others, or only lets them know. */
static __device__ __forceinline__ void cuda_wait(int id, int threads)
{
    asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

static __device__ __forceinline__ void cuda_arrive(int id, int threads)
{
    asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

static __device__ __forceinline__ float cuda_exchange(float x, int mask)
{
    return __shfl_xor_sync(~0u, x, mask);
}

/* ---- memory ---- */

#define CUDA_DYNAMIC_SHARED(name) extern __shared__ __align__(128) char name[]

/* A pointer to memory of the device that came from somewhere else, so that the compiler does not know it as one: accesses
 * are shorter, and atomic ones need no way through shared memory. */
template <typename T> static __device__ __forceinline__ T *cuda_global(T *pointer)
{
    __builtin_assume(__isGlobal(pointer));
    return pointer;
}

/* Any order of additions gives the same sum. */
static __device__ __forceinline__ void cuda_add_fixed(int64_t *sum, int64_t x)
{
    atomicAdd(cuda_global((unsigned long long *)sum), (unsigned long long)x);
}

/* Past the first cache, which may hold the line from before. */
static __device__ __forceinline__ int64_t cuda_load_fixed(const int64_t *sum)
{
    return __ldcg(sum);
}

/* One more; how many there were. */
static __device__ __forceinline__ int64_t cuda_count(int64_t *counter)
{
    return (int64_t)atomicAdd(cuda_global((unsigned long long *)counter), 1ull);
}

/* What this thread wrote before is seen before what it writes now. */
static __device__ __forceinline__ void cuda_fence(void)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 700
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
#else
    __threadfence();
#endif
}

/* 16 bytes to memory of the device, 16 or 8 to shared memory: at once, also where another way of an `if` writes the same place in
 * smaller pieces, which the compiler would make one with this. */
static __device__ __forceinline__ void cuda_store16(void *to, uint4 x)
{
    asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(x.x), "r"(x.y), "r"(x.z),
                 "r"(x.w)
                 : "memory");
}

static __device__ __forceinline__ void cuda_store_shared16(uint32_t shared, uint4 x)
{
    asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(shared), "r"(x.x), "r"(x.y),
                 "r"(x.z), "r"(x.w)
                 : "memory");
}

static __device__ __forceinline__ void cuda_store_shared8(uint32_t shared, uint32_t x, uint32_t y)
{
    asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(shared), "r"(x), "r"(y) : "memory");
}

/* Copies N bytes, 4, 8 or 16, to shared memory, while the thread goes on. Both addresses are multiples of N. What was copied
 * since the last end of a group is a group. */
template <int N>
static __device__ __forceinline__ void cuda_copy_ahead(uint32_t shared, const void *from)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
    if (N == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(from)
                     : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared), "l"(from), "n"(N)
                     : "memory");
#else
    __trap();
#endif
}

static __device__ __forceinline__ void cuda_end_copies(void)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/* Waits for all groups of this thread but the last one. */
static __device__ __forceinline__ void cuda_wait_copies(void)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group 1;" ::: "memory");
#endif
}

/* Waits for all copies of this thread. */
static __device__ __forceinline__ void cuda_wait_all_copies(void)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

#else

static inline uint32_t cuda_pair(float low, float high)
{
    return cuda_narrow(low) | (uint32_t)cuda_narrow(high) << 16;
}

static inline uint32_t cuda_relu2(uint32_t pair)
{
    const float low = cuda_low(pair), high = cuda_high(pair);

    return (low <= 0 ? 0 : pair & 0xffffu) | (high <= 0 ? 0 : pair & 0xffff0000u);
}

static inline uint32_t cuda_max2(uint32_t a, uint32_t b)
{
    const float low = cuda_low(a), high = cuda_high(a);

    return (low > cuda_low(b) || low != low ? a & 0xffffu : b & 0xffffu) |
           (high > cuda_high(b) || high != high ? a & 0xffff0000u : b & 0xffff0000u);
}

static inline uint32_t cuda_order2(uint32_t x, uint32_t sign)
{
    x = cuda_pair(cuda_low(x) * cuda_low(sign) + 0, cuda_high(x) * cuda_high(sign) + 0);
    return x ^ (x >> 15 & 0x10001u) * 0x7fffu;
}

static inline uint32_t cuda_shared_address(const void *shared)
{
    return (uint32_t)((const char *)shared - emulate_shared());
}

static inline void cuda_wait(int id, int threads)
{
    emulate_barrier(id, threads, true);
}

static inline void cuda_arrive(int id, int threads)
{
    emulate_barrier(id, threads, false);
}

static inline unsigned emulated_lane(void)
{
    return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32;
}

static inline uint16_t emulated_element(const uint32_t *lanes, unsigned matrix, unsigned row,
                                        unsigned column)
{
    const uint32_t address = lanes[(8 * matrix + row) * EMULATE_WORDS];
    uint16_t element;

    emulate_check_row(address);
    memcpy(&element, emulate_shared() + address + 2 * column, sizeof element);
    return element;
}

static inline void cuda_load_matrices(uint32_t m[4], uint32_t address)
{
    const unsigned g = emulated_lane() / 4, q = emulated_lane() % 4;
    const uint32_t *lanes = emulate_meet(&address, 1);

    for (unsigned k = 0; k < 4; k++)
        m[k] = emulated_element(lanes, k, g, 2 * q) |
               (uint32_t)emulated_element(lanes, k, g, 2 * q + 1) << 16;
}

static inline void cuda_load_transposed(uint32_t m[4], uint32_t address)
{
    const unsigned g = emulated_lane() / 4, q = emulated_lane() % 4;
    const uint32_t *lanes = emulate_meet(&address, 1);

    for (unsigned k = 0; k < 4; k++)
        m[k] = emulated_element(lanes, k, 2 * q, g) |
               (uint32_t)emulated_element(lanes, k, 2 * q + 1, g) << 16;
}

static inline void cuda_mma(float c[4], const uint32_t a[4], uint32_t b0, uint32_t b1)
{
    const unsigned g = emulated_lane() / 4, q = emulated_lane() % 4;
    const uint32_t mine[6] = {a[0], a[1], a[2], a[3], b0, b1};
    const uint32_t *lanes = emulate_meet(mine, 6);

    for (unsigned k = 0; k < 4; k++) {
        const unsigned row = k / 2, n = 2 * q + k % 2; /* row: g + 8 row */
        float sum = 0;
        for (unsigned i = 0; i < 16; i++) {
            const uint32_t *from_a = lanes + (4 * g + i % 8 / 2) * EMULATE_WORDS;
            const uint32_t *from_b = lanes + (4 * n + i % 8 / 2) * EMULATE_WORDS;
            const uint32_t pa = from_a[row + 2 * (i / 8)], pb = from_b[4 + i / 8];
            sum += i % 2 ? cuda_high(pa) * cuda_high(pb) : cuda_low(pa) * cuda_low(pb);
        }
        c[k] += sum;
    }
}

static inline float cuda_exchange(float x, int mask)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    const unsigned other = emulated_lane() ^ (unsigned)mask;
    bits = emulate_meet(&bits, 1)[other * EMULATE_WORDS];
    memcpy(&x, &bits, sizeof bits);
    return x;
}

#define CUDA_DYNAMIC_SHARED(name) char *const name = emulate_shared()

template <typename T> static inline T *cuda_global(T *pointer)
{
    return pointer;
}

static inline void cuda_add_fixed(int64_t *sum, int64_t x)
{
    *sum = (int64_t)((uint64_t)*sum + (uint64_t)x);
}

static inline int64_t cuda_load_fixed(const int64_t *sum)
{
    return *sum;
}

static inline int64_t cuda_count(int64_t *counter)
{
    return (*counter)++;
}

static inline void cuda_fence(void)
{
}

static inline void cuda_store16(void *to, uint4 x)
{
    memcpy(to, &x, sizeof x);
}

static inline void cuda_store_shared16(uint32_t shared, uint4 x)
{
    memcpy(emulate_shared() + shared, &x, sizeof x);
}

static inline void cuda_store_shared8(uint32_t shared, uint32_t x, uint32_t y)
{
    const uint32_t both[2] = {x, y};

    memcpy(emulate_shared() + shared, both, sizeof both);
}

template <int N> static inline void cuda_copy_ahead(uint32_t shared, const void *from)
{
    memcpy(emulate_shared() + shared, from, N);
}

static inline void cuda_end_copies(void)
{
}

static inline void cuda_wait_copies(void)
{
}

static inline void cuda_wait_all_copies(void)
{
}

#endif

/* Sums over the rows of an accumulator, for every lane of the column: both sums of columns 2q, 2q + 1 of N tiles. */
template <int N>
static __device__ __forceinline__ void cuda_sum_rows(float (&first)[N][2], float (&second)[N][2])
{
#pragma unroll
    for (int mask = 4; mask < 32; mask *= 2)
#pragma unroll
        for (int n = 0; n < N; n++)
#pragma unroll
            for (int b = 0; b < 2; b++) {
                first[n][b] += cuda_exchange(first[n][b], mask);
                second[n][b] += cuda_exchange(second[n][b], mask);
            }
}

/* ---- sums in fixed point ----
 *
 * Blocks add their shares of a sum over the batch as integers, so that the order does not matter. A sum
 * has four integers with ever larger units, 2^-40, 2^-8, 2^24 and 2^56, and a share goes to the finest
 * one that holds it: it is exact to 2^-22 or better, from 2^-40 up to where float32 ends. (Deep paths of
 * skips have values of 10^9 and more.) NaN and infinity spoil the sums for good: they are NaN when they
 * are read, and so is the loss. A vector of sums is
 *
 *   [ unit 0: channel 0: first, second | channel 1: .. | unit 1: .. | ... | how many overflowed or were NaN ]
 */

/* Adds this block's share of sum i (channel i / 2). */
static __device__ __forceinline__ void cuda_add_share(int64_t *sums, int channels, int i,
                                                      float share)
{
    float scale = 0x1p40f;

    for (int unit = 0; unit < CUDA_UNITS; unit++, scale *= 0x1p-32f)
        if (fabsf(share * scale) < 0x1p62f / (float)gridDim.x) {
            cuda_add_fixed(sums + unit * 2 * channels + i, (int64_t)rintf(share * scale));
            return;
        }
    cuda_add_fixed(sums + CUDA_UNITS * 2 * channels, 1);
}

static __device__ __forceinline__ double cuda_read_sum(const int64_t *sums, int channels, int i)
{
    double sum = 0;

    for (int unit = CUDA_UNITS - 1; unit >= 0; unit--)
        sum = sum * 0x1p32 + (double)cuda_load_fixed(sums + unit * 2 * channels + i);
    return cuda_load_fixed(sums + CUDA_UNITS * 2 * channels) == 0 ? sum * 0x1p-40 : (double)NAN;
}

/* Batch norm of one channel: from its sums, or as it was worked out before. */
static __device__ __forceinline__ void cuda_read_moments(const cuda_moments *m, int channels, int c,
                                                         double count, double *mean, double *rstd)
{
    if (!m->sums) {
        *mean = m->mean[c];
        *rstd = m->rstd[c];
        return;
    }
    const double sum = cuda_read_sum(m->sums, channels, 2 * c);
    const double squares = cuda_read_sum(m->sums, channels, 2 * c + 1);
    const double share = 1 / count, average = sum * share;
    const double variance = squares * share - average * average;
    *mean = average;
    *rstd = rsqrt((variance < 0 ? 0 : variance) + m->epsilon);
}

/* dz = a dy + b z + c of one channel. */
static __device__ __forceinline__ void cuda_read_slopes(const cuda_slopes *s, int channels, int c,
                                                        double count, float abc[3])
{
    double mean, rstd;

    if (!s->sums) {
        for (int k = 0; k < 3; k++)
            abc[k] = s->coef[k * s->vector + c];
        return;
    }
    cuda_read_moments(&s->moments, channels, c, count, &mean, &rstd);
    const double sum = cuda_read_sum(s->sums, channels, 2 * c);
    const double product = cuda_read_sum(s->sums, channels, 2 * c + 1) - mean * sum;
    const double share = 1 / count, slope = rstd * rstd * rstd * product * share;
    const double scale = s->scale ? s->scale[c] : 1;
    abc[0] = (float)(scale * rstd);
    abc[1] = (float)(scale * -slope);
    abc[2] = (float)(scale * (slope * mean - rstd * sum * share));
}

#endif
