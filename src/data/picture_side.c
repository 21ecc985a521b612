/* picture_side.c - how large a picture in a file is, without decoding it. */
#include "data/picture_side.h"

#include "base/file.h"
#include "data/image_file.h"

/* Takes the size, and ends the decoding. */
static pada_status take_head(void *context, const pada_image_head *head)
{
    *(int *)context = head->file_width < head->file_height ? head->file_width : head->file_height;
    return PADA_FAIL(PADA_ESTOPPED, "the size is known");
}

pada_status pada_picture_side(const char *path, int *side)
{
    const pada_image_sink sink = {.context = side, .begin = take_head};
    pada_file file = {0};

    *side = 0;
    PADA_TRY(pada_file_load(&file, path));
    const pada_status st = pada_image_decode(
        &(pada_image_source){.path = path, .data = file.data, .bytes = file.bytes}, &sink);
    pada_file_close(&file);
    return st == PADA_ESTOPPED ? PADA_OK : st;
}
