/* recipe_book.c - the recipes of retraining that the program has with it. */
#include "train/recipe_book.h"

#include <string.h>

#include "base/file.h"

/* The first one serves spaces that have none of their own. */
static const struct {
    const char *name, *space, *text;
    const size_t *bytes;
} book[] = {
    {"nb201", "nb201", pada_retrain_nb201, &pada_retrain_nb201_bytes},
    {"macro", "macro", pada_retrain_macro, &pada_retrain_macro_bytes},
    {"darts", "darts", pada_retrain_darts, &pada_retrain_darts_bytes},
    {"mobile", "proxyless", pada_retrain_mobile, &pada_retrain_mobile_bytes},
};

enum { N_RECIPES = sizeof book / sizeof *book };

const char *pada_recipe_book_name(int i)
{
    return i < N_RECIPES ? book[i].name : NULL;
}

pada_status pada_recipe_book_preset(pada_options *options, const char *recipe, const char *space)
{
    int found = recipe ? -1 : 0;

    for (int i = 0; i < N_RECIPES; i++)
        if (strcmp(recipe ? recipe : space, recipe ? book[i].name : book[i].space) == 0) found = i;
    if (found >= 0)
        return pada_options_preset_text(options, book[found].name, book[found].text,
                                        *book[found].bytes);
    if (!pada_path_exists(recipe))
        return PADA_FAIL(PADA_ENOENT, "--recipe %s: no such file, and not %s, %s, %s or %s", recipe,
                         book[0].name, book[1].name, book[2].name, book[3].name);
    return pada_options_preset(options, recipe);
}
