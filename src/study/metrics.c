/* metrics.c - how well scores rank networks whose true quality is known.
 *
 * Values become ranks once: 0 for the lowest, the same for equal values. A sample is then a list of
 * items (score rank, truth rank, copies) in ascending order, and the number of copies with each
 * rank; all counting is in exact integers. */
#include "study/metrics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

const pada_metric_info pada_metric_table[PADA_N_METRICS] = {
    [PADA_METRIC_TAU_B] = {"tau_b", "tau-b", "tau-b", 4, false, 0,
                           "pairs in the right order minus pairs in the wrong one; 1: the same "
                           "order, 0: no relation, -1: reversed"},
    [PADA_METRIC_SPEARMAN] = {"spearman", "Spearman", "Spearman", 4, false, 0,
                              "correlation of the ranks; 1: the same order, 0: no relation"},
    [PADA_METRIC_P_TOP5] = {"p_at_top5", "P@Top5%", "P@5%", 4, false, 5,
                            "share of the truly best 5 % that is among the best 5 % by score"},
    [PADA_METRIC_P_TOP5_EXPECTED] = {"p_at_top5_expected", "P@Top5% ties", "P@5% ties", 4, false, 5,
                                     "the same, on average over all orders of equal values"},
    [PADA_METRIC_BEST_RANK_TOP5] = {"best_rank_top5", "best of 5%", "best 5%", 0, true, 5,
                                    "true rank of the best network among the best 5 % by score; "
                                    "1 is the best"},
    [PADA_METRIC_BEST_RANK_10] = {"best_rank_10", "best of 10", "best 10", 0, true, 0,
                                  "true rank of the best network among the first ten by score; "
                                  "1 is the best"},
    [PADA_METRIC_REGRET] = {"regret", "regret", "regret", 3, true, 0,
                            "true accuracy that choosing the first network costs, in points; "
                            "less is better"},
    [PADA_METRIC_TAU_TOP50] = {"tau_top50", "tau top 50%", "tau 50%", 4, false, 50,
                               "tau-b among the truly best half"},
    [PADA_METRIC_TAU_TOP20] = {"tau_top20", "tau top 20%", "tau 20%", 4, false, 20,
                               "tau-b among the truly best 20 %"},
    [PADA_METRIC_TAU_TOP10] = {"tau_top10", "tau top 10%", "tau 10%", 4, false, 10,
                               "tau-b among the truly best 10 %"},
    [PADA_METRIC_TAU_TOP5] = {"tau_top5", "tau top 5%", "tau 5%", 4, false, 5,
                              "tau-b among the truly best 5 %"},
};

struct pada_pairs {
    int n;
    int n_scores, n_truths;           /* different values */
    double *truths;                   /* [n], by network, like the ranks */
    int32_t *score_rank, *truth_rank; /* [n], 0 is the lowest value */
    int32_t *by_score, *by_truth;     /* [n], networks, best first; ties by index */
    int32_t *ascending;               /* [n], networks by score, then truth */
};

typedef struct item {
    int32_t score, truth; /* ranks */
    int32_t copies;
} item;

struct pada_metrics_work {
    int cap;                              /* networks */
    item *items;                          /* [cap], ascending by score, then truth */
    uint32_t *tree;                       /* [cap + 1], see count_discordant */
    int64_t *score_copies, *truth_copies; /* [cap], by rank */
    int64_t *truth_place;                 /* [cap], see spearman */
    int32_t *in_top;                      /* [cap], by network, 0 between computations */
};

typedef struct sample {
    const pada_pairs *pairs;
    const int32_t *copies; /* NULL: one of each */
    pada_metrics_work *work;
    int n_items;
    int64_t total; /* copies */
} sample;

/* ---- ranks ---- */

typedef struct entry {
    double value;
    int32_t network;
} entry;

static int compare_best_first(const void *a, const void *b)
{
    const entry *x = a, *y = b;

    if (x->value != y->value) return x->value > y->value ? -1 : 1;
    return x->network < y->network ? -1 : 1;
}

/* Fills in the order and the ranks of n values. Returns how many are different. */
static int rank_values(const double *values, int n, entry *scratch, int32_t *order, int32_t *rank)
{
    int n_ranks = 0;

    for (int i = 0; i < n; i++) {
        PADA_ASSERT(!isnan(values[i]));
        scratch[i] = (entry){values[i], i};
    }
    qsort(scratch, (size_t)n, sizeof *scratch, compare_best_first);
    for (int i = n - 1; i >= 0; i--) {
        if (i < n - 1 && scratch[i].value != scratch[i + 1].value) n_ranks++;
        order[i] = scratch[i].network;
        rank[order[i]] = n_ranks;
    }
    return n_ranks + 1;
}

/* Networks by score, then truth: those in order of truth are dealt out to their scores.
 * `next` has room for one number per score. */
