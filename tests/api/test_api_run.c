/* test_api_run.c - trainings of include/pada.h, used as a program outside uses them: stopped, continued, made use of. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
/* clang-format on */
#include <pada.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char folder[] = "/tmp/pada_api_run_XXXXXX";

static const char *in_folder(const char *name)
{
    static char paths[3][200];
    static int next;
    char *path = paths[next++ % 3];

    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

#define assert_ok(call)                                                   \
    do {                                                                  \
        if ((call) != PADA_OK) fail_msg("%s: %s", #call, pada_message()); \
    } while (0)

#define SIZES "--channels=4", "--cells=1", "--threads=1", "--batch-size=250", "--epochs=2"

/* What an observer saw, and after which epoch it wants to stop; 0: never. */
typedef struct seen {
    int n_calls, n_messages, stop_in_epoch;
    pada_standing last;
} seen;

static int watch(void *user, const pada_standing *standing)
{
    seen *s = user;

    s->n_calls++;
    s->last = *standing;
    return s->stop_in_epoch > 0 && standing->epoch + 1 >= s->stop_in_epoch;
}

static void listen(void *user, const char *text)
{
    seen *s = user;

    assert_true(strlen(text) > 0);
    s->n_messages++;
}

/* The weights of a run, as far as an evaluation sees them. */
static double loss_of(const char *run)
{
    const pada_space_config sizes = {.channels = 4, .cells = 1, .image_size = 16};
    const pada_path path = {{3, 3, 1, 2, 3, 4}};
    pada_images *images;
    pada_space *space;
    pada_net *net;
    pada_evaluation found;
    char weights[300] = "as it was";

    assert_int_equal(pada_run_weights(run, weights, 5), PADA_EINVAL);
    assert_string_equal(weights, "as it was");
    assert_ok(pada_run_weights(run, weights, sizeof weights));
    assert_ok(pada_images_open(&images, "builtin", PADA_SPLIT_TEST, 0));
    assert_ok(pada_space_open(&space, "nb201", &sizes));
    assert_ok(pada_net_create(&net, space, &(pada_net_config){.threads = 1, .batch_size = 100}));
    assert_ok(pada_net_load(net, weights));
    assert_ok(pada_net_evaluate(net, &path, images, 100, &found));
    pada_net_destroy(net);
    pada_space_close(space);
    pada_images_close(images);
    return found.loss;
}

static void a_stopped_training_goes_on(void **state)
{
    const char *const flags[] = {"--method=spos", SIZES, "--seed", "3", NULL};
    seen s = {.stop_in_epoch = 1};
    const pada_observer observer = {.user = &s, .progress = watch, .message = listen};

    (void)state;
    assert_ok(pada_run_train(in_folder("whole"), flags, NULL));
    assert_int_equal(pada_run_train(in_folder("parts"), flags, &observer), PADA_ESTOPPED);
    assert_true(s.n_calls > 0);
    assert_int_equal(s.last.n_epochs, 2);
    assert_int_equal(s.last.epoch, 0);
    s.stop_in_epoch = 0;
    assert_ok(pada_run_train(in_folder("parts"), flags, &observer));
    assert_true(s.n_messages > 0); /* where it resumes */
    assert_int_equal(s.last.epoch, 1);
    assert_true(s.last.loss > 0);
    assert_true(loss_of(in_folder("whole")) == loss_of(in_folder("parts")));
}

static void a_retrained_network_is_a_model(void **state)
{
    const char *const flags[] = {"--arch=|nor_conv_3x3~0|+|skip_connect~0|nor_conv_1x1~1|+|"
                                 "skip_connect~0|none~1|nor_conv_3x3~2|",
                                 SIZES, NULL};
    seen s = {.stop_in_epoch = 1};
    const pada_observer observer = {.user = &s, .progress = watch};
    static uint8_t grey[16 * 16 * 3];
    float p[10], sum = 0;
    pada_model *model;

    (void)state;
    assert_int_equal(pada_run_retrain(in_folder("final"), flags, &observer), PADA_ESTOPPED);
    s.stop_in_epoch = 0;
    assert_ok(pada_run_retrain(in_folder("final"), flags, &observer));
    assert_ok(pada_model_open(&model, in_folder("final"), NULL));
    assert_int_equal(pada_model_classes(model), 10);
    assert_string_equal(pada_model_arch(model), flags[0] + strlen("--arch="));
    assert_ok(pada_model_predict(model, grey, 1, 16, 16, p));
    for (int k = 0; k < 10; k++)
        sum += p[k];
    assert_true(sum > 0.999F && sum < 1.001F);
    pada_model_close(model);
    assert_int_equal(pada_model_open(&model, in_folder("whole"), NULL), PADA_EINVAL);
}

/* What the folder says is enough to evaluate its networks. */
static void a_run_has_its_space_and_images(void **state)
{
    const pada_split train = PADA_SPLIT_TRAIN, val = PADA_SPLIT_VAL;
    const pada_path path = {{3, 3, 1, 2, 3, 4}};
    pada_images *images;
    pada_space *space;
    pada_net *net;
    pada_evaluation found;
    char weights[300];

    (void)state;
    assert_ok(pada_run_space(&space, in_folder("whole")));
    assert_string_equal(pada_space_name(space), "nb201");
    assert_int_equal(pada_space_image_size(space), 16);
    assert_ok(pada_run_images(&images, in_folder("whole"), NULL));
    assert_int_equal(pada_images_count(images), 1000);
    assert_ok(pada_run_weights(in_folder("whole"), weights, sizeof weights));
    assert_ok(pada_net_create(&net, space, &(pada_net_config){.threads = 1, .batch_size = 100}));
    assert_ok(pada_net_load(net, weights));
    assert_ok(pada_net_evaluate(net, &path, images, 100, &found));
    assert_true(found.loss == loss_of(in_folder("whole")));
    pada_net_destroy(net);
    pada_images_close(images);
    pada_space_close(space);
    assert_ok(pada_run_images(&images, in_folder("whole"), &train));
    assert_int_equal(pada_images_count(images), 2000);
    pada_images_close(images);
    assert_int_equal(pada_run_images(&images, in_folder("whole"), &val), PADA_EINVAL);
    assert_null(images);
    assert_int_equal(pada_run_images(&images, in_folder("whole"), &(pada_split){7}), PADA_EINVAL);
    assert_int_equal(pada_run_images(&images, in_folder("nothing"), NULL), PADA_ENOENT);
    assert_int_equal(pada_run_images(&images, NULL, NULL), PADA_EINVAL);
    assert_int_equal(pada_run_space(&space, in_folder("nothing")), PADA_ENOENT);
    assert_int_equal(pada_run_space(&space, NULL), PADA_EINVAL);
    assert_int_equal(pada_run_space(NULL, in_folder("whole")), PADA_EINVAL);
    assert_int_equal(pada_run_space(&space, in_folder("final")), PADA_EINVAL); /* a network alone */
    assert_null(space);
}

/* Its checkpoints have one of the supernets, which is not that of every network. */
static void several_supernets_have_no_weights(void **state)
{
    char weights[300], folder_of_many[300];

    (void)state;
    snprintf(folder_of_many, sizeof folder_of_many, "%s/many", folder);
    assert_int_equal(mkdir(folder_of_many, 0700), 0);
    snprintf(folder_of_many, sizeof folder_of_many, "%s/many/supernets", folder);
    assert_int_equal(mkdir(folder_of_many, 0700), 0);
    assert_int_equal(pada_run_weights(in_folder("many"), weights, sizeof weights),
                     PADA_EUNSUPPORTED);
}

static void wrong_trainings_are_refused(void **state)
{
    const char *const wrong[][3] = {{"--epohcs=3"},    {"word"},           {"--method=sops"},
                                    {"--space=nb210"}, {"--backend=null"}, {"--json"}};
    const char *const nothing[] = {"--data=/nowhere", "--arch=x", NULL};
    char buffer[100];

    (void)state;
    assert_int_equal(pada_run_train(NULL, NULL, NULL), PADA_EINVAL);
    assert_int_equal(pada_run_retrain(NULL, NULL, NULL), PADA_EINVAL);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(pada_run_train(in_folder("wrong"), wrong[i], NULL), PADA_EINVAL);
    assert_int_equal(pada_run_retrain(in_folder("wrong"), NULL, NULL), PADA_EINVAL);
    assert_int_equal(pada_run_retrain(in_folder("wrong"), nothing, NULL), PADA_ENOENT);
    assert_int_equal(pada_run_weights(in_folder("wrong"), buffer, sizeof buffer), PADA_ENOENT);
    assert_int_equal(pada_run_weights(NULL, buffer, sizeof buffer), PADA_EINVAL);
    /* Another configuration in a folder that is taken. */
    assert_int_equal(
        pada_run_train(in_folder("whole"), (const char *const[]){"--epochs=9", NULL}, NULL),
        PADA_EINVAL);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    char command[100];

    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stopped_training_goes_on),
        cmocka_unit_test(a_retrained_network_is_a_model),
        cmocka_unit_test(a_run_has_its_space_and_images),
        cmocka_unit_test(several_supernets_have_no_weights),
        cmocka_unit_test(wrong_trainings_are_refused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
