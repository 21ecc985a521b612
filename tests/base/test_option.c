/* test_option.c - flags, YAML files, help and dump over one table. */
#include "base/option.h"

#include <math.h>

#include "base/scratch.h"

typedef struct settings {
    int64_t batch_size, depth;
    uint64_t seed;
    double lr, decay;
    bool amp, verbose;
    const char *out, *note;
    int method;
} settings;

static const pada_opt table[] = {
    {"batch-size", PADA_OPT_INT, offsetof(settings, batch_size), "256", 1, 1e6, NULL, "N",
     "images per step", false, NULL, "batch", NULL, NULL},
    {"depth", PADA_OPT_INT, offsetof(settings, depth), NULL, 1, 9, NULL, NULL, "layers", false,
     NULL, NULL, "layers|size", NULL},
    {"seed", PADA_OPT_U64, offsetof(settings, seed), "0", 0, 0, NULL, NULL, "of all random numbers",
     false, NULL, NULL, NULL, NULL},
    {"lr", PADA_OPT_DOUBLE, offsetof(settings, lr), "0.025", 0, 1, NULL, NULL, "learning rate",
     false, NULL, NULL, NULL, NULL},
    {"decay", PADA_OPT_DOUBLE, offsetof(settings, decay), NULL, 0, 0, NULL, NULL, "weight decay",
     false, NULL, NULL, NULL, NULL},
    {"amp", PADA_OPT_BOOL, offsetof(settings, amp), "true", 0, 0, NULL, NULL, "mixed precision",
     false, NULL, NULL, NULL, NULL},
    {"verbose", PADA_OPT_BOOL, offsetof(settings, verbose), NULL, 0, 0, NULL, NULL, "say more",
     false, NULL, NULL, NULL, NULL},
    {"out", PADA_OPT_STRING, offsetof(settings, out), NULL, 0, 0, NULL, "DIR", "run folder", false,
     NULL, NULL, NULL, NULL},
    {"note", PADA_OPT_STRING, offsetof(settings, note), "none", 0, 0, NULL, NULL, NULL, false, NULL,
     NULL, NULL, NULL},
    {"method", PADA_OPT_CHOICE, offsetof(settings, method), "pada", 0, 0, "spos|pada", NULL,
     "strategy", false, NULL, NULL, NULL, NULL},
    {0},
};

static pada_options *options;
static settings values;

static int bind(void **state)
{
    (void)state;
    memset(&values, 0xff, sizeof values); /* binding must not depend on what was there */
    if (pada_options_create(&options) != PADA_OK) return -1;
    return pada_options_bind(options, table, &values) == PADA_OK ? 0 : -1;
}

static int unbind(void **state)
{
    (void)state;
    pada_options_destroy(options);
    options = NULL;
    return 0;
}

#define parse(...)                                                                             \
    pada_options_parse(options, (int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)), \
                       (const char *[]){__VA_ARGS__})

static pada_status load_text(const char *text)
{
    const char *path = scratch_path("runs.yaml");

    scratch_write(path, text, strlen(text));
    return pada_options_load(options, path);
}

/* The message without the folder of the file, which differs from run to run. */
#define assert_load_fails(text, status, message)                                        \
    do {                                                                                \
        assert_int_equal(load_text(text), (status));                                    \
        assert_int_equal(strncmp(pada_message(), scratch_dir, strlen(scratch_dir)), 0); \
        assert_string_equal(pada_message() + strlen(scratch_dir) + 1, (message));       \
    } while (0)

static void defaults_are_stored_by_bind(void **state)
{
    (void)state;
    assert_int_equal(values.batch_size, 256);
    assert_int_equal(values.depth, 0);
    assert_true(values.seed == 0);
    assert_true(values.lr == 0.025);
    assert_true(values.decay == 0);
    assert_true(values.amp);
    assert_false(values.verbose);
    assert_null(values.out);
    assert_string_equal(values.note, "none");
    assert_int_equal(values.method, 1);
    assert_false(pada_options_given(options, "batch-size"));
}

