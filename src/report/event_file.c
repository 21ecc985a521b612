/* event_file.c - TensorBoard's event file of a run. */
#include "report/event_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/protobuf.h"

#define PREFIX  "events.out.tfevents."
#define VERSION "brain.Event:2"

enum {
    HEADER = 12, /* bytes before an Event */
    FOOTER = 4,  /* and after it */
    VERSION_RECORD = HEADER + 9 + 2 + sizeof VERSION - 1 + FOOTER,
    BUCKETS = 32 /* of a histogram */
};

/* Fields of the messages, as TensorFlow numbers them. */
enum { EVENT_TIME = 1, EVENT_STEP = 2, EVENT_VERSION = 3, EVENT_SUMMARY = 5 };
enum {
    SUMMARY_VALUE = 1,
    VALUE_TAG = 1,
    VALUE_SCALAR = 2,
    VALUE_HISTOGRAM = 5,
    VALUE_TENSOR = 8,
    VALUE_METADATA = 9,
};
enum { TENSOR_TYPE = 1, TENSOR_SHAPE = 2, TENSOR_STRING = 8, TYPE_STRING = 7 };
enum { METADATA_PLUGIN = 1, PLUGIN_NAME = 1 };
enum {
    HISTOGRAM_MIN = 1,
    HISTOGRAM_MAX,
    HISTOGRAM_N,
    HISTOGRAM_SUM,
    HISTOGRAM_SQUARES,
    HISTOGRAM_LIMITS,
    HISTOGRAM_COUNTS
};

typedef struct record {
    int64_t step, start; /* byte of the file */
} record;

struct pada_event_file {
    pada_text path;
    int fd;          /* plus one; 0: not open */
    record *records; /* [n_records], steps ascending; without the version */
    int n_records, cap_records;
    int64_t end; /* of the last whole record */
};

/* ---- records ---- */

