/* run_env.c - what a start of a run is made with, for RUN/env.json. */
#include "run/run_env.h"

#include <sys/utsname.h>
#include <time.h>

#include "base/json.h"

static json_t *utc_now(void)
{
    const time_t now = time(NULL);
    struct tm parts;
    char text[40] = "";

    if (gmtime_r(&now, &parts)) strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    return json_string(text);
}

const char *pada_run_build(void)
{
    return PADA_COMMIT " " PADA_BUILD_TYPE " " __VERSION__;
}

pada_status pada_run_env(const pada_engine *e, const pada_dataset *data, pada_text *out)
{
    struct utsname machine = {0};
    json_t *object = json_object();

    uname(&machine);
    pada_json_set(out, object, "started", utc_now());
    pada_json_set(out, object, "pada", json_string(pada_version()));
    pada_json_set(out, object, "commit", json_string(PADA_COMMIT));
    pada_json_set(out, object, "build", json_string(PADA_BUILD_TYPE));
    pada_json_set(out, object, "compiler", json_string(__VERSION__));
    pada_json_set(out, object, "system", json_string(machine.sysname));
    pada_json_set(out, object, "release", json_string(machine.release));
    pada_json_set(out, object, "machine", json_string(machine.machine));
    pada_json_set(out, object, "host", json_string(machine.nodename));
    pada_json_set(out, object, "backend", json_string(pada_engine_backend(e)->name));
    pada_json_set(out, object, "device", json_string(pada_engine_describe(e)));
    pada_json_set(out, object, "memory_bytes", json_integer(pada_engine_memory_bytes(e)));
    pada_json_set(out, object, "data", json_string(data->name));
    pada_json_set(out, object, "train_images", json_integer(data->n_images[PADA_SPLIT_TRAIN]));
    pada_json_line(out, object);
    return out->status;
}