static void flags_come_in_both_forms(void **state)
{
    (void)state;
    assert_ok(parse("--batch-size", "64", "--lr=0.1", "--seed=18446744073709551615", "--out",
                    "runs/a", "--method", "spos", "--decay", "-1e-3", "--verbose"));
    assert_int_equal(values.batch_size, 64);
    assert_true(values.lr == 0.1);
    assert_true(values.seed == UINT64_MAX);
    assert_string_equal(values.out, "runs/a");
    assert_int_equal(values.method, 0);
    assert_true(values.decay == -1e-3);
    assert_true(values.verbose);
    assert_true(pada_options_given(options, "batch_size"));
    assert_false(pada_options_given(options, "amp"));
    assert_int_equal(pada_options_n_words(options), 0);
}

static void underscores_and_dashes_are_the_same(void **state)
{
    (void)state;
    assert_ok(parse("--batch_size", "3"));
    assert_int_equal(values.batch_size, 3);
}

static void last_flag_wins(void **state)
{
    (void)state;
    assert_ok(parse("--out", "a", "--out=b", "--batch-size=1", "--batch-size=2k"));
    assert_string_equal(values.out, "b");
    assert_int_equal(values.batch_size, 2000);
}

static void booleans_have_four_forms(void **state)
{
    (void)state;
    assert_ok(parse("--no-amp", "--verbose"));
    assert_false(values.amp);
    assert_true(values.verbose);
    assert_ok(parse("--amp=yes", "--verbose=off"));
    assert_true(values.amp);
    assert_false(values.verbose);
    assert_ok(parse("--amp", "false", "--verbose", "true", "--no_amp"));
    assert_false(values.amp);
    assert_true(values.verbose);
    assert_ok(parse("--verbose", "word"));
    assert_int_equal(pada_options_n_words(options), 1);
    assert_fails(parse("--no-amp=true"), PADA_EINVAL, "--no-amp: takes no value");
    assert_fails(parse("--amp=maybe"), PADA_EINVAL, "--amp: 'maybe' is not true or false");
    assert_fails(parse("--no-lr"), PADA_EINVAL, "unknown option --no-lr");
}

static void words_are_what_is_left(void **state)
{
    (void)state;
    assert_ok(parse("train", "--lr", "0.5", "-", "-5", "--", "--lr", "-x", "--"));
    assert_int_equal(pada_options_n_words(options), 6);
    assert_string_equal(pada_options_word(options, 0), "train");
    assert_string_equal(pada_options_word(options, 1), "-");
    assert_string_equal(pada_options_word(options, 2), "-5");
    assert_string_equal(pada_options_word(options, 3), "--lr");
    assert_string_equal(pada_options_word(options, 4), "-x");
    assert_string_equal(pada_options_word(options, 5), "--");
    assert_true(values.lr == 0.5);
}

static void earlier_names_work(void **state)
{
    pada_text text = {0};

    (void)state;
    assert_ok(parse("--batch", "32"));
    assert_int_equal(values.batch_size, 32);
    assert_true(pada_options_given(options, "batch-size"));
    assert_fails(parse("--batch", "x"), PADA_EINVAL, "--batch-size: 'x' is not a whole number");
    assert_fails(parse("--batch", "1.5M"), PADA_EINVAL,
                 "--batch-size: '1.5M' is not a whole number such as 1500, 40k or 400M");
    assert_int_equal(unbind(NULL), 0);
    assert_int_equal(bind(NULL), 0);
    assert_ok(load_text("batch: 16\n"));
    assert_int_equal(values.batch_size, 16);
    pada_options_help(options, &text);
    assert_non_null(strstr(pada_text_str(&text), "--batch-size N"));
    assert_null(strstr(pada_text_str(&text), "--batch "));
    pada_text_deinit(&text);
    pada_options_dump(options, &text);
    assert_int_equal(strncmp(pada_text_str(&text), "batch-size: 16\n", 15), 0);
    pada_text_deinit(&text);
}

