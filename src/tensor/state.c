/* state.c - what a run must remember: named arrays in one safetensors file. */
#include "tensor/state.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

#define MAX_NOTES  16
#define NAME_BYTES 160
#define HASH_KEY   "hash"

static const struct {
    const char *dtype;
    int bytes;
} types[] = {[PADA_STATE_F32] = {"F32", 4},
             [PADA_STATE_F64] = {"F64", 8},
             [PADA_STATE_I32] = {"I32", 4},
             [PADA_STATE_I64] = {"I64", 8},
             [PADA_STATE_U8] = {"U8", 1}};

struct pada_state {
    pada_status status;
    /* saving */
    pada_st_tensor *tensors; /* names and data owned */
    int n_tensors, cap_tensors;
    const char *notes[MAX_NOTES][2]; /* owned */
    int n_notes;
    /* loading; NULL when saving */
    pada_safetensors *file;
    char *path;
    int n_taken;
};

static void stick(pada_state *s, pada_status status)
{
    if (s->status == PADA_OK) s->status = status;
}

pada_status pada_state_create(pada_state **out)
{
    void *memory;

    *out = NULL;
    PADA_TRY(pada_calloc(&memory, 1, sizeof **out));
    *out = memory;
    return PADA_OK;
}

void pada_state_destroy(pada_state *s)
{
    if (!s) return;
    for (int i = 0; i < s->n_tensors; i++) {
        pada_free((void *)s->tensors[i].name);
        pada_free((void *)s->tensors[i].data);
    }
    for (int i = 0; i < s->n_notes; i++) {
        pada_free((void *)s->notes[i][0]);
        pada_free((void *)s->notes[i][1]);
    }
    pada_free(s->tensors);
    pada_safetensors_close(s->file);
    pada_free(s->path);
    pada_free(s);
}

bool pada_state_loading(const pada_state *s)
{
    return s->file != NULL;
}

/* ---- the hash ---- */

static uint64_t hash_text(const char *text, uint64_t seed)
{
    return pada_hash(text, strlen(text), seed);
}

/* The hash of a file is the sum of these, so that the order of the tensors does not matter. */
static uint64_t hash_tensor(const pada_st_tensor *t)
{
    uint64_t hash = hash_text(t->name, 0);

    hash = hash_text(t->dtype, hash);
    hash = pada_hash(t->dims, (size_t)t->n_dims * sizeof t->dims[0], hash);
    return pada_hash(t->data, t->bytes, hash);
}

static void print_hash(char text[17], uint64_t hash)
{
    snprintf(text, 17, "%016" PRIx64, hash);
}

/* ---- loading ---- */

static uint64_t hash_file(const pada_safetensors *file)
{
    uint64_t hash = 0;

    for (int i = 0; i < pada_safetensors_count(file); i++)
        hash += hash_tensor(pada_safetensors_get(file, i));
    return hash;
}

pada_status pada_state_verify(const pada_safetensors *file, const char *path)
{
    const char *want = pada_safetensors_metadata(file, HASH_KEY);
    char have[17];

    if (!want) return PADA_OK;
    print_hash(have, hash_file(file));
    if (strcmp(have, want) != 0)
        return PADA_FAIL(PADA_EDATA, "%s: damaged: its contents have the hash %s, not %s", path,
                         have, want);
    return PADA_OK;
}

pada_status pada_state_open(pada_state **out, const char *path)
{
    pada_state *s;
    pada_status st;

    PADA_TRY(pada_state_create(out));
    s = *out;
    if ((st = pada_strdup(&s->path, path)) != PADA_OK) goto fail;
    if ((st = pada_safetensors_open(&s->file, path)) != PADA_OK) goto fail;
    if (!pada_safetensors_metadata(s->file, HASH_KEY)) {
        st = PADA_FAIL(PADA_EDATA, "%s: not a checkpoint: it has no hash", path);
        goto fail;
    }
    if ((st = pada_state_verify(s->file, path)) != PADA_OK) goto fail;
    return PADA_OK;
fail:
    pada_state_destroy(s);
    *out = NULL;
    return st;
}

static void load(pada_state *s, const pada_st_tensor *want, void *data)
{
    const pada_st_tensor *have = pada_safetensors_find(s->file, want->name);

    if (!have) {
        stick(s, PADA_FAIL(PADA_EDATA, "%s: tensor %s is missing", s->path, want->name));
        return;
    }
    if (strcmp(have->dtype, want->dtype) != 0 || have->bytes != want->bytes) {
        stick(s,
              PADA_FAIL(PADA_EDATA, "%s: tensor %s has %zu bytes of type %s, not %zu of type %s",
                        s->path, want->name, have->bytes, have->dtype, want->bytes, want->dtype));
        return;
    }
    if (have->bytes > 0) memcpy(data, have->data, have->bytes);
    s->n_taken++;
}

/* ---- saving ---- */

