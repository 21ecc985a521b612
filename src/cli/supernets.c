/* supernets.c - one supernet or several that judge the same networks together. */
#include "cli/supernets.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"

#define SCORES "scores"

const pada_opt pada_combine_options[] = {
    {.name = "by",
     .type = PADA_OPT_CHOICE,
     .offset = offsetof(pada_combine_args, by),
     .default_value = "accuracy",
     .choices = PADA_JUDGEMENT_CHOICES,
     .help = "score of a network: accuracy, loss, or how far labels are ahead of other classes"},
    {.name = "views",
     .type = PADA_OPT_INT,
     .offset = offsetof(pada_combine_args, views),
     .default_value = "1",
     .min = 1,
     .max = 2,
     .meta = "N",
     .help = "of each image: 2 adds its mirror image, and means of logits count"},
    {.name = "combine",
     .type = PADA_OPT_CHOICE,
     .offset = offsetof(pada_combine_args, combine),
     .default_value = "accuracy",
     .choices = PADA_COMBINE_CHOICES,
     .help =
         "mean over several runs: of the scores of --by, ranks, or deviations from the run's mean"},
    {.name = "prior",
     .type = PADA_OPT_STRING,
     .offset = offsetof(pada_combine_args, prior),
     .meta = "NAME:W",
     .help = "score networks by the rank of that and W times the rank of a baseline: "
             "macs:0.3, or macs:auto"},
    {.name = NULL},
};

/* ---- whether they belong together ---- */

/* Whether their networks, each trained alone, have the same sizes. */
static pada_status check_size(const pada_judge *judge, const pada_judge *first)
{
    const pada_space *mine = &judge->net.space, *its = &first->net.space;
    pada_cost a, b;
    pada_path path;

    for (int i = 0; pada_space_extreme(its, i, &path); i++) {
        pada_space_cost(mine, &path, &a);
        pada_space_cost(its, &path, &b);
        if (a.macs != b.macs || a.params != b.params)
            return PADA_FAIL(PADA_EINVAL,
                             "%s and %s have networks of different sizes: %" PRId64 " and %" PRId64
                             " parameters",
                             judge->run, first->run, a.params, b.params);
    }
    return PADA_OK;
}

static pada_status check_pair(const pada_judge *judge, const pada_judge *first)
{
    if (judge->net.space.ops != first->net.space.ops)
        return PADA_FAIL(PADA_EINVAL, "%s is of space %s, but %s of %s", judge->run,
                         judge->net.space.ops->name, first->run, first->net.space.ops->name);
    PADA_TRY(
        pada_data_card_check_same(&first->net.images, &judge->net.images, first->run, judge->run));
    if (judge->net.split != first->net.split)
        return PADA_FAIL(PADA_EINVAL, "%s would be judged by %s images, but %s by %s", judge->run,
                         pada_split_name(judge->net.split), first->run,
                         pada_split_name(first->net.split));
    if (judge->net.is_narrow != first->net.is_narrow ||
        (judge->net.is_narrow &&
         memcmp(&judge->net.within, &first->net.within, sizeof first->net.within) != 0))
        return PADA_FAIL(PADA_EINVAL, "%s and %s were not trained with the same --ops", judge->run,
                         first->run);
    return check_size(judge, first);
}

/* ---- opening ---- */

static pada_status open_judge(pada_judge *judge, const pada_run_args *args,
                              const pada_options *options, const char *run, bool locks)
{
    judge->run = run;
    if (locks && run && pada_path_is_dir(run)) PADA_TRY(pada_run_lock_take(&judge->lock, run));
    return pada_supernet_open(&judge->net, args, options, run);
}

static pada_status check_words(const pada_options *options, const pada_run_args *args)
{
    const int n = pada_options_n_words(options);

    if (n > 1 && args->weights)
        return PADA_FAIL(PADA_EINVAL, "--weights: of one supernet, but %d runs were given", n);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++)
            if (strcmp(pada_options_word(options, i), pada_options_word(options, k)) == 0)
                return PADA_FAIL(PADA_EINVAL, "%s was given twice", pada_options_word(options, i));
    return PADA_OK;
}

