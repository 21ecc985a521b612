/* proxyless_codec.c - networks of ProxylessNAS as text. */
#include "space/proxyless_codec.h"

#include <string.h>

enum { GENES, LIST, BLOCKS, N_DIALECTS };

const char *const pada_proxyless_dialects[] = {"proxyless", "list", "blocks", NULL};

const char *const pada_proxyless_labels[PADA_PROXYLESS_OPS] = {
    "3x3_MBConv3", "3x3_MBConv6", "5x5_MBConv3", "5x5_MBConv6",
    "7x7_MBConv3", "7x7_MBConv6", "identity"};

static pada_status fail_at(const char *text, const char *at, const char *wanted)
{
    return PADA_FAIL(PADA_EINVAL, "proxyless architecture '%.60s', character %ld: expected %s",
                     text, (long)(at - text) + 1, wanted);
}

/* The choice of one layer: "3", or in blocks "5.6" or "Z". */
static bool read_choice(const char **at, int dialect, int *choice)
{
    const char *s = *at;

    if (dialect != BLOCKS) {
        if (*s < '0' || *s >= '0' + PADA_PROXYLESS_OPS) return false;
        *choice = *s - '0';
        *at = s + 1;
        return true;
    }
    if (*s == 'Z') {
        *choice = PADA_PROXYLESS_IDENTITY;
        *at = s + 1;
        return true;
    }
    for (int c = 0; c < PADA_PROXYLESS_IDENTITY; c++)
        if (s[0] == '0' + pada_proxyless_kernel(c) && s[1] == '.' &&
            s[2] == '0' + pada_proxyless_expand(c)) {
            *choice = c;
            *at = s + 3;
            return true;
        }
    return false;
}

/* What stands between layers; a list may do without the space. */
static const char *between(int dialect, int layer)
{
    if (dialect == LIST) return ", ";
    return dialect == BLOCKS && layer % PADA_PROXYLESS_REPEATS == 0 ? " | " : " ";
}

static bool read_between(const char **at, int dialect, int layer)
{
    const char *wanted = between(dialect, layer);
    const size_t n = strlen(wanted);

    if (strncmp(*at, wanted, n) == 0)
        *at += n;
    else if (dialect == LIST && **at == ',')
        (*at)++;
    else
        return false;
    return true;
}

static pada_status parse_layers(const pada_space *space, const char *text, int dialect,
                                pada_path *path)
{
    const bool has_brackets = dialect == LIST && *text == '[';
    const char *at = text + has_brackets;

    for (int layer = 0; layer < PADA_PROXYLESS_LAYERS; layer++) {
        int choice = 0;
        if (layer > 0 && !read_between(&at, dialect, layer))
            return fail_at(text, at, *at ? "the next of 21 layers" : "21 layers, found the end");
        const char *start = at;
        if (!read_choice(&at, dialect, &choice))
            return fail_at(text, at,
                           dialect == BLOCKS ? "3.3, 3.6, 5.3, 5.6, 7.3, 7.6 or Z"
                                             : "a number 0 to 6");
        if (choice >= space->ops->n_choices(space, layer))
            return PADA_FAIL(PADA_EINVAL,
                             "proxyless architecture '%.60s', character %ld: layer %d changes the "
                             "shape and cannot be left out",
                             text, (long)(start - text) + 1, layer + 1);
        path->choice[layer] = (uint8_t)choice;
    }
    if (has_brackets && *at++ != ']') return fail_at(text, at - 1, "']'");
    return *at ? fail_at(text, at, "the end") : PADA_OK;
}

static pada_status find_dialect(const char *text, const char *name, int *out)
{
    if (!name) {
        *out = text[0] == '[' || strchr(text, ',') ? LIST : strpbrk(text, ".|Z") ? BLOCKS : GENES;
        return PADA_OK;
    }
    for (*out = 0; *out < N_DIALECTS; ++*out)
        if (strcmp(name, pada_proxyless_dialects[*out]) == 0) return PADA_OK;
    return pada_fail_unknown(PADA_EINVAL, "unknown dialect", name, pada_proxyless_dialects,
                             N_DIALECTS);
}

pada_status pada_proxyless_parse(const pada_space *space, const char *text, const char *dialect,
                                 pada_path *path)
{
    pada_path parsed = {{0}};
    int i;

    PADA_TRY(find_dialect(text, dialect, &i));
    PADA_TRY(parse_layers(space, text, i, &parsed));
    *path = parsed;
    return PADA_OK;
}

pada_status pada_proxyless_format(const pada_space *space, const pada_path *path,
                                  const char *dialect, pada_text *out)
{
    int i = GENES;

    (void)space;
    if (dialect) PADA_TRY(find_dialect("", dialect, &i));
    if (i == LIST) pada_text_add(out, "[");
    for (int layer = 0; layer < PADA_PROXYLESS_LAYERS; layer++) {
        const int choice = path->choice[layer];
        if (layer > 0) pada_text_add(out, "%s", between(i, layer));
        if (i != BLOCKS)
            pada_text_add(out, "%d", choice);
        else if (choice == PADA_PROXYLESS_IDENTITY)
            pada_text_add(out, "Z");
        else
            pada_text_add(out, "%d.%d", pada_proxyless_kernel(choice),
                          pada_proxyless_expand(choice));
    }
    if (i == LIST) pada_text_add(out, "]");
    return out->status;
}
