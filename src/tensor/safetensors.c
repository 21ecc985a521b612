/* safetensors.c - reads and writes named tensors in one file.
 *
 *   u64 n, little endian | JSON header, n bytes | data
 *
 *   {"__metadata__": {"key": "text", ..},
 *    "stem.0.weight": {"dtype": "F32", "shape": [16, 3, 3, 3], "data_offsets": [0, 1728]}, ..}
 *
 * Offsets count from the start of the data. Sorted by them, the tensors cover the data without hole
 * or overlap. */
#include "tensor/safetensors.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"

#define LENGTH_BYTES     8
#define MAX_HEADER_BYTES 100000000 /* as in the reference implementation */
#define METADATA_KEY     "__metadata__"

static const struct {
    const char *name;
    size_t bytes;
} dtypes[] = {
    {"F32", 4},     {"F64", 8},  {"F16", 2}, {"BF16", 2}, {"F8_E4M3", 1},
    {"F8_E5M2", 1}, {"BOOL", 1}, {"I8", 1},  {"I16", 2},  {"I32", 4},
    {"I64", 8},     {"U8", 1},   {"U16", 2}, {"U32", 4},  {"U64", 8},
};

struct pada_safetensors {
    pada_file file;          /* owned; the tensors' data point into it */
    json_t *root;            /* owned; names and metadata point into it */
    const json_t *metadata;  /* NULL: none */
    pada_st_tensor *tensors; /* owned, sorted by their place in the file */
    const pada_st_tensor **by_name;
    int n_tensors;
};

static pada_status fail_memory(const char *path)
{
    return PADA_FAIL(PADA_ENOMEM, "%s: out of memory for the header", path);
}

/* ---- shapes ---- */

static int find_dtype(const char *name)
{
    for (int i = 0; i < (int)(sizeof dtypes / sizeof dtypes[0]); i++)
        if (strcmp(dtypes[i].name, name) == 0) return i;
    return -1;
}

/* The bytes that dtype and dims ask for; false if a dimension is negative or the product does not
 * fit. */
static bool shape_bytes(const pada_st_tensor *t, size_t *out)
{
    const int dtype = find_dtype(t->dtype);

    *out = dtypes[dtype].bytes;
    for (int i = 0; i < t->n_dims; i++)
        if (t->dims[i] < 0 || !pada_size_mul(*out, (size_t)t->dims[i], out)) return false;
    return true;
}

/* ---- reading ---- */

/* Where the data start and how long they are, once the length of the header is known to be true. */
typedef struct layout {
    const char *path;
    const uint8_t *data;
    size_t bytes;
} layout;

static pada_status parse_header(pada_safetensors *st, const char *path, layout *lay)
{
    const pada_file *file = &st->file;
    json_error_t error;
    uint64_t n = 0;

    if (file->bytes < LENGTH_BYTES)
        return PADA_FAIL(PADA_EDATA, "%s: %zu bytes are too few for a safetensors file", path,
                         file->bytes);
    for (int i = 0; i < LENGTH_BYTES; i++)
        n |= (uint64_t)file->data[i] << (8 * i);
    if (n > file->bytes - LENGTH_BYTES || n > MAX_HEADER_BYTES)
        return PADA_FAIL(PADA_EDATA, "%s: header length %" PRIu64 " in a file of %zu bytes", path,
                         n, file->bytes);
    const char *text = (const char *)file->data + LENGTH_BYTES;
    if (n == 0 || text[0] != '{')
        return PADA_FAIL(PADA_EDATA, "%s: the header does not begin with '{'", path);

    st->root = json_loadb(text, (size_t)n, JSON_REJECT_DUPLICATES, &error);
    if (pada_json_ran_out()) return fail_memory(path);
    if (!st->root)
        return PADA_FAIL(PADA_EDATA, "%s: header byte %d: %s", path, error.position, error.text);
    lay->path = path;
    lay->data = file->data + LENGTH_BYTES + n;
    lay->bytes = file->bytes - LENGTH_BYTES - (size_t)n;
    return PADA_OK;
}

static pada_status check_metadata(const char *path, json_t *metadata)
{
    const char *key;
    json_t *value;

    if (!json_is_object(metadata))
        return PADA_FAIL(PADA_EDATA, "%s: %s is not an object", path, METADATA_KEY);
    json_object_foreach(metadata, key, value)
    {
        if (!json_is_string(value))
            return PADA_FAIL(PADA_EDATA, "%s: metadata '%.100s' is not a string", path, key);
    }
    return PADA_OK;
}