pada_status pada_supernets_open(pada_supernets *nets, const pada_run_args *args,
                                const pada_combine_args *how, const pada_options *options,
                                bool locks)
{
    const int n_words = pada_options_n_words(options), n = n_words > 0 ? n_words : 1;
    pada_run_args judging = *args;
    void *mem;

    PADA_TRY(check_words(options, args));
    PADA_TRY(pada_calloc(&mem, (size_t)n, sizeof *nets->list));
    nets->list = mem;
    nets->n = n;
    nets->by = (pada_judgement)how->by;
    nets->is_mixed = n > 1 || how->prior || nets->by != PADA_BY_ACCURACY;
    judging.views = (int)how->views;
    judging.margins = nets->by == PADA_BY_MARGIN;
    nets->combine = (pada_combine)how->combine;
    for (int i = 0; i < n; i++) {
        const char *run = n_words > 0 ? pada_options_word(options, i) : NULL;
        PADA_TRY(open_judge(&nets->list[i], &judging, options, run, locks));
        if (i > 0) PADA_TRY(check_pair(&nets->list[i], &nets->list[0]));
    }
    if (!how->prior) return PADA_OK;
    PADA_TRY(pada_prior_parse(&nets->prior, &nets->list[0].net.space, how->prior, "--prior"));
    if (!nets->prior.finds_weight || n > 1) return PADA_OK;
    return PADA_FAIL(PADA_EINVAL,
                     "--prior: '%.60s' finds the weight by how far runs agree; give two or more",
                     how->prior);
}

pada_status pada_supernets_refuse_final(const pada_supernets *nets, const char *verb)
{
    for (int i = 0; i < nets->n; i++)
        if (nets->list[i].net.space.is_final)
            return PADA_FAIL(PADA_EINVAL, "%s: one network, nothing to %s; try `pada eval %s`",
                             nets->list[i].run, verb, nets->list[i].run);
    return PADA_OK;
}

const pada_subspace *pada_supernets_within(const pada_supernets *nets)
{
    return nets->n > 0 && nets->list[0].net.is_narrow ? &nets->list[0].net.within : NULL;
}

pada_status pada_supernets_keep_scores(pada_supernets *nets, const char *otherwise)
{
    for (int i = 0; i < nets->n; i++) {
        pada_judge *judge = &nets->list[i];
        const bool in_run = judge->run && access(judge->run, W_OK) == 0;

        if (in_run)
            pada_text_add(&judge->scores_dir, "%s/" SCORES, judge->run);
        else if (otherwise)
            pada_text_add(&judge->scores_dir, "%s", otherwise);
        PADA_TRY(judge->scores_dir.status);
    }
    return PADA_OK;
}

void pada_supernets_close(pada_supernets *nets)
{
    for (int i = 0; i < nets->n; i++) {
        pada_supernet_close(&nets->list[i].net);
        pada_text_deinit(&nets->list[i].scores_dir);
        pada_run_lock_release(&nets->list[i].lock);
    }
    pada_free(nets->list);
    *nets = (pada_supernets){0};
}

void pada_supernets_describe(const pada_supernets *nets, pada_text *out)
{
    const char *by = pada_judgement_name(nets->by);

    if (nets->prior.score) pada_text_add(out, "rank of ");
    if (nets->n > 1) pada_text_add(out, "mean ");
    if (nets->combine == PADA_COMBINE_CALIBRATED) pada_text_add(out, "calibrated ");
    pada_text_add(out, "%s", nets->combine == PADA_COMBINE_RANK ? "rank" : by);
    if (nets->combine == PADA_COMBINE_RANK && nets->by != PADA_BY_ACCURACY)
        pada_text_add(out, " by %s", by);
    if (nets->n > 1) pada_text_add(out, " of %d runs", nets->n);
    if (nets->prior.score)
        pada_text_add(out, " + %.4g x rank of %s", nets->prior.weight, nets->prior.score->name);
}