static uint32_t masked_crc(const void *bytes, size_t n)
{
    const uint32_t crc = pada_crc32c(bytes, n);

    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

static void put_u32(uint8_t *to, uint32_t x)
{
    for (int i = 0; i < 4; i++)
        to[i] = (uint8_t)(x >> (8 * i));
}

static uint32_t get_u32(const uint8_t *from)
{
    return from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 | (uint32_t)from[3] << 24;
}

static void add_record(pada_text *out, const pada_text *event)
{
    uint8_t header[HEADER] = {0}, footer[FOOTER];

    put_u32(header, (uint32_t)event->length);
    put_u32(header + 4, (uint32_t)((uint64_t)event->length >> 32));
    put_u32(header + 8, masked_crc(header, 8));
    put_u32(footer, masked_crc(event->data, event->length));
    pada_text_add_bytes(out, header, HEADER);
    pada_text_add_bytes(out, event->data, event->length);
    pada_text_add_bytes(out, footer, FOOTER);
    if (event->status != PADA_OK) out->status = event->status;
}

/* Bytes of the record at the beginning; 0: it is not whole. */
static size_t whole_record(const uint8_t *bytes, size_t n)
{
    if (n < HEADER + FOOTER || get_u32(bytes + 8) != masked_crc(bytes, 8)) return 0;
    const uint64_t length = get_u32(bytes) | (uint64_t)get_u32(bytes + 4) << 32;
    if (length > n - HEADER - FOOTER) return 0;
    if (get_u32(bytes + HEADER + length) != masked_crc(bytes + HEADER, length)) return 0;
    return HEADER + (size_t)length + FOOTER;
}

/* The step of an Event that this file wrote: time, step, then the rest. -1: it is something else. */
static int64_t step_of(const uint8_t *event, size_t n)
{
    uint64_t step;

    if (n < 11 || event[0] != (EVENT_TIME << 3 | 1) || event[9] != EVENT_STEP << 3) return -1;
    if (pada_pb_read_varint(event + 10, n - 10, &step) == 0 || step > INT64_MAX) return -1;
    return (int64_t)step;
}

/* ---- opening ---- */

static pada_status remember(pada_event_file *f, int64_t step, int64_t start)
{
    void *records = f->records;

    PADA_TRY(pada_grow(&records, &f->cap_records, f->n_records + 1, sizeof *f->records));
    f->records = records;
    f->records[f->n_records++] = (record){step, start};
    return PADA_OK;
}

/* Whether it begins with the version record. */
static bool is_event_file(const pada_file *file)
{
    const size_t n = file->bytes > 0 ? whole_record(file->data, file->bytes) : 0;

    return n > HEADER + FOOTER + strlen(VERSION) &&
           memcmp(file->data + n - FOOTER - strlen(VERSION), VERSION, strlen(VERSION)) == 0;
}

/* Finds the records up to the first that is damaged, out of order or not of this program. */
static pada_status scan(pada_event_file *f, const pada_file *file)
{
    size_t at = whole_record(file->data, file->bytes);

    for (size_t n; at < file->bytes && (n = whole_record(file->data + at, file->bytes - at)) > 0;
         at += n) {
        const int64_t step = step_of(file->data + at + HEADER, n - HEADER - FOOTER);
        if (step < 0 || (f->n_records > 0 && step <= f->records[f->n_records - 1].step)) break;
        PADA_TRY(remember(f, step, (int64_t)at));
    }
    f->end = (int64_t)at;
    return PADA_OK;
}

static pada_status open_path(pada_event_file *f, int flags)
{
    const int fd = open(f->path.data, O_WRONLY | O_CLOEXEC | flags, 0666);

    if (fd < 0) return PADA_FAIL(PADA_EIO, "%s: %s", f->path.data, strerror(errno));
    f->fd = fd + 1;
    return PADA_OK;
}

/* Opens a file that is one of ours, or that was torn before its first record ended. */
static pada_status open_old(pada_event_file *f)
{
    pada_file file = {0};
    pada_status st = pada_file_open(&file, f->path.data);
    const bool is_mine = is_event_file(&file), is_torn = file.bytes < VERSION_RECORD;

    if (st == PADA_OK && is_mine) st = scan(f, &file);
    pada_file_close(&file);
    if (st == PADA_OK && (is_mine || is_torn)) st = open_path(f, 0);
    return st;
}

/* The last event file by name, so by time; nothing is appended if there is none. */
static pada_status find_newest(const char *run, pada_text *path)
{
    DIR *dir = opendir(run);
    char newest[256] = "";

    if (!dir) return PADA_FAIL(PADA_EIO, "%s: %s", run, strerror(errno));
    for (const struct dirent *entry; (entry = readdir(dir));) {
        const char *name = entry->d_name;
        if (strncmp(name, PREFIX, strlen(PREFIX)) == 0 && strcmp(name, newest) > 0 &&
            strlen(name) < sizeof newest)
            memcpy(newest, name, strlen(name) + 1);
    }
    closedir(dir);
    if (newest[0]) pada_text_add(path, "%s/%s", run, newest);
    return path->status;
}

static pada_status write_bytes(pada_event_file *f, const pada_text *bytes)
{
    if (bytes->status != PADA_OK) return bytes->status;
    const ssize_t n = pwrite(f->fd - 1, bytes->data, bytes->length, f->end);
    if (n != (ssize_t)bytes->length)
        return PADA_FAIL(PADA_EIO, "%s: %s", f->path.data, n < 0 ? strerror(errno) : "disk full");
    f->end += n;
    return PADA_OK;
}

static pada_status write_version(pada_event_file *f)
{
    pada_text event = {0}, bytes = {0};

    pada_pb_double(&event, EVENT_TIME, (double)time(NULL));
    pada_pb_bytes(&event, EVENT_VERSION, VERSION, strlen(VERSION));
    add_record(&bytes, &event);
    const pada_status st = write_bytes(f, &bytes);
    pada_text_deinit(&event);
    pada_text_deinit(&bytes);
    return st;
}

static pada_status make_new(pada_event_file *f, const char *run)
{
    char host[65] = "localhost";

    (void)gethostname(host, sizeof host - 1);
    f->path.length = 0;
    pada_text_add(&f->path, "%s/" PREFIX "%010" PRId64 ".%s", run, (int64_t)time(NULL), host);
    PADA_TRY(f->path.status);
    return open_path(f, O_CREAT | O_EXCL);
}

static pada_status open_any(pada_event_file *f, const char *run)
{
    PADA_TRY(find_newest(run, &f->path));
    if (f->path.length > 0) PADA_TRY(open_old(f));
    if (f->fd == 0) PADA_TRY(make_new(f, run));
    return f->end == 0 ? write_version(f) : PADA_OK;
}

pada_status pada_event_file_open(pada_event_file **out, const char *run)
{
    void *mem;

    *out = NULL;
    PADA_TRY(pada_calloc(&mem, 1, sizeof **out));
    const pada_status st = open_any(mem, run);
    if (st == PADA_OK)
        *out = mem;
    else
        pada_event_file_close(mem);
    return st;
}

void pada_event_file_close(pada_event_file *file)
{
    if (!file) return;
    if (file->fd > 0) close(file->fd - 1);
    pada_text_deinit(&file->path);
    pada_free(file->records);
    pada_free(file);
}

/* ---- appending ---- */

static pada_status rewind_to(pada_event_file *f, int64_t step)
{
    while (f->n_records > 0 && f->records[f->n_records - 1].step >= step)
        f->end = f->records[--f->n_records].start;
    if (ftruncate(f->fd - 1, f->end) != 0)
        return PADA_FAIL(PADA_EIO, "%s: %s", f->path.data, strerror(errno));
    return PADA_OK;
}

pada_status pada_event_file_append(pada_event_file *file, int64_t step, double unix_seconds,
                                   const pada_text *summary)
{
    pada_text event = {0}, bytes = {0};

    PADA_TRY(summary->status);
    PADA_TRY(rewind_to(file, step));
    const int64_t start = file->end;
    pada_pb_double(&event, EVENT_TIME, unix_seconds);
    pada_pb_int(&event, EVENT_STEP, step);
    pada_pb_bytes(&event, EVENT_SUMMARY, pada_text_str(summary), summary->length);
    add_record(&bytes, &event);
    pada_status st = write_bytes(file, &bytes);
    if (st == PADA_OK) st = remember(file, step, start);
    pada_text_deinit(&event);
    pada_text_deinit(&bytes);
    return st;
}

/* ---- values ---- */

void pada_summary_scalar(pada_text *summary, const char *tag, double value)
{
    pada_text item = {0};

    pada_pb_bytes(&item, VALUE_TAG, tag, strlen(tag));
    pada_pb_float(&item, VALUE_SCALAR, (float)value);
    pada_pb_message(summary, SUMMARY_VALUE, &item);
}

void pada_summary_histogram(pada_text *summary, const char *tag, const double *values, int n)
{
    double low = INFINITY, high = -INFINITY, sum = 0, squares = 0;
    double limits[BUCKETS], counts[BUCKETS] = {0};
    pada_text item = {0}, histogram = {0};

    for (int i = 0; i < n; i++) {
        low = fmin(low, values[i]);
        high = fmax(high, values[i]);
        sum += values[i];
        squares += values[i] * values[i];
    }
    const int n_buckets = high > low ? BUCKETS : 1;
    for (int k = 0; k < n_buckets; k++)
        limits[k] = k + 1 < n_buckets ? low + (high - low) * (k + 1) / n_buckets : high;
    for (int i = 0; i < n; i++) {
        const int k = high > low ? (int)((values[i] - low) / (high - low) * n_buckets) : 0;
        counts[k < n_buckets ? k : n_buckets - 1]++;
    }
    pada_pb_double(&histogram, HISTOGRAM_MIN, low);
    pada_pb_double(&histogram, HISTOGRAM_MAX, high);
    pada_pb_double(&histogram, HISTOGRAM_N, n);
    pada_pb_double(&histogram, HISTOGRAM_SUM, sum);
    pada_pb_double(&histogram, HISTOGRAM_SQUARES, squares);
    pada_pb_doubles(&histogram, HISTOGRAM_LIMITS, limits, n_buckets);
    pada_pb_doubles(&histogram, HISTOGRAM_COUNTS, counts, n_buckets);
    pada_pb_bytes(&item, VALUE_TAG, tag, strlen(tag));
    pada_pb_message(&item, VALUE_HISTOGRAM, &histogram);
    pada_pb_message(summary, SUMMARY_VALUE, &item);
}

/* A tensor of strings without dimensions, which the plugin `text` shows. */
void pada_summary_text(pada_text *summary, const char *tag, const char *markdown)
{
    static const char plugin_name[] = "text";
    pada_text item = {0}, tensor = {0}, metadata = {0}, plugin = {0}, shape = {0};

    pada_pb_bytes(&plugin, PLUGIN_NAME, plugin_name, strlen(plugin_name));
    pada_pb_message(&metadata, METADATA_PLUGIN, &plugin);
    pada_pb_int(&tensor, TENSOR_TYPE, TYPE_STRING);
    pada_pb_message(&tensor, TENSOR_SHAPE, &shape);
    pada_pb_bytes(&tensor, TENSOR_STRING, markdown, strlen(markdown));
    pada_pb_bytes(&item, VALUE_TAG, tag, strlen(tag));
    pada_pb_message(&item, VALUE_TENSOR, &tensor);
    pada_pb_message(&item, VALUE_METADATA, &metadata);
    pada_pb_message(summary, SUMMARY_VALUE, &item);
}
