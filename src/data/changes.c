/* changes.c - what is done to training images beside crops and flips. */
#include "data/changes.h"

pada_status pada_changes_check(const pada_changes *changes, const pada_dataset *ds)
{
    const bool has_jitter = !pada_jitter_is_none(&changes->jitter);

    if (has_jitter && !ds->is_cut)
        return PADA_FAIL(
            PADA_EINVAL,
            "the colours of %s cannot be changed: that needs resized crops of photographs",
            ds->name);
    if (has_jitter && changes->policy != PADA_POLICY_NONE)
        return PADA_FAIL(PADA_EINVAL, "AutoAugment and colour jitter exclude each other");
    if (changes->flip_order != PADA_FLIP_AUTO && ds->is_cut)
        return PADA_FAIL(PADA_EINVAL,
                         "photographs are flipped after they are cut: an order of flips needs "
                         "images that are moved about in a border");
    if (changes->cutout > ds->shape.h)
        return PADA_FAIL(PADA_EINVAL, "a cutout of %d pixels is larger than the images of %s, %d",
                         changes->cutout, ds->name, ds->shape.h);
    return PADA_OK;
}

bool pada_changes_fit_picks(const pada_changes *changes)
{
    return changes->policy == PADA_POLICY_NONE && changes->erasing <= 0;
}
