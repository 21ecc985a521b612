/* interface_headers.cu - the interface that backends implement, read by the CUDA compiler; and the
 * random streams, which a device draws with the same header as the host. */
#include <Random123/philox.h>

#include "backend/backend.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/status.h"
#include "op/op.h"
#include "tensor/params.h"
#include "tensor/tensor.h"

__global__ void draw(philox4x32_ctr_t counter, philox4x32_key_t key, uint32_t *out)
{
    const philox4x32_ctr_t block = philox4x32(counter, key);
    for (int i = 0; i < 4; i++)
        out[i] = block.v[i];
}
