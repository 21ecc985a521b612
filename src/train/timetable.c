/* timetable.c - which supernet a run works on in which epoch. */
#include "train/timetable.h"

static void get_phase(const pada_timetable *t, int phase, pada_phase *out)
{
    if (t->ops)
        t->ops->get(t->strategy, phase, out);
    else
        *out = (pada_phase){.parent = PADA_FRESH,
                            .n_epochs = t->one_epochs,
                            .lr_epochs = t->one_epochs,
                            .final = true};
}

static int probe_epochs(const pada_timetable *t, const pada_phase *phase)
{
    return (phase->n_probes + t->probe_steps - 1) / t->probe_steps;
}

pada_status pada_timetable_init(pada_timetable *t, const pada_strategy_ops *ops,
                                const void *strategy, const pada_strategy_env *env)
{
    int64_t n_epochs = 0;

    *t = (pada_timetable){.ops = ops->phases,
                          .strategy = strategy,
                          .one_epochs = env->n_epochs,
                          .n_phases = ops->phases ? ops->phases->count(strategy) : 1,
                          .train_steps = pada_strategy_steps(env),
                          .probe_steps = env->n_images / env->batch_size};
    for (int i = 0; i < t->n_phases; i++) {
        pada_phase phase;
        get_phase(t, i, &phase);
        PADA_ASSERT(phase.n_epochs > 0 && phase.parent < i);
        n_epochs += phase.n_epochs + probe_epochs(t, &phase);
        t->n_steps += (int64_t)phase.n_epochs * t->train_steps + phase.n_probes;
    }
    if (n_epochs > INT32_MAX)
        return PADA_FAIL(PADA_EINVAL, "%d supernets in %lld epochs are more than can be counted",
                         t->n_phases, (long long)n_epochs);
    t->n_epochs = (int)n_epochs;
    return PADA_OK;
}

void pada_timetable_find(const pada_timetable *t, int epoch, pada_timetable_entry *out)
{
    int64_t steps = 0, trained = 0; /* before the phase */
    int first = 0, n_probe_epochs;  /* epochs before the phase */

    PADA_ASSERT(epoch >= 0 && epoch < t->n_epochs);
    *out = (pada_timetable_entry){0};
    for (;; out->phase++) {
        get_phase(t, out->phase, &out->what);
        n_probe_epochs = probe_epochs(t, &out->what);
        if (epoch < first + out->what.n_epochs + n_probe_epochs) break;
        first += out->what.n_epochs + n_probe_epochs;
        steps += (int64_t)out->what.n_epochs * t->train_steps + out->what.n_probes;
        trained += (int64_t)out->what.n_epochs * t->train_steps;
    }
    const int n_epochs = out->what.n_epochs;
    out->epoch = epoch - first;
    out->first = out->epoch == 0;
    out->last = out->epoch == n_epochs + n_probe_epochs - 1;
    out->probes = out->epoch >= n_epochs;
    if (!out->probes) {
        out->n_steps = t->train_steps;
        out->first_step = steps + (int64_t)out->epoch * t->train_steps;
        out->train_steps = trained + (int64_t)(out->epoch + 1) * t->train_steps;
        return;
    }
    const int before = (out->epoch - n_epochs) * t->probe_steps, left = out->what.n_probes - before;
    out->n_steps = left < t->probe_steps ? left : t->probe_steps;
    out->first_step = steps + (int64_t)n_epochs * t->train_steps + before;
    out->train_steps = trained + (int64_t)n_epochs * t->train_steps;
}
