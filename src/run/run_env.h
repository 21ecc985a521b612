/* run_env.h - what a start of a run is made with, for RUN/env.json. */
#ifndef PADA_RUN_RUN_ENV_H
#define PADA_RUN_RUN_ENV_H

#include "base/text.h"
#include "engine/engine.h"

/* Appends one JSON object: time, version, machine, backend and what it runs on, data set. Nothing in it
 * influences the run; a run resumes with the backend it began with (run_starts.h). */
pada_status pada_run_env(const pada_engine *e, const pada_dataset *data, pada_text *out);

/* Which pada this is: version, commit, build, compiler. */
const char *pada_run_build(void);

#endif
