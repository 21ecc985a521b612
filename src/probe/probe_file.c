/* probe_file.c - the rows that a kind of measurement has made of a run. */
#include "probe/probe_file.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "study/results_file.h"

#define KEY_HEADER "epoch,step,checkpoint,draws,exact,paths,images,seed"

struct pada__probe_file {
    const pada_probe_kind *kind;
    const pada_probe_settings *settings;
    pada__results_file *file;
    pada__probe_line *rows; /* [n] of these settings */
    int n, cap;
};

static int count_columns(const pada_probe_kind *kind)
{
    int n = 0;

    while (kind->columns[n].name)
        n++;
    PADA_ASSERT(n <= PADA_MAX_PROBE_COLUMNS);
    return n;
}

static pada_status read_u64(pada_csv *csv, int base, uint64_t *out)
{
    char text[PADA_CSV_FIELD], *end;

    PADA_TRY(pada_csv_field(csv, text));
    if (!(text[0] >= '0' && text[0] <= '9') && !(base == 16 && text[0] >= 'a' && text[0] <= 'f'))
        return PADA_FAIL(PADA_EDATA, "%s:%d: '%s' is no number", csv->name, csv->line, text);
    *out = strtoull(text, &end, base);
    if (*end) return PADA_FAIL(PADA_EDATA, "%s:%d: '%s' is no number", csv->name, csv->line, text);
    return PADA_OK;
}

static void list_settings(const pada_probe_settings *s, uint64_t out[PADA__PROBE_SETTINGS])
{
    out[0] = (uint64_t)s->draws;
    out[1] = (uint64_t)s->exact;
    out[2] = (uint64_t)s->paths;
    out[3] = (uint64_t)s->images;
    out[4] = s->seed;
}

static pada_status read_value(pada_csv *csv, const char *name, double *out)
{
    char text[PADA_CSV_FIELD];

    PADA_TRY(pada_csv_field(csv, text));
    *out = NAN;
    return text[0] ? pada_csv_number(csv, text, name, out) : PADA_OK;
}

pada_status pada__probe_read_line(pada_csv *csv, const pada_probe_kind *kind, pada__probe_line *out)
{
    int epoch, step;

    *out = (pada__probe_line){.key = {0}};
    PADA_TRY(pada__results_read_int(csv, "epoch", 0, INT32_MAX, &epoch));
    PADA_TRY(pada__results_read_int(csv, "step", 0, INT32_MAX, &step));
    out->key.epoch = epoch;
    out->key.step = step;
    PADA_TRY(read_u64(csv, 16, &out->key.checkpoint));
    for (int i = 0; i < PADA__PROBE_SETTINGS; i++)
        PADA_TRY(read_u64(csv, 10, &out->settings[i]));
    for (int i = 0; kind->columns[i].name; i++)
        PADA_TRY(read_value(csv, kind->columns[i].name, &out->values[i]));
    return PADA_OK;
}

/* A line of the file; those of other settings are checked and passed over. */
static pada_status take_line(void *user, pada_csv *csv)
{
    pada__probe_file *f = user;
    uint64_t own[PADA__PROBE_SETTINGS];
    void *memory = f->rows;
    pada__probe_line line;

    list_settings(f->settings, own);
    PADA_TRY(pada__probe_read_line(csv, f->kind, &line));
    if (memcmp(own, line.settings, sizeof own) != 0) return PADA_OK;
    PADA_TRY(pada_grow(&memory, &f->cap, f->n + 1, sizeof *f->rows));
    f->rows = memory;
    f->rows[f->n++] = line;
    return PADA_OK;
}

void pada__probe_add_header(const pada_probe_kind *kind, pada_text *out)
{
    pada_text_add(out, KEY_HEADER);
    for (int i = 0; kind->columns[i].name; i++)
        pada_text_add(out, ",%s", kind->columns[i].name);
}

static pada_status open_file(pada__probe_file *f, const char *run)
{
    pada_text folder = {0}, path = {0}, header = {0};
    pada__results_found found;
    pada_status st;

    pada_text_add(&folder, "%s/probes", run);
    pada_text_add(&path, "%s/probes/%s.csv", run, f->kind->name);
    pada__probe_add_header(f->kind, &header);
    if ((st = folder.status) != PADA_OK || (st = path.status) != PADA_OK ||
        (st = header.status) != PADA_OK)
        goto out;
    if ((st = pada_make_dirs(folder.data)) != PADA_OK) goto out;
    st = pada__results_file_open(&f->file,
                                 &(pada__results_desc){.path = path.data,
                                                       .header = header.data,
                                                       .what = "the results of this `pada probe`",
                                                       .take = take_line,
                                                       .user = f},
                                 &found);
out:
    pada_text_deinit(&folder);
    pada_text_deinit(&path);
    pada_text_deinit(&header);
    return st;
}

pada_status pada__probe_file_open(pada__probe_file **out, const char *run,
                                  const pada_probe_kind *kind, const pada_probe_settings *settings)
{
    void *memory;

    *out = NULL;
    PADA_TRY(pada_calloc(&memory, 1, sizeof **out));
    pada__probe_file *f = memory;
    *f = (pada__probe_file){.kind = kind, .settings = settings};
    (void)count_columns(kind);
    const pada_status st = open_file(f, run);
    if (st != PADA_OK) {
        pada__probe_file_close(f);
        return st;
    }
    *out = f;
    return PADA_OK;
}

bool pada__probe_file_find(const pada__probe_file *f, pada__probe_key *key, double *values)
{
    for (int i = 0; i < f->n; i++) {
        const pada__probe_line *r = &f->rows[i];
        if (r->key.step != key->step || r->key.checkpoint != key->checkpoint) continue;
        key->epoch = r->key.epoch;
        memcpy(values, r->values, (size_t)count_columns(f->kind) * sizeof *values);
        return true;
    }
    return false;
}

pada_status pada__probe_file_append(pada__probe_file *f, const pada__probe_key *key,
                                    const double *values)
{
    uint64_t settings[PADA__PROBE_SETTINGS];
    pada_text line = {0};

    list_settings(f->settings, settings);
    pada_text_add(&line, "%d,%" PRId64 ",%016" PRIx64, key->epoch, key->step, key->checkpoint);
    for (int i = 0; i < PADA__PROBE_SETTINGS; i++)
        pada_text_add(&line, ",%" PRIu64, settings[i]);
    for (int i = 0; f->kind->columns[i].name; i++) {
        pada_text_add(&line, ",");
        if (isfinite(values[i])) pada_text_add_double(&line, values[i]);
    }
    pada_text_add(&line, "\n");
    pada_status st = line.status;
    if (st == PADA_OK) st = pada__results_file_append(f->file, line.data, line.length);
    if (st == PADA_OK) st = pada__results_file_sync(f->file);
    pada_text_deinit(&line);
    return st;
}

void pada__probe_file_close(pada__probe_file *f)
{
    if (!f) return;
    pada__results_file_close(f->file);
    pada_free(f->rows);
    pada_free(f);
}
