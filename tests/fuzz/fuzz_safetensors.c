/* fuzz_safetensors.c - files of named tensors; what was read can be written, and reads back. */
#include "fuzz/fuzz.h"

#include "base/hash.h"
#include "tensor/safetensors.h"

static uint64_t hash_tensor(const pada_st_tensor *t)
{
    uint64_t hash = pada_hash(t->name, strlen(t->name), 0);

    FUZZ_CHECK(t->n_dims >= 0 && t->n_dims <= 8);
    hash = pada_hash(t->dims, (size_t)t->n_dims * sizeof t->dims[0], hash);
    return pada_hash(t->data, t->bytes, hash); /* reads every byte */
}

static uint64_t hash_all(const pada_safetensors *st)
{
    uint64_t sum = 0;

    for (int i = 0; i < pada_safetensors_count(st); i++) {
        const pada_st_tensor *t = pada_safetensors_get(st, i);
        FUZZ_CHECK(pada_safetensors_find(st, t->name) == t);
        sum += hash_tensor(t);
    }
    return sum;
}

static void check_copy(const pada_safetensors *st)
{
    const int n = pada_safetensors_count(st);
    const char *path = fuzz_path("copy.safetensors");
    pada_st_tensor *tensors = calloc((size_t)n + 1, sizeof *tensors);
    pada_safetensors *copy;

    FUZZ_CHECK(tensors);
    for (int i = 0; i < n; i++)
        tensors[i] = *pada_safetensors_get(st, i);
    FUZZ_CHECK(pada_safetensors_write(path, tensors, n, NULL, 0) == PADA_OK);
    FUZZ_CHECK(pada_safetensors_open(&copy, path) == PADA_OK);
    FUZZ_CHECK(pada_safetensors_count(copy) == n);
    FUZZ_CHECK(hash_all(copy) == hash_all(st));
    pada_safetensors_close(copy);
    free(tensors);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    pada_safetensors *st;

    if (pada_safetensors_open(&st, fuzz_file("input.safetensors", data, n)) == PADA_OK) {
        (void)pada_safetensors_metadata(st, "hash");
        check_copy(st);
    }
    pada_safetensors_close(st);
    return 0;
}
