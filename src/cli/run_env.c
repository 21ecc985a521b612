/* run_env.c - RUN/env.json: what a run was made with. */
#include "cli/run_env.h"

#include <sys/utsname.h>
#include <time.h>

#include "base/file.h"
#include "cli/print.h"

static json_t *utc_now(void)
{
    const time_t now = time(NULL);
    struct tm parts;
    char text[40] = "";

    if (gmtime_r(&now, &parts)) strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    return json_string(text);
}

pada_status pada_run_env_write(const char *run, const pada_engine *e, const pada_dataset *data)
{
    struct utsname machine = {0};
    pada_text text = {0}, path = {0};
    json_t *object = json_object();
    pada_status st;

    uname(&machine);
    pada_json_set(&text, object, "pada", json_string(PADA_VERSION));
    pada_json_set(&text, object, "commit", json_string(PADA_COMMIT));
    pada_json_set(&text, object, "build", json_string(PADA_BUILD_TYPE));
    pada_json_set(&text, object, "compiler", json_string(__VERSION__));
    pada_json_set(&text, object, "system", json_string(machine.sysname));
    pada_json_set(&text, object, "release", json_string(machine.release));
    pada_json_set(&text, object, "machine", json_string(machine.machine));
    pada_json_set(&text, object, "host", json_string(machine.nodename));
    pada_json_set(&text, object, "backend", json_string(pada_engine_describe(e)));
    pada_json_set(&text, object, "memory_bytes", json_integer(pada_engine_memory_bytes(e)));
    pada_json_set(&text, object, "data", json_string(data->name));
    pada_json_set(&text, object, "train_images", json_integer(data->n_images[PADA_SPLIT_TRAIN]));
    pada_json_set(&text, object, "started", utc_now());
    pada_json_line(&text, object);
    pada_text_add(&path, "%s/env.json", run);
    st = text.status != PADA_OK ? text.status : path.status;
    if (st == PADA_OK) st = pada_file_replace(pada_text_str(&path), text.data, text.length);
    pada_text_deinit(&text);
    pada_text_deinit(&path);
    return st;
}
