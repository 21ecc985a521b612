/* loss_cases.c - networks with auxiliary losses, and with drops. */
#include "ops/loss_cases.h"

#include <stdio.h>

static pada_value conv(graph_case *c, pada_value x, int channels, int kernel, int stride)
{
    return case_conv(c, x, pada_conv_make(0, channels, kernel, stride, kernel / 2, PADA_ACT_NONE),
                     false);
}

static pada_value mean(graph_case *c, pada_value x)
{
    return pada_graph_gap(c->graph, x, PADA_ACT_NONE);
}

/* A head of its own in the middle of the network. */
static void own_head(graph_case *c, pada_value *auxiliary, pada_value *logits)
{
    const pada_value x = case_sum1(c, case_norm(conv(c, c->images_value, 5, 3, 1)));
    const pada_value y = case_sum1(c, case_norm(conv(c, x, 4, 3, 2)));

    *auxiliary = case_linear(c, mean(c, y), true);
    *logits = case_linear(c, mean(c, conv(c, x, 6, 3, 2)), true);
}

/* Two layers of the same features. */
static void shared_features(graph_case *c, pada_value *auxiliary, pada_value *logits)
{
    const pada_value f = mean(c, conv(c, case_probe(c, 1), 6, 3, 2));

    *auxiliary = case_linear(c, f, false);
    *logits = case_linear(c, f, true);
}

/* A head that is fed nothing but learns its bias. */
static void head_of_nothing(graph_case *c, pada_value *auxiliary, pada_value *logits)
{
    *auxiliary = case_linear(c, PADA_ZERO, true);
    *logits = case_linear(c, mean(c, conv(c, c->images_value, 6, 3, 2)), true);
}

bool auxiliary_case(int i, unsigned losses, graph_case *c, char *name, size_t size)
{
    static const struct {
        const char *name;
        void (*build)(graph_case *c, pada_value *auxiliary, pada_value *logits);
    } cases[] = {{"a head of its own", own_head},
                 {"shared features", shared_features},
                 {"a head of nothing", head_of_nothing}};
    enum { N = sizeof cases / sizeof *cases };
    pada_value auxiliary, logits;

    if (i >= 2 * N) return false;
    snprintf(name, size, "auxiliary loss, %s%s", cases[i % N].name, i < N ? "" : ", smoothed");
    case_init(c, (pada_shape){3, 6, 5}, 3, (uint64_t)i);
    case_random_weights(c);
    c->grad_scale = 0.75;
    c->graph->label_smoothing = i < N ? 0 : 0.2;
    c->graph->auxiliary = (losses & THE_LOSS) != 0;
    cases[i % N].build(c, &auxiliary, &logits);
    if (losses & AUXILIARY_LOSS && losses & THE_LOSS)
        pada_graph_auxiliary_loss(c->graph, auxiliary, AUXILIARY_WEIGHT);
    pada_graph_loss(c->graph, losses & THE_LOSS ? logits : auxiliary);
    pada_graph_simplify(c->graph);
    return true;
}

/* ---- drops ---- */

static pada_value drop(graph_case *c, pada_value x, pada_drop_kind kind)
{
    return pada_graph_drop(c->graph, x, kind, 0.75);
}

static void before_the_classifier(graph_case *c)
{
    const pada_value f = mean(c, conv(c, case_probe(c, 1), 17, 3, 2));

    pada_graph_loss(c->graph, case_linear(c, drop(c, f, PADA_DROP_ELEMENTS), true));
}

/* What DARTS does: the branch, not the residual connection. */
static void branch(graph_case *c)
{
    const pada_value x = case_sum1(c, case_norm(conv(c, c->images_value, 5, 3, 1)));
    const pada_value y = case_sum1(c, case_norm(conv(c, x, 5, 3, 1)));

    case_readout(c, case_sum2(c, case_same(x), case_same(drop(c, y, PADA_DROP_IMAGES))));
}

static void of_maps(graph_case *c)
{
    case_readout(c, drop(c, conv(c, c->images_value, 17, 3, 1), PADA_DROP_ELEMENTS));
}

/* The gradient of x is added to that of another reader, and a batch norm wants the moments of what is left. */
static void beside_another_reader(graph_case *c)
{
    const pada_value x = conv(c, c->images_value, 5, 3, 1);
    const pada_value y = drop(c, x, PADA_DROP_IMAGES), z = drop(c, x, PADA_DROP_ELEMENTS);
    const pada_term terms[] = {case_norm(y), case_same(z), case_pool(x, 3, 1, 1), case_norm(z)};

    case_readout(c, case_sum(c, terms, 4));
}

/* Each has a mask of its own. */
static void twice(graph_case *c)
{
    const pada_value x = case_probe(c, 1);
    const pada_value y = drop(c, drop(c, x, PADA_DROP_IMAGES), PADA_DROP_ELEMENTS);

    case_readout(c, case_sum2(c, case_same(y), case_same(drop(c, x, PADA_DROP_IMAGES))));
}

bool drop_case(int i, graph_case *c, char *name, size_t size)
{
    static const struct {
        const char *name;
        void (*build)(graph_case *c);
    } cases[] = {{"before the classifier", before_the_classifier},
                 {"of a branch", branch},
                 {"of maps", of_maps},
                 {"beside another reader", beside_another_reader},
                 {"twice", twice}};
    const double rates[PADA_N_DROPS] = {[PADA_DROP_ELEMENTS] = 0.3, [PADA_DROP_IMAGES] = 0.5};

    if (i >= (int)(sizeof cases / sizeof *cases)) return false;
    snprintf(name, size, "drop %s", cases[i].name);
    case_init(c, (pada_shape){3, 6, 5}, 6, (uint64_t)i);
    c->graph->drops = PADA_ANY;
    pada_drops_make(&c->drops, 4, i, rates);
    cases[i].build(c);
    return true;
}
