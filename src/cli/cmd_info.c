/* cmd_info.c - `pada info`: what this build can do on this machine.
 *
 * What there is to say is collected as JSON once; --json prints it, otherwise it is laid out for
 * people. jansson says out of memory by NULL, and NULL in a part makes NULL of the whole, so that
 * only the root is checked. */
#include <stdio.h>

#include "backend/absent.h"
#include "backend/backend.h"
#include "cli/command.h"
#include "cli/exit_codes.h"
#include "cli/job_team.h"
#include "cli/print.h"
#include "data/dataset.h"
#include "space/space.h"
#include "strategy/strategy.h"

#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#elif defined(__GNUC__)
#define COMPILER "gcc " __VERSION__
#else
#define COMPILER "unknown compiler"
#endif

typedef struct info {
    bool json;
} info;

static const pada_opt options_table[] = {
    {.name = "json",
     .type = PADA_OPT_BOOL,
     .offset = offsetof(info, json),
     .help = "one JSON object: version, build, backends, spaces, data_sets, exit_codes"},
    {.name = NULL},
};

static pada_status bind(void *self, pada_options *options)
{
    return pada_options_bind(options, options_table, self);
}

/* ---- what there is ---- */

/* The array with one more item, or NULL; takes both over. */
static json_t *with(json_t *array, json_t *item)
{
    if (json_array_append_new(array, item) == 0) return array;
    json_decref(array);
    return NULL;
}

/* A backend, and how it runs on this machine or why it does not. */
static json_t *collect_backend(const pada_backend *backend)
{
    pada_device *device;
    const bool available = backend->open(&device, 0) == PADA_OK;
    json_t *object = json_pack("{s:s, s:s, s:b, s:s}", "name", backend->name, "summary",
                               backend->summary, "available", (int)available, "detail",
                               available ? backend->describe(device) : pada_message());

    if (available) backend->close(device);
    return object;
}

static json_t *collect_backends(void)
{
    json_t *array = json_array();

    for (int i = 0; i < pada_backend_count(); i++)
        array = with(array, collect_backend(pada_backend_get(i)));
    for (const pada_absent_backend *a = pada_absent_backends(); a->name; a++)
        array = with(array, json_pack("{s:s, s:s, s:b, s:s}", "name", a->name, "summary",
                                      a->summary, "available", 0, "detail", a->why));
    return array;
}

static json_t *collect_space(const pada_space_ops *ops)
{
    json_t *slots = json_array(), *dialects = json_array();
    pada_space space;

    PADA_ASSERT(pada_space_init(&space, ops, NULL) ==
                PADA_OK); /* the defaults of a space are right */
    for (int slot = 0; slot < ops->n_slots; slot++) {
        json_t *choices = json_array();
        for (int k = 0; k < ops->n_choices(&space, slot); k++)
            choices = with(choices, json_string(ops->choice_label(&space, slot, k)));
        slots = with(slots, choices);
    }
    for (const char *const *dialect = ops->dialects; *dialect; dialect++)
        dialects = with(dialects, json_string(*dialect));
    const double n_paths = pada_space_n_networks(&space); /* may be more than an integer holds */
    return json_pack("{s:s, s:s, s:o, s:o, s:o}", "name", ops->name, "summary", ops->summary,
                     "paths",
                     n_paths < 9e15 ? json_integer((json_int_t)n_paths) : json_real(n_paths),
                     "slots", slots, "dialects", dialects);
}

static json_t *collect_spaces(void)
{
    json_t *array = json_array();

    for (int i = 0; i < pada_space_count(); i++)
        array = with(array, collect_space(pada_space_get(i)));
    return array;
}

static json_t *collect_data_sets(void)
{
    json_t *array = json_array();

    for (int i = 0; i < pada_dataset_count(); i++)
        array = with(array, json_pack("{s:s, s:s}", "name", pada_dataset_get(i)->name, "summary",
                                      pada_dataset_get(i)->summary));
    return array;
}

static json_t *collect_methods(void)
{
    json_t *array = json_array();

    for (int i = 0; i < pada_strategy_count(); i++)
        array = with(array, json_pack("{s:s, s:s}", "name", pada_strategy_get(i)->name, "summary",
                                      pada_strategy_get(i)->summary));
    return array;
}

static json_t *collect_exit_codes(void)
{
    json_t *array = json_array();

    for (size_t i = 0; i < PADA_N_EXIT_CODES; i++)
        array = with(array, json_pack("{s:i, s:s}", "code",
                                      pada_status_exit_code(pada_exit_codes[i].status), "meaning",
                                      pada_exit_codes[i].meaning));
    return array;
}

