/* test_api.c - include/pada.h, used as a program outside uses it: wrong arguments, and results that agree. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
/* clang-format on */
#include <math.h>
#include <pada.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EDGES \
    "|nor_conv_3x3~0|+|nor_conv_3x3~0|avg_pool_3x3~1|+|skip_connect~0|nor_conv_3x3~1|skip_connect~2|"

enum { N_IMAGES = 24 };

static void version_and_message(void **state)
{
    (void)state;
    assert_int_equal(pada_version()[1], '.');
    assert_non_null(pada_message());
}

static void spaces(void **state)
{
    pada_space *space;

    (void)state;
    assert_int_equal(pada_space_open(&space, "nb210", NULL), PADA_EINVAL);
    assert_null(space);
    assert_string_equal(pada_message(), "unknown space 'nb210'; did you mean 'nb201'?");
    assert_int_equal(pada_space_open(&space, "nb201", &(pada_space_config){.channels = -1}),
                     PADA_EINVAL);
    assert_null(space);
    assert_int_equal(pada_space_open(NULL, "nb201", NULL), PADA_EINVAL);
    assert_int_equal(pada_space_open(&space, NULL, NULL), PADA_EINVAL);
    assert_string_equal(pada_message(), "pada_space_open: an argument is NULL");
    assert_int_equal(pada_space_open(&space, "nb201", NULL), PADA_OK);
    assert_int_equal(pada_space_n_slots(space), 6);
    assert_int_equal(pada_space_n_choices(space, 5), 5);
    assert_int_equal(pada_space_n_choices(space, 6), 0);
    assert_int_equal(pada_space_n_choices(space, -1), 0);
    assert_int_equal(pada_space_n_slots(NULL), 0);
    pada_space_close(space);
    pada_space_close(NULL);
}

static void architectures(void **state)
{
    char text[128] = "as it was";
    pada_space *space;
    pada_path path, other;

    (void)state;
    assert_int_equal(pada_space_open(&space, "nb201", NULL), PADA_OK);
    assert_int_equal(pada_path_parse(space, EDGES, NULL, &path), PADA_OK);
    assert_int_equal(pada_path_format(space, &path, "list", text, sizeof text), PADA_OK);
    assert_string_equal(text, "[3,3,4,1,3,1]");
    assert_int_equal(pada_path_format(space, &path, "list", text, 14), PADA_OK);
    assert_int_equal(pada_path_parse(space, text, "list", &other), PADA_OK);
    assert_memory_equal(&path, &other, sizeof path);

    strcpy(text, "as it was");
    assert_int_equal(pada_path_format(space, &path, "list", text, 13), PADA_EINVAL);
    assert_string_equal(text, "as it was");
    assert_int_equal(pada_path_format(space, &path, "lits", text, sizeof text), PADA_EINVAL);
    assert_int_equal(pada_path_parse(space, "3,3,4,1,3,9", "list", &other), PADA_EINVAL);
    assert_memory_equal(&path, &other, sizeof path);
    assert_int_equal(pada_path_parse(space, NULL, NULL, &other), PADA_EINVAL);
    other.choice[2] = 5;
    assert_int_equal(pada_path_format(space, &other, NULL, text, sizeof text), PADA_EINVAL);
    assert_string_equal(text, "as it was");
    pada_space_close(space);
}

static void spaces_say_what_they_are(void **state)
{
    const char *const flags[] = {"--channels=8", "--cells=1", NULL};
    char text[100] = "as it was";
    pada_space *space;

    (void)state;
    assert_int_equal(
        pada_space_open(&space, "nb201", &(pada_space_config){.classes = 7, .flags = flags}),
        PADA_OK);
    assert_string_equal(pada_space_name(space), "nb201");
    assert_int_equal(pada_space_classes(space), 7);
    assert_int_equal(pada_space_image_size(space), 32);
    assert_int_equal(pada_space_options(space, text, 37), PADA_EINVAL);
    assert_string_equal(text, "as it was");
    assert_int_equal(pada_space_options(space, text, 38), PADA_OK);
    assert_string_equal(text, " --space nb201 --channels 8 --cells 1");
    assert_int_equal(pada_space_options(NULL, text, sizeof text), PADA_EINVAL);
    assert_int_equal(pada_space_options(space, NULL, 10), PADA_EINVAL);
    assert_null(pada_space_name(NULL));
    assert_int_equal(pada_space_classes(NULL), 0);
    assert_int_equal(pada_space_image_size(NULL), 0);
    pada_space_close(space);
}