static pada_status parse_shape(pada_st_tensor *t, const char *path, const json_t *shape)
{
    const size_t n = json_array_size(shape); /* 0 if it is no array */
    const size_t max = sizeof t->dims / sizeof t->dims[0];

    if (!json_is_array(shape))
        return PADA_FAIL(PADA_EDATA, "%s: tensor '%.100s' has no shape", path, t->name);
    if (n > max)
        return PADA_FAIL(PADA_EDATA, "%s: tensor '%.100s' has %zu dimensions, more than %zu", path,
                         t->name, n, max);
    for (size_t i = 0; i < n; i++) {
        const json_t *dim = json_array_get(shape, i);
        if (!json_is_integer(dim))
            return PADA_FAIL(PADA_EDATA, "%s: tensor '%.100s': dimension %zu is not a whole number",
                             path, t->name, i);
        if (json_integer_value(dim) < 0)
            return PADA_FAIL(PADA_EDATA,
                             "%s: tensor '%.100s': dimension %zu is %" JSON_INTEGER_FORMAT, path,
                             t->name, i, json_integer_value(dim));
        t->dims[i] = json_integer_value(dim);
    }
    t->n_dims = (int)n;
    return PADA_OK;
}

static pada_status parse_offsets(pada_st_tensor *t, const layout *lay, const json_t *offsets)
{
    const json_t *first = json_array_get(offsets, 0), *last = json_array_get(offsets, 1);

    if (json_array_size(offsets) != 2 || !json_is_integer(first) || !json_is_integer(last))
        return PADA_FAIL(PADA_EDATA, "%s: tensor '%.100s': data_offsets are not two whole numbers",
                         lay->path, t->name);
    const json_int_t begin = json_integer_value(first), end = json_integer_value(last);
    if (begin < 0 || end < begin || (uint64_t)end > lay->bytes)
        return PADA_FAIL(PADA_EDATA,
                         "%s: tensor '%.100s': data_offsets [%" JSON_INTEGER_FORMAT
                         ", %" JSON_INTEGER_FORMAT "] in %zu bytes of data",
                         lay->path, t->name, begin, end, lay->bytes);
    t->data = lay->data + begin;
    t->bytes = (size_t)(end - begin);
    return PADA_OK;
}

static pada_status parse_tensor(pada_st_tensor *t, const layout *lay, const char *name,
                                const json_t *entry)
{
    const char *dtype = json_string_value(json_object_get(entry, "dtype"));
    size_t bytes;

    t->name = name;
    if (!json_is_object(entry))
        return PADA_FAIL(PADA_EDATA, "%s: tensor '%.100s' is not an object", lay->path, name);
    if (!dtype) return PADA_FAIL(PADA_EDATA, "%s: tensor '%.100s' has no dtype", lay->path, name);
    const int i = find_dtype(dtype);
    if (i < 0)
        return PADA_FAIL(PADA_EDATA, "%s: tensor '%.100s': unknown dtype '%.20s'", lay->path, name,
                         dtype);
    t->dtype = dtypes[i].name;
    PADA_TRY(parse_shape(t, lay->path, json_object_get(entry, "shape")));
    PADA_TRY(parse_offsets(t, lay, json_object_get(entry, "data_offsets")));
    if (!shape_bytes(t, &bytes))
        return PADA_FAIL(PADA_EDATA, "%s: tensor '%.100s': the shape overflows", lay->path, name);
    if (bytes != t->bytes)
        return PADA_FAIL(PADA_EDATA,
                         "%s: tensor '%.100s': %zu bytes of data for a shape of %zu bytes",
                         lay->path, name, t->bytes, bytes);
    return PADA_OK;
}

/* By place; an empty tensor comes before the one that starts where it does, and names break ties,
 * so that the order does not depend on the sort. */
static int compare_place(const void *a, const void *b)
{
    const pada_st_tensor *s = a, *t = b;

    if (s->data != t->data) return (uintptr_t)s->data < (uintptr_t)t->data ? -1 : 1;
    if (s->bytes != t->bytes) return s->bytes < t->bytes ? -1 : 1;
    return strcmp(s->name, t->name);
}

static int compare_name(const void *a, const void *b)
{
    return strcmp((*(const pada_st_tensor *const *)a)->name,
                  (*(const pada_st_tensor *const *)b)->name);
}

