/* part.c - the keys of parts of networks. */
#include "space/part.h"

void pada_part_op(const pada_part *part, pada_text *out)
{
    pada_text_add(out, "%s", part->op);
    if (part->squeeze > 0) pada_text_add(out, "_se%d", part->squeeze);
}

void pada_part_key(const pada_part *part, pada_text *out)
{
    const pada_shape in = part->in, y = part->out;

    pada_part_op(part, out);
    pada_text_add(out, "-input:%dx%dx%d-output:", in.h, in.w, in.c);
    if (y.h > 0) pada_text_add(out, "%dx%dx", y.h, y.w);
    pada_text_add(out, "%d", y.c);
    if (part->kernel > 0)
        pada_text_add(out, "-expand:%d-kernel:%d-stride:%d-idskip:%d", part->expand, part->kernel,
                      part->stride, part->skip);
}
