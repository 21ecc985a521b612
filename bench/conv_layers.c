/* conv_layers.c - time and bandwidth of single convolutions on one thread of the cpu backend.
 *
 *   ninja -C build/release conv_layers && build/release/conv_layers avx512|avx2|fma|plain
 *
 * Every kernel of the set that takes a layer runs it, the one that is chosen first; GB/s count what a layer has to read and
 * write at least: forward x and z; backward x, dy, z and dx. The first line is the bandwidth of a copy. Time is the
 * processor's, the least of several runs: other work on the machine disturbs it only through the caches. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backend/cpu/cpu_kernels.h"
#include "base/mem.h"

enum { IMAGES = 64, REPEATS = 7 };

typedef struct layer {
    int channels_in, channels_out, size, kernel, stride, dilation;
} layer;

static const layer layers[] = {
    {96, 96, 32, 3, 1, 1},   {96, 96, 32, 5, 1, 1},   {96, 96, 32, 7, 1, 1},
    {96, 96, 32, 5, 2, 1},   {16, 16, 32, 3, 1, 2},   {16, 16, 32, 5, 1, 2},
    {64, 64, 8, 5, 1, 1},    {144, 144, 56, 5, 1, 1}, {96, 24, 32, 1, 1, 1},
    {24, 144, 32, 1, 1, 1},  {36, 36, 32, 1, 1, 1},   {16, 16, 32, 1, 1, 1},
    {32, 192, 32, 1, 1, 1},  {192, 64, 16, 1, 1, 1},  {128, 768, 8, 1, 1, 1},
    {768, 128, 8, 1, 1, 1},  {256, 1536, 4, 1, 1, 1}, {1536, 256, 4, 1, 1, 1},
    {256, 1280, 4, 1, 1, 1},
};

static float *numbers(int64_t n)
{
    void *memory;

    if (pada_alloc_aligned(&memory, (size_t)n * sizeof(float)) != PADA_OK) exit(1);
    for (int64_t i = 0; i < n; i++)
        ((float *)memory)[i] = (float)(i * 37 % 101) / 50 - 1;
    return memory;
}

static double least(void (*run)(void *), void *with)
{
    double best = 1e30;

    for (int i = 0; i < REPEATS; i++) {
        const clock_t start = clock();
        run(with);
        const double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
        if (seconds < best) best = seconds;
    }
    return best;
}

typedef struct copy {
    float *to, *from;
    size_t bytes;
} copy;

static void run_copy(void *with)
{
    const copy *c = with;

    memcpy(c->to, c->from, c->bytes);
}

typedef struct pass {
    const cpu_conv_kernel *kernel;
    cpu_conv_job job;
} pass;

/* One image at a time, as stages run. */
static void run_pass(void *with, bool backward)
{
    const pass *p = with;

    for (int n = 0; n < IMAGES; n++) {
        cpu_conv_job job = p->job;
        job.x.data += n * job.x.stride;
        job.z.data += n * job.z.stride;
        job.dy.data += n * job.dy.stride;
        job.dx.data += n * job.dx.stride;
        backward ? p->kernel->backward(&job) : p->kernel->forward(&job);
    }
}

static void run_forward(void *with)
{
    run_pass(with, false);
}

static void run_backward(void *with)
{
    run_pass(with, true);
}

static void measure(const cpu_kernels *set, const cpu_conv_kernel *kernel, const pada_conv *conv,
                    pada_shape in, pada_shape out)
{
    const int64_t x = (int64_t)(in.c + set->width - 1) / set->width * set->width * in.h * in.w;
    const int64_t z = (int64_t)(out.c + set->width - 1) / set->width * set->width * out.h * out.w;
    pass p = {.kernel = kernel,
              .job = {.conv = conv, .in = in, .out = out, .n_images = 1, .accumulate = false}};
    float *weight = numbers(pada_conv_weights(conv));
    float *forward = numbers(kernel->weight_floats(conv, false));
    float *backward = numbers(kernel->weight_floats(conv, true));

    kernel->pack(conv, weight, false, forward);
    kernel->pack(conv, weight, true, backward);
    p.job.x = (cpu_tensor){numbers(IMAGES * x), x};
    p.job.z = (cpu_tensor){numbers(IMAGES * z), z};
    p.job.dy = (cpu_tensor){numbers(IMAGES * z), z};
    p.job.dx = (cpu_tensor){numbers(IMAGES * x), x};
    p.job.coef = numbers(3 * ((out.c + 15) / 16 * 16));
    p.job.grad_weight = numbers(kernel->accumulator_floats(conv));
    p.job.scratch = numbers(kernel->scratch_floats(conv, in, out, 1));
    p.job.weight = forward;
    const double there = least(run_forward, &p);
    p.job.weight = backward;
    const double back = least(run_backward, &p);
    const double macs = (double)pada_conv_macs(conv, out) * IMAGES;
    printf(
        "%-10s %3d->%3d %2dx%-2d %dx%d s%d d%d  forward %7.2f ms %6.1f GB/s %6.1f GMAC/s   backward %7.2f ms "
        "%6.1f GB/s %6.1f GMAC/s\n",
        kernel->name, in.c, out.c, in.h, in.w, conv->kernel, conv->kernel, conv->stride,
        conv->dilation, 1e3 * there, 4e-9 * IMAGES * (double)(x + z) / there, 1e-9 * macs / there,
        1e3 * back, 4e-9 * IMAGES * (double)(2 * x + 2 * z) / back, 2e-9 * macs / back);
    float *all[] = {weight,
                    forward,
                    backward,
                    p.job.x.data,
                    p.job.z.data,
                    p.job.dy.data,
                    p.job.dx.data,
                    (float *)p.job.coef,
                    p.job.grad_weight,
                    p.job.scratch};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        pada_free(all[i]);
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "plain";
    const cpu_kernels *const sets[] = {
#if defined(__x86_64__)
        &pada_cpu_kernels_avx512,
        &pada_cpu_kernels_avx2,
        &pada_cpu_kernels_fma,
#endif
        &pada_cpu_kernels_plain
    };
    copy c = {numbers(1 << 26), numbers(1 << 26), sizeof(float) << 26};

    printf("copy: %.1f GB/s read and written\n", 2e-9 * (double)c.bytes / least(run_copy, &c));
    pada_free(c.to);
    pada_free(c.from);
    for (size_t s = 0; s < sizeof sets / sizeof *sets; s++)
        for (size_t i = 0; i < sizeof layers / sizeof *layers && strcmp(sets[s]->name, name) == 0;
             i++) {
            const layer *l = &layers[i];
            const pada_shape in = {l->channels_in, l->size, l->size};
            pada_conv conv = pada_conv_make(in.c, l->channels_out, l->kernel, l->stride,
                                            l->kernel / 2 * l->dilation, PADA_ACT_RELU);
            pada_shape out;
            conv.dilation = l->dilation;
            if (l->kernel > 1) conv.groups = in.c;
            if (pada_conv_shape(&conv, in, &out) != PADA_OK) return 1;
            for (const cpu_conv_kernel *const *k = sets[s]->convs; *k; k++)
                if ((*k)->fits(&conv, false)) measure(sets[s], *k, &conv, in, out);
        }
    return 0;
}
