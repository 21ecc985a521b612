/* cpu_gate.c - act(x) times the sigmoid of one number per channel, and its gradients. */
#include "backend/cpu/cpu_isa.h"
#include "backend/cpu/cpu_prepare.h"
#include "base/elementary.h"

/* Sigmoids of one block of s; zeros past its end. */
static vec load_factors(const float *s, int channels, int block)
{
    float factors[VW] __attribute__((aligned(64))) = {0};

    for (int c = 0; c < VW && block * VW + c < channels; c++)
        factors[c] = (float)(1 / (1 + pada_exp(-s[block * VW + c])));
    return vload(factors);
}

void PADA_ISA(pada_cpu_gate)(const cpu_gate_job *job)
{
    const int64_t plane = (int64_t)job->shape.h * job->shape.w * VW;

    for (int b = 0; b < blocks(job->shape.c); b++) {
        const vec factor = load_factors(job->s, job->shape.c, b);
        for (int64_t i = b * plane; i < (b + 1) * plane; i += VW)
            vstore(job->y + i, vmul(activate(job->act, vload(job->x + i)), factor));
    }
}

void PADA_ISA(pada_cpu_gate_grad)(const cpu_gate_job *job)
{
    const int64_t plane = (int64_t)job->shape.h * job->shape.w * VW;

    for (int b = 0; b < blocks(job->shape.c); b++) {
        const vec factor = load_factors(job->s, job->shape.c, b);
        const vec slope = vmul(factor, vsub(vset(1), factor));
        vec sum = vzero();
        for (int64_t i = b * plane; i < (b + 1) * plane; i += VW) {
            const vec x = vload(job->x + i), dy = vload(job->dy + i);
            const vec d = activate_grad(job->act, x, vmul(dy, factor));
            sum = vfma(dy, activate(job->act, x), sum);
            vstore(job->dx + i, job->add_x ? vadd(vload(job->dx + i), d) : d);
        }
        const vec d = vmul(sum, slope);
        vstore(job->ds + b * VW, job->add_s ? vadd(vload(job->ds + b * VW), d) : d);
    }
}