static pada_status save(pada_state *s, const pada_st_tensor *tensor)
{
    void *items = s->tensors, *copy = NULL;
    char *name = NULL;

    PADA_TRY(pada_grow(&items, &s->cap_tensors, s->n_tensors + 1, sizeof *s->tensors));
    s->tensors = items;
    PADA_TRY(pada_strdup(&name, tensor->name));
    const pada_status st = pada_calloc(&copy, tensor->bytes, 1);
    if (st != PADA_OK) {
        pada_free(name);
        return st;
    }
    if (tensor->bytes > 0) memcpy(copy, tensor->data, tensor->bytes);
    s->tensors[s->n_tensors] = *tensor;
    s->tensors[s->n_tensors].name = name;
    s->tensors[s->n_tensors].data = copy;
    s->n_tensors++;
    return PADA_OK;
}

static void visit(pada_state *s, const pada_st_tensor *tensor, void *data)
{
    if (s->status != PADA_OK) return;
    if (s->file)
        load(s, tensor, data);
    else
        stick(s, save(s, tensor));
}

void pada_state_array(pada_state *s, const char *name, pada_state_type type, void *data,
                      int64_t count)
{
    char full[NAME_BYTES];
    const int n = snprintf(full, sizeof full, PADA_STATE_PREFIX "%s", name);

    PADA_ASSERT(n > 0 && n < NAME_BYTES && count >= 0);
    visit(s,
          &(pada_st_tensor){.name = full,
                            .dtype = types[type].dtype,
                            .n_dims = 1,
                            .dims = {count},
                            .data = data,
                            .bytes = (size_t)count * (size_t)types[type].bytes},
          data);
}

int64_t pada_state_count(const pada_state *s, const char *name)
{
    char full[NAME_BYTES];
    const int n = snprintf(full, sizeof full, PADA_STATE_PREFIX "%s", name);

    PADA_ASSERT(n > 0 && n < NAME_BYTES && s->file);
    const pada_st_tensor *t = pada_safetensors_find(s->file, full);
    return t && t->n_dims == 1 ? t->dims[0] : 0;
}

void pada_state_tensor(pada_state *s, const char *name, pada_state_type type, const int *dims,
                       int n_dims, void *data)
{
    pada_st_tensor t = {.name = name, .dtype = types[type].dtype, .n_dims = n_dims, .data = data};

    t.bytes = (size_t)types[type].bytes;
    for (int i = 0; i < n_dims; i++) {
        t.dims[i] = dims[i];
        t.bytes *= (size_t)dims[i];
    }
    visit(s, &t, data);
}

void pada_state_note(pada_state *s, const char *key, const char *value)
{
    char *copies[2] = {NULL, NULL};

    if (s->file || s->status != PADA_OK) return;
    PADA_ASSERT(s->n_notes < MAX_NOTES - 1); /* one is left for the hash */
    pada_status st = pada_strdup(&copies[0], key);
    if (st == PADA_OK) st = pada_strdup(&copies[1], value);
    if (st != PADA_OK) {
        pada_free(copies[0]);
        stick(s, st);
        return;
    }
    s->notes[s->n_notes][0] = copies[0];
    s->notes[s->n_notes][1] = copies[1];
    s->n_notes++;
}

const char *pada_state_get_note(const pada_state *s, const char *key)
{
    return s->file ? pada_safetensors_metadata(s->file, key) : NULL;
}

void pada_state_reject(pada_state *s, pada_status status)
{
    stick(s, status);
}

pada_status pada_state_status(const pada_state *s)
{
    return s->status;
}

uint64_t pada_state_hash(const pada_state *s)
{
    PADA_ASSERT(s->file);
    return hash_file(s->file);
}

pada_status pada_state_finish(const pada_state *s)
{
    if (s->status != PADA_OK) return s->status;
    if (s->file && s->n_taken != pada_safetensors_count(s->file))
        return PADA_FAIL(PADA_EDATA, "%s: %d tensors, of which this run knows %d", s->path,
                         pada_safetensors_count(s->file), s->n_taken);
    return PADA_OK;
}

int64_t pada_state_bytes(const pada_state *s)
{
    enum { ENTRY = 160, QUOTES = 8 }; /* of the header: type, shape and offsets; marks of a note */
    size_t bytes = 4096;

    PADA_ASSERT(!s->file);
    for (int i = 0; i < s->n_tensors; i++)
        bytes += s->tensors[i].bytes + strlen(s->tensors[i].name) + ENTRY;
    /* Every byte of a text may be escaped. */
    for (int i = 0; i < s->n_notes; i++)
        bytes += 2 * (strlen(s->notes[i][0]) + strlen(s->notes[i][1])) + QUOTES;
    return (int64_t)bytes;
}

pada_status pada_state_write(const pada_state *s, const char *path)
{
    const char *metadata[MAX_NOTES][2];
    uint64_t hash = 0;
    char text[17];

    PADA_ASSERT(!s->file);
    if (s->status != PADA_OK) return s->status;
    for (int i = 0; i < s->n_tensors; i++)
        hash += hash_tensor(&s->tensors[i]);
    print_hash(text, hash);
    memcpy(metadata, s->notes, sizeof metadata);
    metadata[s->n_notes][0] = HASH_KEY;
    metadata[s->n_notes][1] = text;
    return pada_safetensors_write(path, s->tensors, s->n_tensors, (const char *const(*)[2])metadata,
                                  s->n_notes + 1);
}
