/* family.c - the supernets of a run that trains several. */
#include "train/family.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "engine/engine_weights.h"

#define FOLDER "supernets"
#define SUFFIX ".safetensors"
#define DIGITS 4 /* at least */

typedef struct member {
    int number;
    bool final;
    pada_subspace part;
    uint64_t hash; /* of the file */
} member;

struct pada_family {
    pada_space space;
    char *run;
    member *members; /* by number; final ones only */
    int n, cap;
};

static pada_status path_of(pada_text *path, const char *run, int number)
{
    pada_text_add(path, "%s/" FOLDER "/%0*d" SUFFIX, run, DIGITS, number);
    return path->status;
}

/* What a file has besides the weights. */
static void visit(pada_state *state, int n_slots, member *m)
{
    uint8_t final = m->final;

    pada_state_array(state, "supernet/choices", PADA_STATE_I32, m->part.allowed, n_slots);
    pada_state_array(state, "supernet/final", PADA_STATE_U8, &final, 1);
    m->final = final != 0;
}

/* ---- while it is trained ---- */

pada_status pada_family_begin(const char *run)
{
    pada_text folder = {0};
    pada_status st;

    pada_text_add(&folder, "%s/" FOLDER, run);
    if ((st = folder.status) == PADA_OK) st = pada_make_dirs(folder.data);
    pada_text_deinit(&folder);
    return st;
}

pada_status pada_family_keep(const char *run, int number, bool final, const pada_subspace *part,
                             const pada_engine *e)
{
    member m = {.final = final, .part = *part};
    pada_state *state = NULL;
    pada_text path = {0};
    pada_status st;

    if ((st = path_of(&path, run, number)) != PADA_OK) goto out;
    if ((st = pada_state_create(&state)) != PADA_OK) goto out;
    visit(state, pada_engine_space(e)->ops->n_slots, &m);
    if ((st = pada_engine_export_weights(e, state)) != PADA_OK) goto out;
    st = pada_state_write(state, path.data);
out:
    pada_state_destroy(state);
    pada_text_deinit(&path);
    return st;
}

/* Loads the weights of a file whose hash is right. */
pada_status pada_family_inherit(const char *run, int number, pada_engine *e)
{
    pada_state *state = NULL;
    pada_text path = {0};
    pada_status st;

    if ((st = path_of(&path, run, number)) != PADA_OK) goto out;
    if ((st = pada_state_open(&state, path.data)) != PADA_OK) goto out;
    st = pada_engine_load_weights(e, path.data);
out:
    pada_state_destroy(state);
    pada_text_deinit(&path);
    return st;
}

/* ---- reading ---- */

/* The number in the name of a file, -1 if it is the name of something else. */
static int number_of(const char *name)
{
    const size_t n = strspn(name, "0123456789");

    if (n < DIGITS || n > 9 || strcmp(name + n, SUFFIX) != 0) return -1;
    return (int)strtol(name, NULL, 10);
}

static pada_status read_member(const pada_family *f, const char *path, member *m)
{
    pada_state *state;
    pada_status st;

    PADA_TRY(pada_state_open(&state, path));
    visit(state, f->space.ops->n_slots, m);
    m->hash = pada_state_hash(state);
    st = pada_state_status(state);
    if (st == PADA_OK && !pada_subspace_is_valid(&m->part, &f->space))
        st = PADA_FAIL(PADA_EDATA, "%s: its sub-space is none of %s", path, f->space.ops->name);
    pada_state_destroy(state);
    return st;
}

static pada_status add_member(pada_family *f, int number)
{
    member m = {.number = number};
    pada_text path = {0};
    void *items = f->members;
    pada_status st = path_of(&path, f->run, number);

    if (st == PADA_OK) st = read_member(f, path.data, &m);
    for (int i = 0; st == PADA_OK && m.final && i < f->n; i++)
        if (pada_subspace_meets(&m.part, &f->members[i].part, &f->space))
            st = PADA_FAIL(PADA_EDATA, "%s: its sub-space overlaps with that of supernet %d",
                           path.data, f->members[i].number);
    if (st == PADA_OK && m.final) {
        st = pada_grow(&items, &f->cap, f->n + 1, sizeof m);
        f->members = items;
        if (st == PADA_OK) f->members[f->n++] = m;
    }
    pada_text_deinit(&path);
    return st;
}

static int by_number(const void *a, const void *b)
{
    const member *x = a, *y = b;

    return (x->number > y->number) - (x->number < y->number);
}

static pada_status read_folder(pada_family *f, const char *folder)
{
    pada_status st = PADA_OK;
    DIR *dir = opendir(folder);

    if (!dir) return PADA_FAIL(PADA_EIO, "%s: %s", folder, strerror(errno));
    for (struct dirent *entry; st == PADA_OK && (entry = readdir(dir));) {
        const int number = number_of(entry->d_name);
        if (number >= 0) st = add_member(f, number);
    }
    closedir(dir);
    if (st == PADA_OK && f->n > 1) qsort(f->members, (size_t)f->n, sizeof *f->members, by_number);
    return st;
}

bool pada_family_is_there(const char *run)
{
    pada_text folder = {0};

    pada_text_add(&folder, "%s/" FOLDER, run);
    const bool is_there = folder.status == PADA_OK && pada_path_is_dir(folder.data);
    pada_text_deinit(&folder);
    return is_there;
}

pada_status pada_family_open(pada_family **out, const char *run, const pada_space *space)
{
    pada_family *f = NULL;
    pada_text folder = {0};
    void *memory;
    pada_status st;

    *out = NULL;
    pada_text_add(&folder, "%s/" FOLDER, run);
    if ((st = folder.status) != PADA_OK) goto out;
    if (!pada_path_is_dir(folder.data)) goto out;
    if ((st = pada_calloc(&memory, 1, sizeof *f)) != PADA_OK) goto out;
    f = memory;
    f->space = *space;
    if ((st = pada_strdup(&f->run, run)) != PADA_OK) goto out;
    if ((st = read_folder(f, folder.data)) != PADA_OK) goto out;
    *out = f;
    f = NULL;
out:
    pada_family_close(f);
    pada_text_deinit(&folder);
    return st;
}

void pada_family_close(pada_family *f)
{
    if (!f) return;
    pada_free(f->members);
    pada_free(f->run);
    pada_free(f);
}

int pada_family_count(const pada_family *f)
{
    return f->n;
}

int pada_family_number(const pada_family *f, int k)
{
    return f->members[k].number;
}

pada_status pada_family_find(const pada_family *f, const pada_path *path, int *out)
{
    pada_text name = {0};

    for (*out = 0; *out < f->n; ++*out)
        if (pada_subspace_has(&f->members[*out].part, &f->space, path)) return PADA_OK;
    const pada_status st = f->space.ops->format(&f->space, path, NULL, &name);
    if (st != PADA_OK) {
        pada_text_deinit(&name);
        return st;
    }
    const pada_status none =
        PADA_FAIL(PADA_ENOENT, "%s: the supernet of %s is not there; the training is not over",
                  f->run, pada_text_str(&name));
    pada_text_deinit(&name);
    return none;
}

pada_status pada_family_enter(const pada_family *f, int i, pada_engine *e)
{
    PADA_ASSERT(i >= 0 && i < f->n);
    return pada_family_inherit(f->run, f->members[i].number, e);
}

uint64_t pada_family_hash(const pada_family *f)
{
    uint64_t hash = 0;

    for (int i = 0; i < f->n; i++)
        hash = pada_hash(&f->members[i].hash, sizeof f->members[i].hash, hash);
    return hash;
}