static void flag_errors_offer_help(void **state)
{
    (void)state;
    assert_fails(parse("--bach-size", "3"), PADA_EINVAL,
                 "unknown option --bach-size (did you mean --batch-size?)");
    assert_fails(parse("--bach-size=3"), PADA_EINVAL,
                 "unknown option --bach-size (did you mean --batch-size?)");
    assert_fails(parse("--no-verbsoe"), PADA_EINVAL,
                 "unknown option --no-verbsoe (did you mean --no-verbose?)");
    assert_fails(parse("--zzzzzz"), PADA_EINVAL, "unknown option --zzzzzz");
    /* What people try is known, however unlike the name it is. */
    assert_fails(parse("--size", "3"), PADA_EINVAL,
                 "unknown option --size (did you mean --depth?)");
    assert_fails(parse("--layers=3"), PADA_EINVAL,
                 "unknown option --layers (did you mean --depth?)");
    assert_fails(parse("--layersize"), PADA_EINVAL, "unknown option --layersize");
    assert_fails(parse("-h"), PADA_EINVAL, "unknown option -h");
    assert_fails(parse("--=3"), PADA_EINVAL, "unknown option --");
    assert_fails(parse("--batch-size", "abc"), PADA_EINVAL,
                 "--batch-size: 'abc' is not a whole number");
    assert_fails(parse("--batch-size=0"), PADA_EINVAL, "--batch-size: 0 is outside 1 to 1000000");
    assert_fails(parse("--batch-size="), PADA_EINVAL, "--batch-size: '' is not a whole number");
    assert_fails(parse("--method", "padaa"), PADA_EINVAL,
                 "--method: 'padaa' is not one of spos|pada (did you mean pada?)");
    assert_fails(parse("--method", "darts"), PADA_EINVAL,
                 "--method: 'darts' is not one of spos|pada");
    assert_fails(parse("--method", "spos|pada"), PADA_EINVAL,
                 "--method: 'spos|pada' is not one of spos|pada");
    assert_fails(parse("--method", "pad"), PADA_EINVAL,
                 "--method: 'pad' is not one of spos|pada (did you mean pada?)");
    assert_fails(parse("--lr", "5"), PADA_EINVAL, "--lr: 5 is outside 0 to 1");
    assert_fails(parse("--out", "caf\xe9"), PADA_EINVAL, "--out: 'caf\xe9' is not UTF-8");
}

static void missing_value_is_an_error(void **state)
{
    (void)state;
    assert_fails(parse("--batch-size"), PADA_EINVAL, "--batch-size: the value is missing");
    assert_fails(parse("--out", "--verbose"), PADA_EINVAL, "--out: the value is missing");
    assert_fails(parse("--out", "--"), PADA_EINVAL, "--out: the value is missing");
    assert_ok(parse("--out=--verbose"));
    assert_string_equal(values.out, "--verbose");
    assert_ok(parse("--out="));
    assert_string_equal(values.out, "");
}

static void failed_flag_keeps_the_old_value(void **state)
{
    (void)state;
    assert_int_equal(parse("--lr", "7"), PADA_EINVAL);
    assert_true(values.lr == 0.025);
    assert_false(pada_options_given(options, "lr"));
}

static void file_sets_values(void **state)
{
    (void)state;
    assert_ok(load_text("# a comment\n"
                        "batch_size: 32\nlr: 1e-2\namp: no\nout: 'runs/ü: x'\nmethod: spos\n"
                        "seed: \"7\"\n"));
    assert_int_equal(values.batch_size, 32);
    assert_true(values.lr == 0.01);
    assert_false(values.amp);
    assert_string_equal(values.out, "runs/ü: x");
    assert_int_equal(values.method, 0);
    assert_true(values.seed == 7);
    assert_true(pada_options_given(options, "seed"));
    assert_false(pada_options_given(options, "verbose"));
}

static void flags_beat_files_in_any_order(void **state)
{
    (void)state;
    assert_ok(parse("--lr", "0.5", "--out", "flag"));
    assert_ok(load_text("lr: 0.25\nout: file\nseed: 3\n"));
    assert_ok(load_text("seed: 4\n"));
    assert_true(values.lr == 0.5);
    assert_string_equal(values.out, "flag");
    assert_true(values.seed == 4); /* a later file beats an earlier one */
    assert_ok(parse("--seed", "5"));
    assert_true(values.seed == 5);
    /* A value that loses is checked all the same. */
    assert_load_fails("lr: 5\n", PADA_EINVAL, "runs.yaml:1: lr: 5 is outside 0 to 1");
}

static void files_without_content_set_nothing(void **state)
{
    (void)state;
    assert_ok(load_text(""));
    assert_ok(load_text("# lr: 3\n\n"));
    assert_ok(load_text("{}\n"));
    assert_false(pada_options_given(options, "lr"));
}

