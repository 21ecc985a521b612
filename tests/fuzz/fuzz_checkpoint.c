/* fuzz_checkpoint.c - checkpoints of a run.
 *
 * The hash of a checkpoint stops nearly every change of its bytes. So the input is read twice: as a
 * checkpoint, and as a file of tensors that are saved as one, with the right hash, and loaded. */
#include "fuzz/fuzz.h"

#include "tensor/safetensors.h"
#include "train/checkpoint.h"

enum { MAX_COUNT = 64 };

static void open_newest(const char *run)
{
    pada_text notes = {0}, path = {0};
    pada_state *state;
    double numbers[MAX_COUNT];

    (void)pada_checkpoint_newest(run, &path, NULL);
    FUZZ_CHECK(pada_checkpoint_open(&state, run, &notes) == PADA_OK);
    if (state) {
        const int64_t count = pada_state_count(state, "numbers");
        FUZZ_CHECK(count >= 0);
        (void)pada_state_get_note(state, "run");
        pada_state_array(state, "numbers", PADA_STATE_F64, numbers,
                         count < MAX_COUNT ? count : MAX_COUNT);
        pada_state_tensor(state, "weight", PADA_STATE_F32, (const int[]){2, 3}, 2, numbers);
        (void)pada_state_finish(state);
    }
    pada_state_destroy(state);
    pada_text_deinit(&notes);
    pada_text_deinit(&path);
}

/* Saves what a state can hold of the tensors. */
static void save_tensors(const pada_safetensors *st, const char *run)
{
    static const char *const types[] = {"F32", "F64", "I32", "I64", "U8"};
    pada_state *state;

    FUZZ_CHECK(pada_state_create(&state) == PADA_OK);
    for (int i = 0; i < pada_safetensors_count(st); i++) {
        const pada_st_tensor *t = pada_safetensors_get(st, i);
        int dims[8], type = 0;

        while (type < 5 && strcmp(types[type], t->dtype) != 0)
            type++;
        if (type == 5 || t->bytes == 0 || t->n_dims > 4) continue;
        for (int k = 0; k < t->n_dims; k++)
            dims[k] = (int)t->dims[k];
        pada_state_tensor(state, t->name, (pada_state_type)type, dims, t->n_dims,
                          (void *)(uintptr_t)t->data);
    }
    FUZZ_CHECK(pada_checkpoint_save(run, 7, 0, state) == PADA_OK);
    pada_state_destroy(state);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const char *name = "run/ckpt/00000005.safetensors";
    pada_safetensors *st;
    char run[512];

    snprintf(run, sizeof run, "%s", fuzz_empty_folder("run"));
    (void)fuzz_empty_folder("run/ckpt");
    (void)fuzz_file(name, data, n);
    open_newest(run);
    if (pada_safetensors_open(&st, fuzz_file("input.safetensors", data, n)) == PADA_OK) {
        save_tensors(st, run);
        open_newest(run);
    }
    pada_safetensors_close(st);
    return 0;
}
