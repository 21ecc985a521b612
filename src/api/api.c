/* api.c - what the functions of include/pada.h share. They check arguments; the layers below do the work. */
#include <string.h>

#include "api/api_parts.h"
#include "base/mem.h"

enum { MAX_BATCH = 65536, MAX_THREADS = 1024 };

const char *pada_version(void)
{
    return PADA_VERSION;
}

pada_status pada__fail_null(const char *function)
{
    return PADA_FAIL(PADA_EINVAL, "%s: an argument is NULL", function);
}

pada_status pada__check_path(const pada_space *space, const pada_path *path)
{
    if (pada_path_is_valid(space, path)) return PADA_OK;
    return PADA_FAIL(PADA_EINVAL, "the path has a choice that space %s does not have",
                     space->ops->name);
}

static pada_status check_range(const char *what, int value, int max)
{
    if (value >= 0 && value <= max) return PADA_OK;
    return PADA_FAIL(PADA_EINVAL, "%s %d is not in 0 to %d", what, value, max);
}

pada_status pada__read_config(const pada_net_config *config, pada_engine_args *args,
                              int *batch_size)
{
    static const pada_net_config defaults;
    const pada_backend *backend;

    if (!config) config = &defaults;
    PADA_TRY(check_range("threads", config->threads, MAX_THREADS));
    PADA_TRY(check_range("batch size", config->batch_size, MAX_BATCH));
    if (config->batch_size > 0) *batch_size = config->batch_size;
    *args = (pada_engine_args){.backend = config->backend ? config->backend : "auto",
                               .threads = config->threads};
    PADA_TRY(pada_backend_find(&backend, args->backend));
    if (backend->plans_only)
        return PADA_FAIL(PADA_EINVAL, "backend %s computes nothing", backend->name);
    return PADA_OK;
}

pada_status pada__lock_create(pthread_mutex_t **out)
{
    void *memory;

    PADA_TRY(pada_calloc(&memory, 1, sizeof **out));
    const int error = pthread_mutex_init(memory, NULL);
    if (error != 0) {
        pada_free(memory);
        return PADA_FAIL(PADA_ENOMEM, "out of memory (a lock: %s)", strerror(error));
    }
    *out = memory;
    return PADA_OK;
}

void pada__lock_destroy(pthread_mutex_t *lock)
{
    if (lock) pthread_mutex_destroy(lock);
    pada_free(lock);
}

void pada__lock_take(pthread_mutex_t *lock)
{
    PADA_ASSERT(pthread_mutex_lock(lock) == 0);
}

pada_status pada__lock_give_back(pthread_mutex_t *lock, pada_status st)
{
    PADA_ASSERT(pthread_mutex_unlock(lock) == 0);
    return st;
}