static void order_ascending(pada_pairs *p, int32_t *next)
{
    memset(next, 0, (size_t)p->n_scores * sizeof *next);
    for (int i = 0; i < p->n; i++)
        if (p->score_rank[i] + 1 < p->n_scores) next[p->score_rank[i] + 1]++;
    for (int k = 1; k < p->n_scores; k++)
        next[k] += next[k - 1];
    for (int i = p->n - 1; i >= 0; i--) {
        const int32_t network = p->by_truth[i];
        p->ascending[next[p->score_rank[network]]++] = network;
    }
}

static pada_status make_pairs(pada_pairs *p, const double *scores, const double *truths)
{
    int32_t **const lists[] = {&p->score_rank, &p->truth_rank, &p->by_score, &p->by_truth,
                               &p->ascending};
    void *mem;

    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        PADA_TRY(pada_calloc(&mem, (size_t)p->n, sizeof(int32_t)));
        *lists[i] = mem;
    }
    PADA_TRY(pada_calloc(&mem, (size_t)p->n, sizeof *p->truths));
    p->truths = mem;
    memcpy(p->truths, truths, (size_t)p->n * sizeof *truths);

    PADA_TRY(pada_calloc(&mem, (size_t)p->n, sizeof(entry)));
    p->n_scores = rank_values(scores, p->n, mem, p->by_score, p->score_rank);
    p->n_truths = rank_values(truths, p->n, mem, p->by_truth, p->truth_rank);
    order_ascending(p, mem);
    pada_free(mem);
    return PADA_OK;
}

pada_status pada_pairs_create(pada_pairs **out, const double *scores, const double *truths, int n)
{
    void *mem;

    *out = NULL;
    PADA_ASSERT(n > 0);
    PADA_TRY(pada_calloc(&mem, 1, sizeof **out));
    pada_pairs *p = mem;
    p->n = n;
    const pada_status st = make_pairs(p, scores, truths);
    if (st != PADA_OK) {
        pada_pairs_destroy(p);
        return st;
    }
    *out = p;
    return PADA_OK;
}

void pada_pairs_destroy(pada_pairs *p)
{
    if (!p) return;
    pada_free(p->truths);
    pada_free(p->score_rank);
    pada_free(p->truth_rank);
    pada_free(p->by_score);
    pada_free(p->by_truth);
    pada_free(p->ascending);
    pada_free(p);
}

int pada_pairs_count(const pada_pairs *p)
{
    return p->n;
}

/* ---- samples ---- */

static pada_status make_work(pada_metrics_work *w)
{
    const size_t n = (size_t)w->cap;
    void *mem;

    PADA_TRY(pada_calloc(&mem, n, sizeof *w->items));
    w->items = mem;
    PADA_TRY(pada_calloc(&mem, n + 1, sizeof *w->tree));
    w->tree = mem;
    PADA_TRY(pada_calloc(&mem, n, sizeof *w->score_copies));
    w->score_copies = mem;
    PADA_TRY(pada_calloc(&mem, n, sizeof *w->truth_copies));
    w->truth_copies = mem;
    PADA_TRY(pada_calloc(&mem, n, sizeof *w->truth_place));
    w->truth_place = mem;
    PADA_TRY(pada_calloc(&mem, n, sizeof *w->in_top));
    w->in_top = mem;
    return PADA_OK;
}

pada_status pada_metrics_work_create(pada_metrics_work **out, int n)
{
    void *mem;

    *out = NULL;
    PADA_TRY(pada_calloc(&mem, 1, sizeof **out));
    pada_metrics_work *w = mem;
    w->cap = n;
    const pada_status st = make_work(w);
    if (st != PADA_OK) {
        pada_metrics_work_destroy(w);
        return st;
    }
    *out = w;
    return PADA_OK;
}

void pada_metrics_work_destroy(pada_metrics_work *w)
{
    if (!w) return;
    pada_free(w->items);
    pada_free(w->tree);
    pada_free(w->score_copies);
    pada_free(w->truth_copies);
    pada_free(w->truth_place);
    pada_free(w->in_top);
    pada_free(w);
}

static int32_t copies_of(const sample *s, int network)
{
    return s->copies ? s->copies[network] : 1;
}

/* The items of the sample, and the copies with each rank. */
static void gather(sample *s)
{
    const pada_pairs *p = s->pairs;
    pada_metrics_work *w = s->work;

    memset(w->score_copies, 0, (size_t)p->n_scores * sizeof *w->score_copies);
    memset(w->truth_copies, 0, (size_t)p->n_truths * sizeof *w->truth_copies);
    for (int i = 0; i < p->n; i++) {
        const int network = p->ascending[i];
        const item it = {p->score_rank[network], p->truth_rank[network], copies_of(s, network)};

        if (it.copies == 0) continue;
        w->items[s->n_items++] = it;
        w->score_copies[it.score] += it.copies;
        w->truth_copies[it.truth] += it.copies;
        s->total += it.copies;
    }
    PADA_ASSERT(s->total > 0);
}