/* The sorted tensors must cover the data exactly. */
static pada_status check_cover(const pada_safetensors *st, const layout *lay)
{
    size_t end = 0;

    for (int i = 0; i < st->n_tensors; i++) {
        const pada_st_tensor *t = &st->tensors[i];
        const size_t begin = (size_t)((const uint8_t *)t->data - lay->data);
        if (begin < end)
            return PADA_FAIL(PADA_EDATA, "%s: tensor '%.100s' at %zu overlaps one that ends at %zu",
                             lay->path, t->name, begin, end);
        if (begin > end)
            return PADA_FAIL(PADA_EDATA, "%s: %zu bytes before tensor '%.100s' belong to no tensor",
                             lay->path, begin - end, t->name);
        end = begin + t->bytes;
    }
    if (end != lay->bytes)
        return PADA_FAIL(PADA_EDATA, "%s: the last %zu bytes belong to no tensor", lay->path,
                         lay->bytes - end);
    return PADA_OK;
}

static pada_status read_tensors(pada_safetensors *st, const layout *lay)
{
    void *memory;
    const char *name;
    json_t *entry;

    const size_t n = json_object_size(st->root); /* at most 100 MB / 4: fits an int */
    PADA_TRY(pada_calloc(&memory, n, sizeof *st->tensors));
    st->tensors = memory;
    PADA_TRY(pada_calloc(&memory, n, sizeof *st->by_name));
    st->by_name = memory;

    json_object_foreach(st->root, name, entry)
    {
        if (strcmp(name, METADATA_KEY) == 0) {
            PADA_TRY(check_metadata(lay->path, entry));
            st->metadata = entry;
            continue;
        }
        PADA_TRY(parse_tensor(&st->tensors[st->n_tensors], lay, name, entry));
        st->n_tensors++;
    }
    qsort(st->tensors, (size_t)st->n_tensors, sizeof *st->tensors, compare_place);
    PADA_TRY(check_cover(st, lay));
    for (int i = 0; i < st->n_tensors; i++)
        st->by_name[i] = &st->tensors[i];
    qsort(st->by_name, (size_t)st->n_tensors, sizeof *st->by_name, compare_name);
    return PADA_OK;
}

pada_status pada_safetensors_open(pada_safetensors **out, const char *path)
{
    void *memory;
    layout lay = {0};
    pada_status status;

    *out = NULL;
    pada_json_begin();
    PADA_TRY(pada_calloc(&memory, 1, sizeof **out));
    pada_safetensors *st = memory;
    if ((status = pada_file_open(&st->file, path)) != PADA_OK) goto fail;
    if ((status = parse_header(st, path, &lay)) != PADA_OK) goto fail;
    if ((status = read_tensors(st, &lay)) != PADA_OK) goto fail;
    *out = st;
    return PADA_OK;
fail:
    pada_safetensors_close(st);
    return status;
}

void pada_safetensors_close(pada_safetensors *st)
{
    if (!st) return;
    pada_free(st->by_name);
    pada_free(st->tensors);
    json_decref(st->root);
    pada_file_close(&st->file);
    pada_free(st);
}

int pada_safetensors_count(const pada_safetensors *st)
{
    return st->n_tensors;
}

const pada_st_tensor *pada_safetensors_get(const pada_safetensors *st, int i)
{
    PADA_ASSERT(i >= 0 && i < st->n_tensors);
    return &st->tensors[i];
}

const pada_st_tensor *pada_safetensors_find(const pada_safetensors *st, const char *name)
{
    const pada_st_tensor wanted = {.name = name}, *key = &wanted;
    const pada_st_tensor *const *found =
        bsearch(&key, st->by_name, (size_t)st->n_tensors, sizeof *st->by_name, compare_name);

    return found ? *found : NULL;
}

const char *pada_safetensors_metadata(const pada_safetensors *st, const char *key)
{
    return json_string_value(json_object_get(st->metadata, key));
}

/* ---- writing ---- */

/* Adds a new value to an object and gives up the caller's hold on it; `value` NULL is out of
 * memory, or a string that is not UTF-8. */
static pada_status add_member(json_t *object, const char *path, const char *key, json_t *value)
{
    if (value && json_object_get(object, key)) {
        json_decref(value);
        return PADA_FAIL(PADA_EINVAL, "%s: '%.100s' stands twice", path, key);
    }
    if (json_object_set_new(object, key, value) == 0) return PADA_OK;
    if (pada_json_ran_out()) return fail_memory(path);
    return PADA_FAIL(PADA_EINVAL, "%s: '%.100s' is not UTF-8", path, key);
}

