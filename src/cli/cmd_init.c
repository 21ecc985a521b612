/* cmd_init.c - `pada init`: the fresh weights of a supernet, or of one network by itself, as a file. */
#include <inttypes.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/print.h"
#include "engine/engine.h"
#include "engine/engine_weights.h"
#include "run/space_args.h"

typedef struct init {
    pada_space_args space_args;
    uint64_t seed;
    const char *out, *arch;
    bool json;
} init;

static const pada_opt options_table[] = {
    {.name = "arch",
     .type = PADA_OPT_STRING,
     .offset = offsetof(init, arch),
     .meta = "ARCH",
     .help = "this network by itself, as it is retrained, instead of the supernet"},
    {.name = "seed",
     .type = PADA_OPT_U64,
     .offset = offsetof(init, seed),
     .default_value = "0",
     .meta = "N",
     .help = "seed of the random numbers"},
    {.name = "out",
     .type = PADA_OPT_STRING,
     .offset = offsetof(init, out),
     .meta = "FILE.safetensors",
     .help = "the file to write; an existing one is replaced"},
    {.name = "json",
     .type = PADA_OPT_BOOL,
     .offset = offsetof(init, json),
     .help = "a JSON object: file, tensors, weights, weights_hash"},
    {.name = NULL},
};

static pada_status bind(void *self, pada_options *options)
{
    init *s = self;

    PADA_TRY(pada_options_bind(options, options_table, s));
    return pada_space_args_bind(&s->space_args, options);
}

/* The supernet, or the network in its final form. */
static pada_status make_space(const init *s, pada_space *out)
{
    pada_space space;
    pada_path path;

    PADA_TRY(pada_space_from_args(&space, &s->space_args));
    *out = space;
    if (!s->arch) return PADA_OK;
    PADA_TRY(space.ops->parse(&space, s->arch, NULL, &path));
    pada_space_finalise(out, &space, &path);
    return PADA_OK;
}

static int64_t count_weights(const pada_params *params)
{
    int64_t n = 0;

    for (int i = 0; i < pada_params_count(params); i++)
        n += pada_params_get(params, i)->count;
    return n;
}

/* Appends what is printed about the file. */
static pada_status describe(const init *s, const pada_engine *e, pada_text *out)
{
    const pada_params *params = pada_engine_params(e);
    const int n_tensors = pada_params_count(params);
    const int64_t n_weights = count_weights(params);
    char hash[17];

    snprintf(hash, sizeof hash, "%016" PRIx64, pada_engine_weights_hash(e));
    if (s->json) {
        json_t *object = json_object();
        pada_json_set(out, object, "file", json_string(s->out));
        pada_json_set(out, object, "tensors", json_integer(n_tensors));
        pada_json_set(out, object, "weights", json_integer(n_weights));
        pada_json_set(out, object, "weights_hash", json_string(hash));
        pada_json_line(out, object);
    } else {
        pada_text_add(out, "%s: %d tensors, %" PRId64 " weights, hash %s\n", s->out, n_tensors,
                      n_weights, hash);
    }
    return out->status;
}

static pada_status run(void *self, const pada_options *options)
{
    const init *s = self;
    pada_engine *e = NULL;
    pada_text text = {0};
    pada_space space;
    pada_engine_desc desc = {.space = &space, .n_threads = 1, .batch_size = 1, .mode = PADA_EVAL};
    pada_status st;

    if (pada_options_n_words(options) > 0)
        return PADA_FAIL(PADA_EINVAL, "unexpected word '%s'; see `pada help init`",
                         pada_options_word(options, 0));
    if (!s->out) return PADA_FAIL(PADA_EINVAL, "no file to write: give --out FILE.safetensors");
    PADA_TRY(make_space(s, &space));
    /* Any backend that keeps weights does: they are the same floats on all of them. */
    PADA_TRY(pada_backend_find(&desc.backend, "cpu"));
    PADA_TRY(pada_engine_create(&e, &desc));
    if ((st = pada_engine_init_weights(e, s->seed)) != PADA_OK) goto out;
    if ((st = describe(s, e, &text)) != PADA_OK) goto out;
    if ((st = pada_engine_save_weights(e, s->out)) != PADA_OK) goto out;
    fputs(pada_text_str(&text), stdout);
out:
    pada_text_deinit(&text);
    pada_engine_destroy(e);
    return st;
}

const pada_command pada_command_init = {
    .name = "init",
    .summary = "write fresh weights of a supernet or a network to a safetensors file",
    .details =
        "The weights are uniform random numbers of the seed, under the names of the official "
        "PyTorch supernet, so that load_state_dict takes the file.",
    .usage = "pada init --out FILE.safetensors [options]",
    .examples = "pada init --space nb201 --seed 7 --out w.safetensors\n"
                "pada init --space macro --arch 01201201 --out one.safetensors\n"
                "pada init --channels 8 --cells 1 --classes 100 --out small.safetensors",
    .state_bytes = sizeof(init),
    PADA_SPACE_ARGS(init, space_args),
    .bind = bind,
    .run = run,
};