static void drawings(void **state)
{
    char text[5000] = "as it was";
    pada_space *space;
    pada_path path;
    size_t needed = 0;

    (void)state;
    assert_int_equal(pada_space_open(&space, "nb201", NULL), PADA_OK);
    assert_int_equal(pada_path_parse(space, EDGES, NULL, &path), PADA_OK);
    assert_int_equal(pada_path_drawing(space, &path, "svg", NULL, 0, &needed), PADA_OK);
    assert_true(needed > 500 && needed < sizeof text);
    assert_int_equal(pada_path_drawing(space, &path, "svg", text, needed - 1, &needed),
                     PADA_EINVAL);
    assert_string_equal(text, "as it was");
    assert_int_equal(pada_path_drawing(space, &path, "svg", text, needed, NULL), PADA_OK);
    assert_int_equal(strlen(text), needed - 1);
    assert_memory_equal(text, "<svg ", 5);
    assert_int_equal(pada_path_drawing(space, &path, "dot", text, sizeof text, &needed), PADA_OK);
    assert_memory_equal(text, "digraph", 7);
    assert_int_equal(pada_path_drawing(space, &path, "text", text, sizeof text, &needed), PADA_OK);
    assert_non_null(strstr(text, "nor_conv_3x3(input)"));
    assert_int_equal(pada_path_drawing(space, &path, "png", text, sizeof text, NULL), PADA_EINVAL);
    assert_string_equal(pada_message(), "drawings are svg, dot or text, and not 'png'");
    assert_int_equal(pada_path_drawing(space, &path, "svg", NULL, 5, &needed), PADA_EINVAL);
    assert_int_equal(pada_path_drawing(space, &path, NULL, text, 5, &needed), PADA_EINVAL);
    path.choice[5] = 9;
    assert_int_equal(pada_path_drawing(space, &path, "svg", text, sizeof text, NULL), PADA_EINVAL);
    pada_space_close(space);
}

static void images(void **state)
{
    pada_images *set;
    float *pixels;
    int32_t labels[2];

    (void)state;
    assert_int_equal(pada_images_open(&set, "bultin", PADA_SPLIT_TEST, 0), PADA_ENOENT);
    assert_null(set);
    assert_int_equal(pada_images_open(&set, "builtin", (pada_split)7, 0), PADA_EINVAL);
    assert_int_equal(pada_images_open(&set, "builtin", PADA_SPLIT_TEST, 7), PADA_EINVAL);
    assert_int_equal(pada_images_open(&set, NULL, PADA_SPLIT_TEST, 0), PADA_EINVAL);
    assert_int_equal(pada_images_open(&set, "builtin", PADA_SPLIT_TEST, 0), PADA_OK);
    const int n = pada_images_count(set), size = pada_images_size(set);
    assert_true(n > N_IMAGES && size > 0 && pada_images_classes(set) > 1);
    pixels = calloc(2 * 3 * (size_t)size * (size_t)size, sizeof *pixels);
    assert_non_null(pixels);
    assert_int_equal(pada_images_read(set, n - 2, 2, pixels, labels), PADA_OK);
    assert_true(labels[1] >= 0 && labels[1] < pada_images_classes(set));
    assert_int_equal(pada_images_read(set, n - 1, 2, pixels, labels), PADA_EINVAL);
    assert_int_equal(pada_images_read(set, -1, 1, pixels, labels), PADA_EINVAL);
    assert_int_equal(pada_images_read(set, 2147483647, 1, pixels, labels), PADA_EINVAL);
    assert_int_equal(pada_images_read(set, 1, 2147483647, pixels, labels), PADA_EINVAL);
    free(pixels);
    assert_null(pada_images_class_name(set, 0)); /* they have numbers */
    assert_null(pada_images_class_name(set, -1));
    assert_null(pada_images_class_name(NULL, 0));
    pada_images_close(set);
    pada_images_close(NULL);
}

