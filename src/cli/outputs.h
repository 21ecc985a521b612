/* outputs.h - results must not replace what they are made from. */
#ifndef PADA_CLI_OUTPUTS_H
#define PADA_CLI_OUTPUTS_H

#include "base/option.h"

/* PADA_EINVAL if an option that names a file to write (--out, --weights-file, --logits) names one that another option,
 * or a word, names to be read, or one that a run folder among them cannot do without. */
pada_status pada_outputs_check(const pada_options *options);

#endif
