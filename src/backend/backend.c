/* backend.c - the list of backends. */
#include "backend/backend.h"

#include <string.h>

#include "backend/absent.h"
#include "base/text.h"

#ifdef PADA_HAS_CUDA
#define PADA_BACKEND_CUDA(name) PADA_BACKEND(name)
#else
#define PADA_BACKEND_CUDA(name)
#endif

#define PADA_BACKEND(name) extern const pada_backend pada_backend_##name;
#include "backend/backends.def"
#undef PADA_BACKEND

#ifndef PADA_HAS_CUDA
#define CUDA_HINT                                                                                \
    "not in this build (" PADA_NO_CUDA "); install the CUDA toolkit, 12 or later, and run make " \
    "again"

static const pada_absent_backend absent[] = {
    {"cuda", "bfloat16 kernels for NVIDIA GPUs", CUDA_HINT},
    {"cuda-fp32", "float32 kernels for NVIDIA GPUs", CUDA_HINT},
    {NULL, NULL, NULL},
};
#else
static const pada_absent_backend absent[] = {{NULL, NULL, NULL}};
#endif

static const pada_backend *const registry[] = {
#define PADA_BACKEND(name) &pada_backend_##name,
#include "backend/backends.def"
#undef PADA_BACKEND
};

const char *pada_backend_precision(const pada_backend *backend)
{
    if (backend->half) return "bfloat16";
    return backend->dtype == PADA_F64 ? "float64" : "float32";
}

int pada_backend_in_flight(const pada_backend *backend)
{
    return backend->in_flight > 0 ? backend->in_flight : 1;
}

int pada_backend_count(void)
{
    return (int)(sizeof registry / sizeof *registry);
}

const pada_backend *pada_backend_get(int i)
{
    PADA_ASSERT(i >= 0 && i < pada_backend_count());
    return registry[i];
}

const pada_absent_backend *pada_absent_backends(void)
{
    return absent;
}

pada_status pada_backend_finish(const pada_backend *backend, pada_device *device)
{
    return backend->finish ? backend->finish(device) : PADA_OK;
}

/* The first backend whose device is there. */
static const pada_backend *first_present(void)
{
    int i = 0;

    while (registry[i]->present && !registry[i]->present())
        i++;
    return registry[i];
}

pada_status pada_backend_find(const pada_backend **out, const char *name)
{
    const char *names[sizeof registry / sizeof *registry + 1] = {"auto"};

    *out = NULL;
    if (strcmp(name, "auto") == 0) *out = first_present();
    for (int i = 0; i < pada_backend_count(); i++) {
        names[i + 1] = registry[i]->name;
        if (strcmp(name, registry[i]->name) == 0) *out = registry[i];
    }
    if (*out) return PADA_OK;
    for (const pada_absent_backend *a = absent; a->name; a++)
        if (strcmp(name, a->name) == 0)
            return PADA_FAIL(PADA_EDEVICE, "backend %s is %s", name, a->why);
    return pada_fail_unknown(PADA_EDEVICE, "this build has no backend", name, names,
                             pada_backend_count() + 1);
}