/* A small supernet for the built-in images. */
static pada_net *small_net(const pada_images *set, int batch_size)
{
    const pada_space_config sizes = {.channels = 4,
                                     .cells = 1,
                                     .classes = pada_images_classes(set),
                                     .image_size = pada_images_size(set)};
    pada_space *space;
    pada_net *net;

    assert_int_equal(pada_space_open(&space, "nb201", &sizes), PADA_OK);
    assert_int_equal(pada_net_create(&net, space, &(pada_net_config){.batch_size = batch_size}),
                     PADA_OK);
    pada_space_close(space); /* a net has its own */
    return net;
}

static void wrong_nets_are_refused(void **state)
{
    pada_space *space;
    pada_images *set;
    pada_net *net;
    pada_path path = {{0}};
    pada_evaluation result;

    (void)state;
    assert_int_equal(pada_space_open(&space, "nb201", NULL), PADA_OK);
    assert_int_equal(pada_net_create(&net, space, &(pada_net_config){.backend = "cpo"}),
                     PADA_EDEVICE);
    assert_null(net);
    assert_int_equal(pada_net_create(&net, space, &(pada_net_config){.backend = "null"}),
                     PADA_EINVAL);
    assert_int_equal(pada_net_create(&net, space, &(pada_net_config){.batch_size = -1}),
                     PADA_EINVAL);
    assert_int_equal(pada_net_create(&net, space, &(pada_net_config){.threads = 5000}),
                     PADA_EINVAL);
    assert_int_equal(pada_net_create(&net, NULL, NULL), PADA_EINVAL);
    pada_space_close(space);

    assert_int_equal(pada_images_open(&set, "builtin", PADA_SPLIT_TEST, 0), PADA_OK);
    net = small_net(set, 8);
    assert_int_equal(pada_net_evaluate(net, &path, set, -1, &result), PADA_EINVAL);
    assert_int_equal(pada_net_evaluate(net, &path, set, 1 << 30, &result), PADA_EINVAL);
    assert_int_equal(pada_net_evaluate(net, &path, NULL, 0, &result), PADA_EINVAL);
    path.choice[0] = 99;
    assert_int_equal(pada_net_evaluate(net, &path, set, 8, &result), PADA_EINVAL);
    assert_int_equal(pada_net_load(net, "/nowhere/w.safetensors"), PADA_ENOENT);
    assert_int_equal(pada_net_save(net, "/nowhere/w.safetensors"), PADA_EIO);
    pada_net_destroy(net);
    pada_net_destroy(NULL);
    pada_images_close(set);
}

