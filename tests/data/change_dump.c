/* change_dump.c - changes one image as AutoAugment does, for compare_pillow.py; not a test by itself.
 *
 *   change_dump policies                           the policies as a table
 *   change_dump OP LEVEL +|- linear|cubic H W      planes [3, H, W] from standard input to standard output */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/auto_augment.h"

/* Timm's names. */
static const char *const names[PADA_N_IMAGE_OPS] = {
    [PADA_IMAGE_SHEAR_X] = "ShearX",
    [PADA_IMAGE_SHEAR_Y] = "ShearY",
    [PADA_IMAGE_TRANSLATE_Y] = "TranslateYRel",
    [PADA_IMAGE_ROTATE] = "Rotate",
    [PADA_IMAGE_COLOR] = "Color",
    [PADA_IMAGE_CONTRAST] = "Contrast",
    [PADA_IMAGE_SHARPNESS] = "Sharpness",
    [PADA_IMAGE_POSTERIZE] = "Posterize",
    [PADA_IMAGE_POSTERIZE_4] = "PosterizeOriginal",
    [PADA_IMAGE_SOLARIZE] = "Solarize",
    [PADA_IMAGE_SOLARIZE_ADD] = "SolarizeAdd",
    [PADA_IMAGE_EQUALIZE] = "Equalize",
    [PADA_IMAGE_AUTO_CONTRAST] = "AutoContrast",
    [PADA_IMAGE_INVERT] = "Invert",
};

static void print_policy(const char *name, pada_policy policy)
{
    for (int i = 0; i < PADA_POLICY_PAIRS; i++) {
        const pada_policy_step *pair = pada_policy_pair(policy, i);
        printf("%s,%d", name, i);
        for (int k = 0; k < 2; k++)
            printf(",%s,%d.%d,%d", names[pair[k].op], pair[k].chance / 10, pair[k].chance % 10,
                   pair[k].level);
        printf("\n");
    }
}

static int change(char **argv)
{
    pada_canvas canvas = {.h = atoi(argv[5]), .w = atoi(argv[6]), .fill = {124, 116, 104}};
    pada_policy_step step = {.level = atoi(argv[2])};
    const size_t bytes = 3 * (size_t)canvas.h * (size_t)canvas.w;

    while (step.op < PADA_N_IMAGE_OPS && strcmp(names[step.op], argv[1]) != 0)
        step.op++;
    canvas.pixels = malloc(bytes);
    canvas.spare = malloc(bytes);
    if (!canvas.pixels || !canvas.spare || fread(canvas.pixels, 1, bytes, stdin) != bytes) return 1;
    pada_canvas_change(&canvas, &step, argv[3][0] == '-',
                       strcmp(argv[4], "cubic") == 0 ? PADA_BICUBIC : PADA_BILINEAR);
    const bool ok = fwrite(canvas.pixels, 1, bytes, stdout) == bytes;
    free(canvas.pixels);
    free(canvas.spare);
    return ok ? 0 : 1;
}

int main(int argc, char **argv)
{
    if (argc == 7) return change(argv);
    print_policy("original", PADA_POLICY_ORIGINAL);
    print_policy("v0", PADA_POLICY_V0);
    return 0;
}