static void file_errors_name_the_line(void **state)
{
    pada_status st;

    (void)state;
    assert_load_fails("lr: 0.1\n\nbach-size: 3\n", PADA_EINVAL,
                      "runs.yaml:3: unknown key 'bach-size' (did you mean batch-size?)");
    assert_load_fails("qqqqqq: 3\n", PADA_EINVAL, "runs.yaml:1: unknown key 'qqqqqq'");
    assert_load_fails("lr: 0.1\nbatch-size: abc\n", PADA_EINVAL,
                      "runs.yaml:2: batch-size: 'abc' is not a whole number");
    assert_load_fails("method: padaa\n", PADA_EINVAL,
                      "runs.yaml:1: method: 'padaa' is not one of spos|pada (did you mean pada?)");
    st = pada_options_load(options, scratch_path("missing.yaml"));
    assert_int_equal(st, PADA_ENOENT);
}

static void known_keys_are_taken_from_foreign_files(void **state)
{
    const char *path = scratch_path("run.yaml");
    static const char good[] = "strange: 7\nlr: 0.25\nbatch-size: 32\nmore_strange: [bad]\n";
    static const char flat[] = "strange: 7\nlr: 0.25\nbatch-size: 32\nout2: x\n";
    static const char bad[] = "strange: 7\nlr: fast\n";
    char message[1024];

    (void)state;
    assert_ok(parse("--batch-size", "8"));
    scratch_write(path, flat, strlen(flat));
    assert_ok(pada_options_load_known(options, path));
    assert_true(values.lr == 0.25);
    assert_int_equal(values.batch_size, 8); /* the flag */
    scratch_write(path, bad, strlen(bad));
    snprintf(message, sizeof message, "%s:2: lr: 'fast' is not a number", path);
    assert_fails(pada_options_load_known(options, path), PADA_EINVAL, message);
    scratch_write(path, good, strlen(good)); /* still a flat mapping */
    assert_int_equal(pada_options_load_known(options, path), PADA_EDATA);
    assert_int_equal(pada_options_load_known(options, scratch_path("missing.yaml")), PADA_ENOENT);
}

/* A preset is a default: files and flags win, and help shows it. */
static void presets_are_defaults(void **state)
{
    static const char first[] = "lr: 0.75\nbatch-size: 8\nnote: first\namp: false\n";
    static const char second[] = "note: second\ndepth: 3\n";
    const char *path = scratch_path("preset.yaml"), *config = scratch_path("config.yaml");
    pada_text help = {0};

    (void)state;
    assert_ok(pada_options_preset_text(options, "built in", first, strlen(first)));
    scratch_write(path, second, strlen(second));
    assert_ok(pada_options_preset(options, path));
    assert_false(pada_options_given(options, "lr"));
    pada_options_help(options, &help);
    assert_non_null(strstr(pada_text_str(&help), "learning rate (default 0.75)"));
    pada_text_deinit(&help);
    scratch_write(config, "batch-size: 16\nlr: 0.5\n", 23);
    assert_ok(parse("--lr", "0.125"));
    assert_ok(pada_options_load(options, config));
    assert_true(values.lr == 0.125 && values.batch_size == 16 && values.depth == 3 && !values.amp);
    assert_string_equal(values.note, "second");
    assert_string_equal(pada_options_default(options, pada_options_find(options, "note")),
                        "second");
}

static void bad_presets_are_named(void **state)
{
    (void)state;
    assert_fails(pada_options_preset_text(options, "built in", "lr: fast\n", 9), PADA_EINVAL,
                 "built in:1: lr: 'fast' is not a number");
    assert_fails(pada_options_preset_text(options, "built in", "\nlrr: 1\n", 8), PADA_EINVAL,
                 "built in:2: unknown key 'lrr' (did you mean lr?)");
    assert_int_equal(pada_options_preset(options, scratch_path("missing.yaml")), PADA_ENOENT);
}

static void the_number_of_keys_is_bounded(void **state)
{
    const char *path = scratch_path("run.yaml");
    char message[1024];
    pada_text text = {0};

    (void)state;
    for (int i = 0; i < 1000; i++)
        pada_text_add(&text, "strange-%d: 1\n", i);
    scratch_write(path, text.data, text.length);
    assert_ok(pada_options_load_known(options, path));
    pada_text_add(&text, "one-more: 1\n");
    scratch_write(path, text.data, text.length);
    snprintf(message, sizeof message, "%s:1001: more than 1000 keys", path);
    assert_fails(pada_options_load_known(options, path), PADA_EDATA, message);
    pada_text_deinit(&text);
}

