/* path_sampler.c - random paths: a distribution over the choices of every slot. */
#include "sampler/path_sampler.h"

#include "base/elementary.h"

#define MAX_TRIES 1000 /* a distribution may have next to no live path */

static int n_choices(const pada_path_sampler *s, int slot)
{
    return s->space->ops->n_choices(s->space, slot);
}

void pada_path_sampler_init(pada_path_sampler *s, const pada_space *space)
{
    pada_subspace all;

    *s = (pada_path_sampler){.space = space};
    pada_subspace_init(&all, space);
    pada_path_sampler_restrict(s, &all);
}

void pada_path_sampler_restrict(pada_path_sampler *s, const pada_subspace *within)
{
    PADA_ASSERT(pada_subspace_is_valid(within, s->space));
    s->within = *within;
    for (int slot = 0; slot < s->space->ops->n_slots; slot++) {
        const int n = pada_subspace_choices(within, slot);
        for (int c = 0; c < n_choices(s, slot); c++)
            s->p[slot][c] = within->allowed[slot] >> c & 1 ? 1.0 / n : 0;
    }
}

static int draw_choice(const double *p, int n, pada_rng *rng)
{
    double left = pada_rng_uniform(rng);
    int last = 0;

    /* The last choice that is possible takes what rounding leaves. */
    for (int c = 0; c < n; c++) {
        if (p[c] <= 0) continue;
        if (left < p[c]) return c;
        left -= p[c];
        last = c;
    }
    return last;
}

void pada_path_sampler_draw(const pada_path_sampler *s, uint64_t seed, int64_t step, bool skip_dead,
                            pada_path *path)
{
    const pada_space_ops *ops = s->space->ops;
    pada_rng rng;

    pada_rng_init(&rng, seed, "path", (uint64_t)step);
    for (int tries = 0; tries < MAX_TRIES; tries++) {
        *path = (pada_path){{0}};
        for (int slot = 0; slot < ops->n_slots; slot++)
            path->choice[slot] = (uint8_t)draw_choice(s->p[slot], n_choices(s, slot), &rng);
        pada_path_settle(s->space, path);
        if (!skip_dead || !ops->dead || !ops->dead(s->space, path)) return;
    }
}

double pada_path_sampler_ratio(const pada_path_sampler *s, const pada_path *path)
{
    double ratio = 1;

    for (int slot = 0; slot < s->space->ops->n_slots; slot++)
        if (pada_path_takes(s->space, path, slot))
            ratio /= pada_subspace_choices(&s->within, slot) * s->p[slot][path->choice[slot]];
    return ratio;
}

double pada_path_sampler_entropy(const pada_path_sampler *s)
{
    const int n_slots = s->space->ops->n_slots;
    double mean = 0;

    for (int slot = 0; slot < n_slots; slot++) {
        const int n = pada_subspace_choices(&s->within, slot);
        double entropy = 0;
        for (int c = 0; c < n_choices(s, slot); c++)
            if (s->p[slot][c] > 0) entropy -= s->p[slot][c] * pada_ln(s->p[slot][c]);
        mean += n > 1 ? entropy / pada_ln(n) : 1;
    }
    return mean / n_slots;
}