/* An evaluation, counted again from the predictions; weights survive a file; fresh ones depend on the seed. */
static void evaluation_agrees_with_predictions(void **state)
{
    char file[] = "/tmp/pada_api_XXXXXX";
    pada_images *set;
    pada_path path = {{3, 1, 4, 1, 2, 3}};
    pada_evaluation whole, again, other;
    int32_t labels[N_IMAGES];
    double loss = 0;
    int top1 = 0;

    (void)state;
    assert_int_equal(pada_images_open(&set, "builtin", PADA_SPLIT_TEST, 0), PADA_OK);
    pada_net *net = small_net(set, N_IMAGES);
    const int classes = pada_images_classes(set), size = pada_images_size(set);
    float *pixels = calloc(N_IMAGES * 3 * (size_t)size * (size_t)size, sizeof *pixels);
    float *logits = calloc(N_IMAGES * (size_t)classes, sizeof *logits);
    assert_true(pixels && logits);

    assert_int_equal(pada_net_init(net, 7), PADA_OK);
    assert_int_equal(pada_net_evaluate(net, &path, set, N_IMAGES, &whole), PADA_OK);
    assert_int_equal(whole.n_images, N_IMAGES);
    assert_int_equal(pada_images_read(set, 0, N_IMAGES, pixels, labels), PADA_OK);
    assert_int_equal(pada_net_predict(net, &path, pixels, N_IMAGES, logits), PADA_OK);
    for (int i = 0; i < N_IMAGES; i++) {
        const float *row = logits + i * classes;
        double sum = 0;
        int rank = 0;
        for (int k = 0; k < classes; k++) {
            sum += exp((double)row[k] - (double)row[labels[i]]);
            rank += row[k] > row[labels[i]];
        }
        top1 += rank == 0;
        loss += log(sum) / N_IMAGES;
    }
    assert_int_equal(top1, whole.top1);
    assert_true(fabs(loss - whole.loss) < 1e-5);
    assert_int_equal(pada_net_predict(net, &path, pixels, N_IMAGES + 1, logits), PADA_EINVAL);
    assert_int_equal(pada_net_predict(net, &path, pixels, 0, logits), PADA_EINVAL);

    const int fd = mkstemp(file);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(pada_net_load(net, file), PADA_EDATA); /* empty */
    assert_int_equal(pada_net_save(net, file), PADA_OK);
    assert_int_equal(pada_net_init(net, 8), PADA_OK);
    assert_int_equal(pada_net_evaluate(net, &path, set, N_IMAGES, &other), PADA_OK);
    assert_true(other.loss != whole.loss);
    assert_int_equal(pada_net_load(net, file), PADA_OK);
    assert_int_equal(pada_net_evaluate(net, &path, set, N_IMAGES, &again), PADA_OK);
    assert_memory_equal(&again.loss, &whole.loss, sizeof whole.loss);
    remove(file);
    free(pixels);
    free(logits);
    pada_net_destroy(net);
    pada_images_close(set);
}

/* A thread that asks one net about one path, again and again. */
typedef struct asker {
    pada_net *net;
    const pada_images *images;
    pada_path path;
    pada_evaluation expected;
    int n_wrong;
} asker;

static void *ask(void *argument)
{
    asker *a = argument;
    pada_evaluation result;

    for (int i = 0; i < 20; i++) {
        a->n_wrong +=
            pada_net_evaluate(a->net, &a->path, a->images, N_IMAGES, &result) != PADA_OK ||
            result.loss != a->expected.loss || result.top1 != a->expected.top1;
        a->n_wrong += pada_net_load(a->net, "/nowhere/w.safetensors") != PADA_ENOENT ||
                      strncmp(pada_message(), "/nowhere/", 9) != 0;
    }
    return NULL;
}

static void threads_wait_for_each_other(void **state)
{
    enum { N_THREADS = 4 };
    pthread_t threads[N_THREADS];
    asker askers[N_THREADS];
    pada_images *set;

    (void)state;
    assert_int_equal(pada_images_open(&set, "builtin", PADA_SPLIT_TEST, 0), PADA_OK);
    pada_net *net = small_net(set, 8);
    for (int i = 0; i < N_THREADS; i++) {
        askers[i] = (asker){
            .net = net, .images = set, .path = {{3, 1, (uint8_t)i, 1, (uint8_t)(4 - i), 3}}};
        assert_int_equal(
            pada_net_evaluate(net, &askers[i].path, set, N_IMAGES, &askers[i].expected), PADA_OK);
    }
    for (int i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask, &askers[i]), 0);
    for (int i = 0; i < N_THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(askers[i].n_wrong, 0);
    }
    pada_net_destroy(net);
    pada_images_close(set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(version_and_message),
        cmocka_unit_test(spaces),
        cmocka_unit_test(architectures),
        cmocka_unit_test(spaces_say_what_they_are),
        cmocka_unit_test(drawings),
        cmocka_unit_test(images),
        cmocka_unit_test(wrong_nets_are_refused),
        cmocka_unit_test(evaluation_agrees_with_predictions),
        cmocka_unit_test(threads_wait_for_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