static void only_flat_mappings_are_taken(void **state)
{
    (void)state;
    assert_load_fails("lr: 0.1\nout: {a: b}\n", PADA_EDATA,
                      "runs.yaml:2: the value of 'out' is not a scalar");
    assert_load_fails("lr: 0.1\nout:\n  a: b\n", PADA_EDATA,
                      "runs.yaml:3: the value of 'out' is not a scalar");
    assert_load_fails("out: [1, 2]\n", PADA_EDATA,
                      "runs.yaml:1: the value of 'out' is not a scalar");
    assert_load_fails("[a, b]: c\n", PADA_EDATA, "runs.yaml:1: a key is not a scalar");
    assert_load_fails("- lr\n- out\n", PADA_EDATA, "runs.yaml:1: not a mapping of names to values");
    assert_load_fails("\njust a word\n", PADA_EDATA,
                      "runs.yaml:2: not a mapping of names to values");
    assert_load_fails("lr: 0.1\n---\nlr: 0.2\n", PADA_EDATA, "runs.yaml:2: more than one document");
    assert_load_fails("lr: 0.1\nseed: 2\nlr: 0.2\n", PADA_EDATA,
                      "runs.yaml:3: key 'lr' stands already on line 1");
    assert_load_fails("batch-size: 1\nbatch_size: 2\n", PADA_EDATA,
                      "runs.yaml:2: key 'batch-size' stands already on line 1");
    assert_load_fails("out: &a x\nnote: y\n", PADA_EDATA, "runs.yaml:1: anchors are not supported");
    assert_load_fails("&m\nlr: 0.1\n", PADA_EDATA, "runs.yaml:1: anchors are not supported");
    assert_load_fails("out: *a\n", PADA_EDATA, "runs.yaml:1: aliases are not supported");
    assert_load_fails("out: !!str 5\n", PADA_EDATA, "runs.yaml:1: tags are not supported");
    assert_load_fails("seed: 1\nout:\n", PADA_EDATA, "runs.yaml:2: key 'out' has no value");
    assert_load_fails("out: ~\n", PADA_EDATA, "runs.yaml:1: key 'out' has no value");
    assert_load_fails("out: null\n", PADA_EDATA, "runs.yaml:1: key 'out' has no value");
    assert_load_fails("out: \"a\\0b\"\n", PADA_EDATA, "runs.yaml:1: a scalar holds a zero byte");
    assert_int_equal(load_text("out: a\n  note: b\n"), PADA_EDATA);
    assert_int_equal(load_text("lr: \"0.1\n"), PADA_EDATA);
    assert_int_equal(load_text("out: caf\xe9\n"), PADA_EDATA);
    assert_int_equal(load_text("lr: 0.1\n\tout: x\n"), PADA_EDATA);
    assert_ok(load_text("out: 'null'\n"));
    assert_string_equal(values.out, "null");
}

static void help_lists_every_option(void **state)
{
    pada_text text = {0};

    (void)state;
    pada_options_help(options, &text);
    assert_int_equal(text.status, PADA_OK);
    assert_string_equal(pada_text_str(&text),
                        "  --batch-size N       images per step (default 256)\n"
                        "  --depth N            layers\n"
                        "  --seed N             of all random numbers (default 0)\n"
                        "  --lr X               learning rate (default 0.025)\n"
                        "  --decay X            weight decay\n"
                        "  --[no-]amp           mixed precision\n"
                        "  --verbose            say more\n"
                        "  --out DIR            run folder\n"
                        "  --method spos|pada   strategy (default pada)\n");
    pada_text_deinit(&text);
}

static void other_defaults_give_way_to_users(void **state)
{
    pada_text text = {0};

    (void)state;
    assert_ok(pada_options_set_default(options, "lr", "0.5"));
    assert_ok(pada_options_set_default(options, "batch-size", "8"));
    assert_ok(pada_options_set_default(options, "amp", "false"));
    assert_ok(pada_options_set_default(options, "note", "other"));
    assert_true(values.lr == 0.5);
    assert_false(values.amp);
    assert_string_equal(values.note, "other");
    assert_false(pada_options_given(options, "lr"));
    pada_options_help(options, &text);
    assert_non_null(strstr(pada_text_str(&text), "learning rate (default 0.5)\n"));
    assert_non_null(strstr(pada_text_str(&text), "  --amp "));
    pada_text_deinit(&text);
    assert_ok(parse("--lr", "0.1"));
    assert_ok(load_text("batch-size: 16\nlr: 0.2\n"));
    assert_true(values.lr == 0.1);
    assert_int_equal(values.batch_size, 16);
}

