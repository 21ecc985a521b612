/* bench_kernels.h - speed of single operators on a backend, in cache. */
#ifndef PADA_CLI_BENCH_KERNELS_H
#define PADA_CLI_BENCH_KERNELS_H

#include "backend/backend.h"
#include "base/text.h"

typedef struct pada_bench_kernels {
    const pada_backend *backend;
    pada_device *device;
    int batch, repeats;
    double peak_macs; /* of the device, a second; 0: not known */
    bool json;
} pada_bench_kernels;

/* Times the operators of NB201 at its three resolutions and appends a table, or one JSON object per
 * line. */
pada_status pada_bench_kernels_run(const pada_bench_kernels *bench, pada_text *out);

#endif
