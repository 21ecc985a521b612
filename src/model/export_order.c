/* export_order.c - carrying out what a user wants to be exported. */
#include <ctype.h>
#include <string.h>

#include "model/export.h"

static bool is_reserved(const pada_export *format, const char *name, size_t n)
{
    for (const char *const *word = format->reserved; word && *word; word++)
        if (strlen(*word) == n && strncmp(*word, name, n) == 0) return true;
    return false;
}

/* An identifier of the name of the file, or the one that was given. */
static pada_status choose_name(const pada_export_order *order, const pada_export *format,
                               pada_text *name)
{
    const char *slash = strrchr(order->file, '/'), *from = slash ? slash + 1 : order->file;
    size_t n = strcspn(from, ".");

    if (order->name) {
        from = order->name;
        n = strlen(from);
    }
    if (order->name && is_reserved(format, from, n))
        return PADA_FAIL(PADA_EINVAL, "--name %s means something else in files of format %s",
                         order->name, format->name);
    if (n == 0 || isdigit((unsigned char)from[0]) || is_reserved(format, from, n))
        pada_text_add(name, "net_");
    for (size_t i = 0; i < n; i++) {
        const bool is_fine = isalnum((unsigned char)from[i]) || from[i] == '_';
        if (order->name && (!is_fine || (i == 0 && isdigit((unsigned char)from[0]))))
            return PADA_FAIL(PADA_EINVAL, "--name %s is no identifier", order->name);
        pada_text_add(name, "%c", is_fine ? from[i] : '_');
    }
    return name->status;
}

pada_status pada_export_check(const pada_export_order *order)
{
    const pada_export *format;
    pada_text name = {0};

    PADA_TRY(pada_export_find(&format, order->format));
    if (order->weights_file && !format->has_weights_file)
        return PADA_FAIL(PADA_EINVAL, "--weights-file: a file of format %s has its weights inside",
                         format->name);
    if (order->weights_file && strcmp(order->weights_file, order->file) == 0)
        return PADA_FAIL(PADA_EINVAL, "--weights-file %s: is the file of the network itself",
                         order->weights_file);
    const pada_status st = choose_name(order, format, &name);
    pada_text_deinit(&name);
    return st;
}

static pada_status write_named(const pada_export_order *order, const pada_export *format,
                               const pada_model_about *about, const pada_engine *e,
                               const char *name)
{
    const pada_net_options how = {.fold_norms = order->fold_norms, .normalise = order->normalise};
    pada_net_list net = {0};

    pada_status st = pada_net_list_init(&net, about, e, &how);
    if (st == PADA_OK)
        st = format->write(&(pada_export_desc){.about = about,
                                               .engine = e,
                                               .net = &net,
                                               .normalises = order->normalise,
                                               .file = order->file,
                                               .weights_file = order->weights_file,
                                               .name = name});
    pada_net_list_deinit(&net);
    return st;
}

pada_status pada_export_write(const pada_export_order *order, const pada_model_about *about,
                              const pada_engine *e)
{
    const pada_export *format;
    pada_text name = {0};

    PADA_TRY(pada_export_find(&format, order->format));
    pada_status st = choose_name(order, format, &name);
    if (st == PADA_OK) st = write_named(order, format, about, e, pada_text_str(&name));
    pada_text_deinit(&name);
    return st;
}