static void long_usage_gets_its_own_line(void **state)
{
    static const pada_opt wide[] = {
        {"algorithm-of-the-search", PADA_OPT_CHOICE, 0, NULL, 0, 0, "evolution|random", NULL, "how",
         false, NULL, NULL, NULL, NULL},
        {0},
    };
    pada_options *other;
    pada_text text = {0};
    int choice;

    (void)state;
    assert_ok(pada_options_create(&other));
    assert_ok(pada_options_bind(other, wide, &choice));
    pada_options_help(other, &text);
    assert_string_equal(pada_text_str(&text),
                        "  --algorithm-of-the-search evolution|random\n     how\n");
    pada_text_deinit(&text);
    pada_options_destroy(other);
}

static void dump_is_yaml_in_table_order(void **state)
{
    pada_text text = {0};

    (void)state;
    assert_ok(parse("--out", "runs/a", "--decay", "0.1", "--lr", "0.3"));
    pada_options_dump(options, &text);
    assert_string_equal(pada_text_str(&text), "batch-size: 256\n"
                                              "seed: 0\n"
                                              "lr: 0.3\n"
                                              "decay: 0.1\n"
                                              "amp: true\n"
                                              "verbose: false\n"
                                              "out: \"runs/a\"\n"
                                              "note: \"none\"\n"
                                              "method: \"pada\"\n");
    pada_text_deinit(&text);
}

/* A run that was begun before an option existed has to match one that leaves it alone. */
static void dump_leaves_out_what_older_runs_had(void **state)
{
    static const pada_opt newer[] = {
        {.name = "rule",
         .type = PADA_OPT_CHOICE,
         .offset = offsetof(settings, method),
         .default_value = "sgd",
         .choices = "sgd|adam",
         .before = "sgd"},
        {.name = "ema",
         .type = PADA_OPT_DOUBLE,
         .offset = offsetof(settings, lr),
         .default_value = "0",
         .before = "0"},
        {.name = NULL},
    };
    static const char *const words[] = {"--rule", "adam", "--ema", "0.5"};
    pada_options *other;
    pada_text text = {0};
    settings target;

    (void)state;
    assert_ok(pada_options_create(&other));
    assert_ok(pada_options_bind(other, newer, &target));
    pada_options_dump(other, &text);
    assert_string_equal(pada_text_str(&text), "");
    assert_ok(pada_options_parse(other, 4, words));
    pada_options_dump(other, &text);
    assert_string_equal(pada_text_str(&text), "rule: \"adam\"\nema: 0.5\n");
    pada_text_deinit(&text);
    pada_options_destroy(other);
}

/* What an option has now, as a flag takes it. */
static void values_are_written_as_flags_take_them(void **state)
{
    pada_text text = {0};

    (void)state;
    assert_ok(parse("--out", "a \"b\"", "--method", "spos", "--lr", "0.1"));
    assert_false(pada_options_value(options, pada_options_find(options, "depth"), &text));
    assert_string_equal(pada_text_str(&text), "");
    assert_true(pada_options_value(options, pada_options_find(options, "out"), &text));
    pada_text_add(&text, "|");
    assert_true(pada_options_value(options, pada_options_find(options, "method"), &text));
    pada_text_add(&text, "|");
    assert_true(pada_options_value(options, pada_options_find(options, "lr"), &text));
    pada_text_add(&text, "|");
    assert_true(pada_options_value(options, pada_options_find(options, "amp"), &text));
    assert_string_equal(pada_text_str(&text), "a \"b\"|spos|0.1|true");
    pada_text_deinit(&text);
}

