/* auto_stages.h - the stages of `pada auto`: commands that anybody could type. */
#ifndef PADA_CLI_AUTO_STAGES_H
#define PADA_CLI_AUTO_STAGES_H

#include "cli/auto_args.h"

/* Runs `pada data verify`. */
pada_status pada_auto_verify(const pada_auto *a);
/* Runs the stages that have not left their results in RUN yet, in order; each resumes what it finds. What they print
 * goes to standard error. A signal is PADA_ESTOPPED. */
pada_status pada_auto_run_stages(const pada_auto *a);

/* The winner of the search, and the random network that it is held against; *found false: there is none of that cost. */
pada_status pada_auto_winner(const pada_auto *a, const pada_space *space, pada_path *out);
pada_status pada_auto_rival(const pada_auto *a, const pada_space *space, bool *found,
                            pada_path *out);

#endif
