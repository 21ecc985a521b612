/* study_same.c - whether processes that share the runs of a study have the same study. */
#include "cli/study_same.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/hash.h"
#include "run/team_check.h"

static uint64_t hash_text(const pada_text *text, uint64_t seed)
{
    return pada_hash(pada_text_str(text), text->length, seed);
}

/* ---- images ---- */

/* Adds the hash of every file below a folder, in whatever order they come. `within` is the path from the first folder on. */
static pada_status add_files(const char *folder, const char *within, uint64_t *sum);

static pada_status add_entry(const char *folder, const char *within, const char *name,
                             uint64_t *sum)
{
    pada_text path = {0}, inner = {0};
    struct stat found;

    pada_text_add(&path, "%s/%s", folder, name);
    pada_text_add(&inner, "%s/%s", within, name);
    pada_status st = path.status != PADA_OK ? path.status : inner.status;
    if (st == PADA_OK && stat(path.data, &found) == 0) {
        if (S_ISDIR(found.st_mode))
            st = add_files(path.data, inner.data, sum);
        else
            *sum += hash_text(&inner, (uint64_t)found.st_size);
    }
    pada_text_deinit(&path);
    pada_text_deinit(&inner);
    return st;
}

static pada_status add_files(const char *folder, const char *within, uint64_t *sum)
{
    DIR *dir = opendir(folder);
    pada_status st = PADA_OK;

    if (!dir) return PADA_OK; /* not there: another sum than where it is */
    for (const struct dirent *e; st == PADA_OK && (e = readdir(dir)) != NULL;)
        if (e->d_name[0] != '.') st = add_entry(folder, within, e->d_name, sum);
    closedir(dir);
    return st;
}

/* The images that a command is given; "": none. */
static const char *data_of(const pada_study_job *job)
{
    static const char flag[] = "--data=";

    for (int i = 0; i < job->line.n; i++) {
        const char *word = pada_text_str(&job->line.text) + job->line.at[i];
        if (strncmp(word, flag, sizeof flag - 1) == 0) return word + sizeof flag - 1;
    }
    return "";
}

static pada_status hash_images(const pada_study_jobs *jobs, uint64_t *sum)
{
    const char *before = "";

    *sum = 0;
    for (int i = 0; i < jobs->n; i++) {
        const char *data = data_of(&jobs->of[i]);
        if (*data && strcmp(data, before) != 0) PADA_TRY(add_files(data, data, sum));
        before = data;
    }
    return PADA_OK;
}

/* ---- the study ---- */

/* Runs, stages and the options that shape results. */
static uint64_t hash_stages(const pada_study_jobs *jobs)
{
    uint64_t hash = 0;

    for (int i = 0; i < jobs->n; i++) {
        hash = hash_text(&jobs->of[i].name, hash + (uint64_t)jobs->of[i].stage);
        hash = hash_text(&jobs->of[i].record, hash);
    }
    return hash;
}

static uint64_t hash_states(const pada_study_jobs *jobs)
{
    uint64_t hash = 0;

    for (int i = 0; i < jobs->n; i++)
        hash = pada_hash(&jobs->of[i].state, sizeof jobs->of[i].state, hash);
    return hash;
}

static pada_status look(const pada_study_jobs *jobs, uint64_t *images)
{
    if (!pada_path_is_dir(jobs->request->out))
        return PADA_FAIL(PADA_EDATA, "%s: another process does not see this folder of process 0",
                         jobs->request->out);
    return hash_images(jobs, images);
}

pada_status pada_study_check_same(pada_team *team, const pada_options *options,
                                  const pada_study_jobs *jobs)
{
    uint64_t images = 0;

    if (!team) return PADA_OK;
    PADA_TRY(pada_team_agree(team, look(jobs, &images)));
    const pada_same list[] = {
        {"study", hash_stages(jobs), PADA_EINVAL},
        {"finished stages", hash_states(jobs), PADA_EDATA},
        {"images", images, PADA_EDATA},
    };
    return pada_team_check_call(team, options, list, (int)(sizeof list / sizeof list[0]));
}