/* Dumps the values and loads them into a second set. */
static void check_round_trip(void)
{
    pada_text text = {0};
    pada_options *other;
    settings copy;

    pada_options_dump(options, &text);
    assert_int_equal(text.status, PADA_OK);
    const char *path = scratch_path("dump.yaml");
    scratch_write(path, text.data, text.length);
    assert_ok(pada_options_create(&other));
    assert_ok(pada_options_bind(other, table, &copy));
    assert_ok(pada_options_load(other, path));
    assert_int_equal(copy.batch_size, values.batch_size);
    assert_int_equal(copy.depth, values.depth);
    assert_true(copy.seed == values.seed);
    assert_memory_equal(&copy.lr, &values.lr, sizeof copy.lr);
    assert_memory_equal(&copy.decay, &values.decay, sizeof copy.decay);
    assert_int_equal(copy.amp, values.amp);
    assert_int_equal(copy.verbose, values.verbose);
    assert_int_equal(copy.method, values.method);
    assert_string_equal(copy.note, values.note);
    assert_int_equal(!copy.out, !values.out);
    if (copy.out) assert_string_equal(copy.out, values.out);
    pada_options_destroy(other);
    pada_text_deinit(&text);
}

static void dump_reads_back_the_same(void **state)
{
    static const char *const strings[] = {
        "",
        "plain",
        "null",
        "~",
        "true",
        "5",
        "a: b",
        "# no",
        " lead",
        "trail ",
        "\"quoted\"",
        "back\\slash",
        "'single'",
        "tab\there",
        "new\nline",
        "\n\n",
        "cr\r",
        "a\x01\x1f\x7f",
        "- list",
        "{a: b}",
        "*x",
        "&x",
        "%x",
        "---",
        "|1_conv~0|+|none~0|",
        "ünïcode \xe2\x82\xac \xf0\x9f\x98\x80",
        "\xc2\x85\xc2\xa0\xe2\x80\xa8\xe2\x80\xa9x",
        "\xef\xbb\xbf bom",
        "\xef\xbf\xbe\xef\xbf\xbf",
        "\xf0\x9f\xbf\xbe",
        "ends with colon:",
        "!tag",
    };
    static const char *const numbers[] = {"0",
                                          "-0.0",
                                          "0.1",
                                          "1e-300",
                                          "4.9e-324",
                                          "1e300",
                                          "-5",
                                          "0.3333333333333333",
                                          "0.30000000000000004",
                                          "123456789.123456789"};
    char longer[5000];

    (void)state;
    check_round_trip();
    for (size_t i = 0; i < sizeof strings / sizeof strings[0]; i++) {
        char flag[128];
        snprintf(flag, sizeof flag, "--out=%s", strings[i]);
        assert_ok(parse(flag));
        check_round_trip();
    }
    memset(longer, 'x', sizeof longer);
    longer[sizeof longer - 1] = '\0';
    assert_ok(parse("--out", longer));
    check_round_trip();
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        assert_ok(parse("--decay", numbers[i]));
        check_round_trip();
    }
    assert_ok(parse("--seed=18446744073709551615", "--batch-size=1M", "--depth=9", "--no-amp",
                    "--verbose", "--method=spos", "--lr=1"));
    check_round_trip();
}

static void dump_refuses_what_it_cannot_write(void **state)
{
    pada_text text = {0};
    const char *const owned = values.note;

    (void)state;
    values.note = "caf\xe9";
    pada_options_dump(options, &text);
    values.note = owned;
    assert_int_equal(text.status, PADA_EINVAL);
    assert_string_equal(pada_message(), "note: a value is not UTF-8");
    pada_text_deinit(&text);
}

static void destroy_clears_the_strings(void **state)
{
    settings mine;
    pada_options *other;

    (void)state;
    assert_ok(pada_options_create(&other));
    assert_ok(pada_options_bind(other, table, &mine));
    assert_non_null(mine.note);
    pada_options_destroy(other);
    pada_options_destroy(NULL);
    assert_null(mine.note);
}

static void tables_can_be_combined(void **state)
{
    static const pada_opt second[] = {
        {"gamma", PADA_OPT_DOUBLE, 0, "2", 0, 0, NULL, NULL, "exponent", false, NULL, NULL, NULL,
         false},
        {0},
    };
    double gamma;

    (void)state;
    assert_ok(pada_options_bind(options, second, &gamma));
    assert_ok(parse("--gamma", "3", "--lr", "0.5"));
    assert_true(gamma == 3 && values.lr == 0.5);
}

