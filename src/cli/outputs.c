/* outputs.c - results must not replace what they are made from. */
#include "cli/outputs.h"

#include <string.h>

#include "base/file.h"

/* Options that name a file to write. */
static const char *const outputs[] = {"out", "weights-file", "logits"};

/* What a run folder cannot do without. */
static const char *const papers[] = {"config.yaml", "data.json",        "env.json",
                                     "metrics.csv", "best.safetensors", "last.safetensors"};

static bool is_output(const char *name)
{
    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++)
        if (strcmp(name, outputs[i]) == 0) return true;
    return false;
}

static pada_status refuse(const char *output, const char *file, const char *read)
{
    return PADA_FAIL(PADA_EINVAL, "--%s %s: would replace %s, which is needed", output, file, read);
}

/* Whether a file to write is `read`, or a paper of that folder. */
static pada_status check_pair(const char *output, const char *file, const char *read)
{
    pada_text path = {0};
    pada_status st = PADA_OK;

    if (pada_is_same_file(file, read)) return refuse(output, file, read);
    if (!pada_path_is_dir(read)) return PADA_OK;
    for (size_t i = 0; i < sizeof papers / sizeof *papers && st == PADA_OK; i++) {
        path.length = 0;
        pada_text_add(&path, "%s/%s", read, papers[i]);
        st = path.status;
        if (st == PADA_OK && pada_is_same_file(file, path.data))
            st = refuse(output, file, path.data);
    }
    pada_text_deinit(&path);
    return st;
}

static pada_status check_option(const pada_options *options, int i, const char *output,
                                const char *file)
{
    pada_text value = {0};
    pada_status st = PADA_OK;

    if (pada_options_value(options, i, &value)) st = value.status;
    if (st == PADA_OK && value.data) st = check_pair(output, file, value.data);
    pada_text_deinit(&value);
    return st;
}

/* Holds a file to write against all that the command was given. */
static pada_status check_output(const pada_options *options, const char *output, const char *file)
{
    for (int i = 0; i < pada_options_n_words(options); i++)
        PADA_TRY(check_pair(output, file, pada_options_word(options, i)));
    for (int i = 0; i < pada_options_count(options); i++) {
        const pada_opt *opt = pada_options_get(options, i);
        if (opt->type == PADA_OPT_STRING && !is_output(opt->name))
            PADA_TRY(check_option(options, i, output, file));
    }
    return PADA_OK;
}

pada_status pada_outputs_check(const pada_options *options)
{
    for (size_t k = 0; k < sizeof outputs / sizeof *outputs; k++) {
        const int i = pada_options_find(options, outputs[k]);
        pada_text file = {0};
        pada_status st = PADA_OK;

        if (i >= 0 && pada_options_value(options, i, &file)) st = file.status;
        if (st == PADA_OK && file.data) st = check_output(options, outputs[k], file.data);
        pada_text_deinit(&file);
        PADA_TRY(st);
    }
    return PADA_OK;
}