static json_t *collect(void)
{
    return json_pack("{s:s, s:{s:s, s:s, s:s?}, s:o, s:o, s:o, s:o, s:o}", "version",
                     pada_version(), "build", "type", PADA_BUILD_TYPE, "compiler", COMPILER, "mpi",
                     pada_job_carrier(), "backends", collect_backends(), "spaces", collect_spaces(),
                     "methods", collect_methods(), "data_sets", collect_data_sets(), "exit_codes",
                     collect_exit_codes());
}

/* ---- for people ---- */

static const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/* " a b c" */
static void add_words(pada_text *out, const json_t *array)
{
    size_t i;
    json_t *word;

    json_array_foreach(array, i, word) pada_text_add(out, " %s", json_string_value(word));
}

static void add_backend(pada_text *out, const json_t *backend)
{
    const bool available = json_is_true(json_object_get(backend, "available"));

    pada_text_add(out, "  %-11s %s\n  %-11s %s: %s\n", text_of(backend, "name"),
                  text_of(backend, "summary"), "", available ? "available" : "not available",
                  text_of(backend, "detail"));
}

/* The numbers of all slots whose choices are first seen at this one. */
static void add_slots_like(pada_text *out, const json_t *slots, size_t first)
{
    const json_t *choices = json_array_get(slots, first);

    pada_text_add(out, "\n  %-11s slots", "");
    for (size_t i = first; i < json_array_size(slots); i++)
        if (json_equal(json_array_get(slots, i), choices)) pada_text_add(out, " %zu", i);
    pada_text_add(out, ":");
    add_words(out, choices);
}

static void add_space(pada_text *out, const json_t *space)
{
    const json_t *slots = json_object_get(space, "slots");

    pada_text_add(out,
                  "  %-11s %s\n  %-11s %zu slots, %.0f paths; dialects:", text_of(space, "name"),
                  text_of(space, "summary"), "", json_array_size(slots),
                  json_number_value(json_object_get(space, "paths")));
    add_words(out, json_object_get(space, "dialects"));
    for (size_t i = 0; i < json_array_size(slots); i++) {
        size_t before = 0;
        while (!json_equal(json_array_get(slots, before), json_array_get(slots, i)))
            before++;
        if (before == i) add_slots_like(out, slots, i);
    }
    pada_text_add(out, "\n");
}

static void add_named(pada_text *out, const json_t *data)
{
    pada_text_add(out, "  %-11s %s\n", text_of(data, "name"), text_of(data, "summary"));
}

static void add_exit_code(pada_text *out, const json_t *exit_code)
{
    pada_text_add(out, "  %-11d %s\n", (int)json_integer_value(json_object_get(exit_code, "code")),
                  text_of(exit_code, "meaning"));
}

static void add_section(pada_text *out, const char *title, const json_t *array,
                        void (*add)(pada_text *out, const json_t *item))
{
    size_t i;
    json_t *item;

    pada_text_add(out, "\n%s\n", title);
    json_array_foreach(array, i, item) add(out, item);
}

static void add_all(pada_text *out, const json_t *root)
{
    const json_t *build = json_object_get(root, "build");

    pada_text_add(out, "pada %s, %s build by %s\n", text_of(root, "version"),
                  text_of(build, "type"), text_of(build, "compiler"));
    if (text_of(build, "mpi"))
        pada_text_add(out, "processes of mpirun work together by %s\n", text_of(build, "mpi"));
    else
        pada_text_add(out, "built without MPI: processes do not work together\n");
    add_section(out, "backends (auto takes the first available)", json_object_get(root, "backends"),
                add_backend);
    add_section(out, "spaces", json_object_get(root, "spaces"), add_space);
    add_section(out, "methods", json_object_get(root, "methods"), add_named);
    add_section(out, "data sets", json_object_get(root, "data_sets"), add_named);
    add_section(out, "exit codes", json_object_get(root, "exit_codes"), add_exit_code);
}

static pada_status run(void *self, const pada_options *options)
{
    const info *s = self;
    pada_text out = {0};

    if (pada_options_n_words(options) > 0)
        return PADA_FAIL(PADA_EINVAL, "unexpected word '%s'; see `pada help info`",
                         pada_options_word(options, 0));
    json_t *root = collect();
    if (!root) return PADA_FAIL(PADA_ENOMEM, "out of memory (JSON)");
    if (s->json) {
        pada_json_line(&out, root);
    } else {
        add_all(&out, root);
        json_decref(root);
    }
    if (out.status == PADA_OK) fputs(pada_text_str(&out), stdout);
    const pada_status st = out.status;
    pada_text_deinit(&out);
    return st;
}

const pada_command pada_command_info = {
    .name = "info",
    .summary = "what this build can do on this machine: backends, spaces, data sets",
    .details = "Backends that cannot run here say why.",
    .usage = "pada info [--json]",
    .examples = "pada info\npada info --json",
    .state_bytes = sizeof(info),
    .bind = bind,
    .run = run,
};