/* Everything, from create to dump. */
static pada_status whole_life(const char *path)
{
    static const char *const argv[] = {"word", "--out", "a", "--out", "b", "--", "more"};
    pada_options *o;
    pada_text text = {0};
    settings s;
    pada_status st;

    PADA_TRY(pada_options_create(&o));
    if ((st = pada_options_bind(o, table, &s)) != PADA_OK) goto out;
    if ((st = pada_options_parse(o, 7, argv)) != PADA_OK) goto out;
    if ((st = pada_options_load(o, path)) != PADA_OK) goto out;
    pada_options_help(o, &text);
    pada_options_dump(o, &text);
    st = text.status;
out:
    pada_text_deinit(&text);
    pada_options_destroy(o);
    return st;
}

static pada_status unknown_flag(void)
{
    static const char *const argv[] = {"--bach-size"};
    pada_options *o;
    settings s;

    PADA_TRY(pada_options_create(&o));
    pada_status st = pada_options_bind(o, table, &s);
    if (st == PADA_OK) st = pada_options_parse(o, 1, argv);
    pada_options_destroy(o);
    return st == PADA_EINVAL ? PADA_OK : st;
}

static void options_survive_failing_memory(void **state)
{
    const char *path = scratch_path("oom.yaml");

    (void)state;
    scratch_write(path, "note: x\nlr: 0.1\n", 16);
    assert_survives_oom(whole_life(path), (void)0);
    assert_survives_oom(unknown_flag(), (void)0);
}

static void lists_of_numbers(void **state)
{
    static const pada_opt lists[] = {
        {.name = "widths", .type = PADA_OPT_INTS, .min = 1, .max = 4096, .help = "channels"},
        {.name = NULL}};
    pada_int_list widths;
    pada_options *own;
    pada_text text = {0};

    (void)state;
    assert_ok(pada_options_create(&own));
    assert_ok(pada_options_bind(own, lists, &widths));
    assert_int_equal(widths.n, 0);
    pada_options_dump(own, &text); /* nothing was given */
    assert_string_equal(pada_text_str(&text), "");
    assert_ok(pada_options_parse(own, 2, (const char *[]){"--widths", "40,24,32"}));
    assert_int_equal(widths.n, 3);
    assert_int_equal(widths.values[2], 32);
    pada_options_dump(own, &text);
    assert_string_equal(text.data, "widths: \"40,24,32\"\n");
    static const struct {
        const char *flag, *message;
    } bad[] = {
        {"--widths=", "--widths: '' is not a whole number"},
        {"--widths=40,,32", "--widths: '' is not a whole number"},
        {"--widths=40,0", "--widths: 0 is outside 1 to 4096"},
        {"--widths=40,24x", "--widths: '24x' is not a whole number such as 1500, 40k or 400M"},
        {"--widths=1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8", "--widths: more than 16 numbers"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_fails(pada_options_parse(own, 1, &bad[i].flag), PADA_EINVAL, bad[i].message);
    assert_int_equal(widths.n, 3);
    pada_text_deinit(&text);
    pada_options_destroy(own);
}

int main(void)
{
#define unit(f) cmocka_unit_test_setup_teardown(f, bind, unbind)
    const struct CMUnitTest tests[] = {
        unit(defaults_are_stored_by_bind),
        unit(flags_come_in_both_forms),
        unit(underscores_and_dashes_are_the_same),
        unit(last_flag_wins),
        unit(booleans_have_four_forms),
        unit(words_are_what_is_left),
        unit(earlier_names_work),
        unit(flag_errors_offer_help),
        unit(missing_value_is_an_error),
        unit(failed_flag_keeps_the_old_value),
        unit(file_sets_values),
        unit(flags_beat_files_in_any_order),
        unit(files_without_content_set_nothing),
        unit(file_errors_name_the_line),
        unit(known_keys_are_taken_from_foreign_files),
        unit(presets_are_defaults),
        unit(bad_presets_are_named),
        unit(the_number_of_keys_is_bounded),
        unit(only_flat_mappings_are_taken),
        unit(help_lists_every_option),
        unit(other_defaults_give_way_to_users),
        unit(long_usage_gets_its_own_line),
        unit(values_are_written_as_flags_take_them),
        unit(dump_is_yaml_in_table_order),
        unit(dump_leaves_out_what_older_runs_had),
        unit(dump_reads_back_the_same),
        unit(dump_refuses_what_it_cannot_write),
        unit(lists_of_numbers),
        unit(destroy_clears_the_strings),
        unit(tables_can_be_combined),
        unit(options_survive_failing_memory),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