/* K of "the best so many percent". */
static int64_t top_count(const sample *s, int percent)
{
    const int64_t k = s->total * percent / 100;

    return k > 0 ? k : 1;
}

/* Where the K best end: all above `rank`, and of those with this rank a share. */
typedef struct cut {
    int rank;
    double share; /* in (0, 1] */
} cut;

static cut cut_after(const int64_t *copies, int n_ranks, int64_t k)
{
    int rank = n_ranks - 1;

    for (; copies[rank] < k; rank--)
        k -= copies[rank];
    return (cut){rank, (double)k / (double)copies[rank]};
}

static double share_of(cut c, int rank)
{
    return rank > c.rank ? 1 : rank == c.rank ? c.share : 0;
}

/* ---- Kendall ---- */

static int64_t pairs_of(int64_t n)
{
    return n * (n - 1) / 2;
}

/* Pairs with the higher score on the lower truth. Items come in ascending order of score; `tree` is
 * a Fenwick tree with the copies seen so far by truth rank, `first` being the lowest rank there is.
 * Items of one score come in ascending order of truth, so they count nothing among themselves. */
static int64_t count_discordant(const item *items, int n, uint32_t *tree, int first, int n_truths)
{
    const int size = n_truths - first;
    int64_t seen = 0, discordant = 0;

    memset(tree, 0, ((size_t)size + 1) * sizeof *tree);
    for (int i = 0; i < n; i++) {
        const int place = items[i].truth - first + 1;
        const uint32_t copies = (uint32_t)items[i].copies;
        int64_t not_above = 0;

        for (int k = place; k > 0; k &= k - 1)
            not_above += tree[k];
        discordant += copies * (seen - not_above);
        for (int k = place; k <= size; k += k & -k)
            tree[k] += copies;
        seen += copies;
    }
    return discordant;
}

/* Pairs with the same score, and among them those with the same truth too. */
static void count_score_ties(const item *items, int n, int64_t *ties, int64_t *both)
{
    *ties = *both = 0;
    for (int i = 0; i < n;) {
        const int32_t score = items[i].score;
        int64_t in_score = 0;

        while (i < n && items[i].score == score) {
            const int32_t truth = items[i].truth;
            int64_t in_both = 0;
            for (; i < n && items[i].score == score && items[i].truth == truth; i++)
                in_both += items[i].copies;
            *both += pairs_of(in_both);
            in_score += in_both;
        }
        *ties += pairs_of(in_score);
    }
}

/* tau-b of the first n items, which are all those with a truth rank of at least `first`. */
static double tau_b(const sample *s, int n, int first)
{
    const pada_metrics_work *w = s->work;
    const int n_truths = s->pairs->n_truths;
    int64_t total = 0, truth_ties = 0, score_ties, both;

    for (int rank = first; rank < n_truths; rank++) {
        total += w->truth_copies[rank];
        truth_ties += pairs_of(w->truth_copies[rank]);
    }
    count_score_ties(w->items, n, &score_ties, &both);
    const int64_t all = pairs_of(total);
    if (score_ties == all || truth_ties == all) return NAN;

    const int64_t discordant = count_discordant(w->items, n, w->tree, first, n_truths);
    const int64_t excess = all - score_ties - truth_ties + both - 2 * discordant;
    const double tau =
        (double)excess / sqrt((double)(all - score_ties) * (double)(all - truth_ties));
    return fmax(-1, fmin(1, tau)); /* the root may round */
}

/* tau-b inside smaller and smaller parts; leaves only the items of the smallest one. */
static void tau_of_tops(const sample *s, pada_metrics *out)
{
    static const struct {
        int percent;
        pada_metric metric;
    } tops[] = {
        {50, PADA_METRIC_TAU_TOP50},
        {20, PADA_METRIC_TAU_TOP20},
        {10, PADA_METRIC_TAU_TOP10},
        {5, PADA_METRIC_TAU_TOP5},
    };
    const pada_metrics_work *w = s->work;
    int n = s->n_items;

    for (size_t i = 0; i < sizeof tops / sizeof tops[0]; i++) {
        const cut c = cut_after(w->truth_copies, s->pairs->n_truths, top_count(s, tops[i].percent));
        int kept = 0;

        for (int k = 0; k < n; k++)
            if (w->items[k].truth >= c.rank) w->items[kept++] = w->items[k];
        n = kept;
        out->value[tops[i].metric] = tau_b(s, n, c.rank);
    }
}

/* ---- the others ---- */