static pada_status check_tensor(const char *path, const pada_st_tensor *t)
{
    size_t bytes;

    if (strcmp(t->name, METADATA_KEY) == 0)
        return PADA_FAIL(PADA_EINVAL, "%s: '%s' is not a name for a tensor", path, t->name);
    if (find_dtype(t->dtype) < 0)
        return PADA_FAIL(PADA_EINVAL, "%s: tensor '%.100s': unknown dtype '%.20s'", path, t->name,
                         t->dtype);
    if (t->n_dims < 0 || t->n_dims > (int)(sizeof t->dims / sizeof t->dims[0]))
        return PADA_FAIL(PADA_EINVAL, "%s: tensor '%.100s' has %d dimensions", path, t->name,
                         t->n_dims);
    if (!shape_bytes(t, &bytes) || bytes != t->bytes)
        return PADA_FAIL(PADA_EINVAL, "%s: tensor '%.100s': the shape does not ask for %zu bytes",
                         path, t->name, t->bytes);
    return PADA_OK;
}

/* The JSON value of one tensor, or NULL when out of memory. json_pack takes over what it is given,
 * also when it fails. */
static json_t *tensor_json(const pada_st_tensor *t, size_t begin)
{
    json_t *shape = json_array();

    for (int i = 0; i < t->n_dims; i++) {
        if (json_array_append_new(shape, json_integer(t->dims[i])) != 0) {
            json_decref(shape);
            return NULL;
        }
    }
    return json_pack("{s:s, s:o, s:[I, I]}", "dtype", t->dtype, "shape", shape, "data_offsets",
                     (json_int_t)begin, (json_int_t)(begin + t->bytes));
}

static pada_status add_metadata(json_t *root, const char *path, const char *const (*pairs)[2],
                                int n)
{
    if (n == 0) return PADA_OK;
    json_t *metadata = json_object();
    PADA_TRY(add_member(root, path, METADATA_KEY, metadata)); /* root owns it now */
    for (int i = 0; i < n; i++)
        PADA_TRY(add_member(metadata, path, pairs[i][0], json_string(pairs[i][1])));
    return PADA_OK;
}

static pada_status add_tensors(json_t *root, const char *path, const pada_st_tensor *tensors, int n)
{
    size_t begin = 0;

    for (int i = 0; i < n; i++) {
        PADA_TRY(check_tensor(path, &tensors[i]));
        if (tensors[i].bytes > INT64_MAX - begin)
            return PADA_FAIL(PADA_EINVAL, "%s: the tensors are too large for one file", path);
        PADA_TRY(add_member(root, path, tensors[i].name, tensor_json(&tensors[i], begin)));
        begin += tensors[i].bytes;
    }
    return PADA_OK;
}

static pada_status write_file(const char *path, const char *header, const pada_st_tensor *tensors,
                              int n_tensors)
{
    static const char blanks[LENGTH_BYTES] = "        ";
    const size_t n = strlen(header), n_blanks = (8 - n % 8) % 8;
    uint8_t length[LENGTH_BYTES];
    pada_writer *writer;
    pada_status status;

    if (n + n_blanks > MAX_HEADER_BYTES)
        return PADA_FAIL(PADA_EINVAL, "%s: a header of %zu bytes is too long", path, n);
    for (int i = 0; i < LENGTH_BYTES; i++)
        length[i] = (uint8_t)((uint64_t)(n + n_blanks) >> (8 * i));

    PADA_TRY(pada_writer_begin(&writer, path));
    if ((status = pada_writer_write(writer, length, sizeof length)) != PADA_OK) goto fail;
    if ((status = pada_writer_write(writer, header, n)) != PADA_OK) goto fail;
    if ((status = pada_writer_write(writer, blanks, n_blanks)) != PADA_OK) goto fail;
    for (int i = 0; i < n_tensors; i++)
        if ((status = pada_writer_write(writer, tensors[i].data, tensors[i].bytes)) != PADA_OK)
            goto fail;
    return pada_writer_commit(writer);
fail:
    pada_writer_abort(writer);
    return status;
}

pada_status pada_safetensors_write(const char *path, const pada_st_tensor *tensors, int n_tensors,
                                   const char *const (*metadata)[2], int n_metadata)
{
    pada_status status;
    char *header = NULL;

    pada_json_begin();
    json_t *root = json_object();
    if (!root) return fail_memory(path);
    if ((status = add_metadata(root, path, metadata, n_metadata)) != PADA_OK) goto out;
    if ((status = add_tensors(root, path, tensors, n_tensors)) != PADA_OK) goto out;
    header = json_dumps(root, JSON_COMPACT);
    /* json_dumps may leave a key out and still return a text when memory runs out inside it. */
    status = header && !pada_json_ran_out() ? write_file(path, header, tensors, n_tensors)
                                            : fail_memory(path);
out:
    pada_free(header);
    json_decref(root);
    return status;
}