/* Ranks are counted from the middle in halves: copies below minus copies above. */
static double spearman(const sample *s)
{
    const pada_metrics_work *w = s->work;
    double product = 0, score_square = 0, truth_square = 0;
    int64_t below = 0;

    for (int rank = 0; rank < s->pairs->n_truths; rank++) {
        const int64_t here = w->truth_copies[rank], place = 2 * below + here - s->total;
        w->truth_place[rank] = place;
        truth_square += (double)here * (double)place * (double)place;
        below += here;
    }
    below = 0;
    for (int i = 0; i < s->n_items;) {
        const int32_t score = w->items[i].score;
        const int64_t here = w->score_copies[score], place = 2 * below + here - s->total;

        score_square += (double)here * (double)place * (double)place;
        for (; i < s->n_items && w->items[i].score == score; i++)
            product += (double)w->items[i].copies * (double)place *
                       (double)w->truth_place[w->items[i].truth];
        below += here;
    }
    if (score_square == 0 || truth_square == 0) return NAN;
    return fmax(-1, fmin(1, product / sqrt(score_square * truth_square)));
}

static int32_t smaller(int64_t a, int64_t b)
{
    return (int32_t)(a < b ? a : b);
}

static double precision(const sample *s, int64_t k)
{
    const pada_pairs *p = s->pairs;
    int32_t *in_top = s->work->in_top;
    int64_t left = k, hits = 0;
    int n_marked = 0;

    for (; left > 0; n_marked++) {
        const int network = p->by_score[n_marked];
        in_top[network] = smaller(copies_of(s, network), left);
        left -= in_top[network];
    }
    left = k;
    for (int i = 0; left > 0; i++) {
        const int network = p->by_truth[i];
        const int32_t taken = smaller(copies_of(s, network), left);
        hits += smaller(taken, in_top[network]);
        left -= taken;
    }
    while (n_marked-- > 0)
        in_top[p->by_score[n_marked]] = 0;
    return (double)hits / (double)k;
}

static double expected_precision(const sample *s, int64_t k)
{
    const pada_pairs *p = s->pairs;
    const cut scores = cut_after(s->work->score_copies, p->n_scores, k);
    const cut truths = cut_after(s->work->truth_copies, p->n_truths, k);
    double hits = 0;

    for (int i = 0; i < p->n; i++) {
        const int network = p->by_truth[i];
        if (p->truth_rank[network] < truths.rank) break;
        hits += copies_of(s, network) * share_of(truths, p->truth_rank[network]) *
                share_of(scores, p->score_rank[network]);
    }
    return hits / (double)k;
}

static double best_rank(const sample *s, int64_t k)
{
    const pada_pairs *p = s->pairs;
    int64_t higher = 0;
    int best = -1;

    for (int i = 0; k > 0; i++) {
        const int network = p->by_score[i];
        const int32_t copies = copies_of(s, network);
        if (copies > 0 && p->truth_rank[network] > best) best = p->truth_rank[network];
        k -= copies;
    }
    for (int rank = best + 1; rank < p->n_truths; rank++)
        higher += s->work->truth_copies[rank];
    return (double)(higher + 1);
}

static double regret(const sample *s)
{
    const pada_pairs *p = s->pairs;
    int best_score = -1;
    double sum = 0, n = 0;
    int i = 0;

    for (; i < p->n; i++) {
        const int network = p->by_score[i];
        const int32_t copies = copies_of(s, network);
        if (copies == 0) continue;
        if (best_score < 0) best_score = p->score_rank[network];
        if (p->score_rank[network] != best_score) break;
        sum += copies * p->truths[network];
        n += copies;
    }
    for (i = 0; copies_of(s, p->by_truth[i]) == 0;)
        i++;
    return p->truths[p->by_truth[i]] - sum / n;
}

void pada_metrics_compute(const pada_pairs *pairs, const int32_t *copies, pada_metrics_work *work,
                          pada_metrics *out)
{
    sample s = {.pairs = pairs, .copies = copies, .work = work};
    double *value = out->value;

    PADA_ASSERT(work->cap >= pairs->n);
    gather(&s);
    const int64_t k = top_count(&s, 5);
    value[PADA_METRIC_TAU_B] = tau_b(&s, s.n_items, 0);
    value[PADA_METRIC_SPEARMAN] = spearman(&s);
    value[PADA_METRIC_P_TOP5] = precision(&s, k);
    value[PADA_METRIC_P_TOP5_EXPECTED] = expected_precision(&s, k);
    value[PADA_METRIC_BEST_RANK_TOP5] = best_rank(&s, k);
    value[PADA_METRIC_BEST_RANK_10] = best_rank(&s, s.total < 10 ? s.total : 10);
    value[PADA_METRIC_REGRET] = regret(&s);
    tau_of_tops(&s, out); /* last: it uses up the items */
}
