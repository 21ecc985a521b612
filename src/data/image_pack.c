/* image_pack.c - decoded images kept in a file of a cache folder, so that they are decoded once.
 *
 *   FOLDER/KEY.pack   8 numbers of 64 bits: magic, version, key, images, bytes of one, hash of the
 *                     pixels, 0, hash of these numbers; then the pixels
 *
 * The numbers are in the machine's order of bytes: another order is another magic. A pack is filled
 * under a temporary name and renamed, so that others see all of it or nothing. Its time of change is
 * when it was used last. */
#include "data/image_pack.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "data/ds_path.h"

#define MAGIC   UINT64_C(0x6b636170616461) /* "adapack" */
#define VERSION 1

enum { N_WORDS = 8, HEADER_BYTES = N_WORDS * 8 };

static size_t pixel_bytes(const pada_pack *pack)
{
    return pack->n * pack->image_bytes;
}

static void make_header(const pada_pack *pack, const uint8_t *pixels, uint64_t words[N_WORDS])
{
    const uint64_t header[N_WORDS] = {
        MAGIC,   VERSION,           pack->key,
        pack->n, pack->image_bytes, pada_hash(pixels, pixel_bytes(pack), pack->key)};

    memcpy(words, header, sizeof header);
    words[N_WORDS - 1] = pada_hash(header, HEADER_BYTES - 8, 0);
}

static void give_up(pada_pack *pack, const char *reason)
{
    snprintf(pack->remark, sizeof pack->remark, "%s", reason);
}

static void drop_block(pada_pack *pack)
{
    if (pack->is_mapped)
        munmap(pack->block, pack->block_bytes);
    else
        pada_free(pack->block);
    pack->block = NULL;
    pack->pixels = NULL;
    pack->is_mapped = false;
}

static void take_mapping(pada_pack *pack, void *block)
{
    pack->block = block;
    pack->block_bytes = HEADER_BYTES + pixel_bytes(pack);
    pack->pixels = (uint8_t *)block + HEADER_BYTES;
    pack->is_mapped = true;
}

/* ---- finding ---- */

/* Whether the mapping holds the images that it should, undamaged. */
static bool is_whole(const pada_pack *pack)
{
    uint64_t wanted[N_WORDS];

    make_header(pack, pack->pixels, wanted);
    return memcmp(pack->block, wanted, HEADER_BYTES) == 0;
}

static void find(pada_pack *pack)
{
    struct stat info;
    const int fd = open(pack->path, O_RDONLY | O_CLOEXEC);

    if (fd < 0) return;
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) &&
        (uint64_t)info.st_size == HEADER_BYTES + pixel_bytes(pack)) {
        void *block = mmap(NULL, HEADER_BYTES + pixel_bytes(pack), PROT_READ, MAP_PRIVATE, fd, 0);
        if (block != MAP_FAILED) take_mapping(pack, block);
    }
    close(fd);
    if (!pack->is_mapped) return;
    if ((pack->is_filled = is_whole(pack)))
        (void)utimensat(AT_FDCWD, pack->path, NULL, 0); /* used now */
    else
        drop_block(pack);
}

/* ---- making ---- */

/* Space on the disk is taken at once: a mapping cannot tell later that there is none. */
static int reserve(int fd, size_t bytes)
{
    return posix_fallocate(fd, 0, (off_t)bytes);
}

static void make_file(pada_pack *pack)
{
    const size_t bytes = HEADER_BYTES + pixel_bytes(pack);
    const int fd = open(pack->temp, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    void *block = MAP_FAILED;
    int error = fd < 0 ? errno : reserve(fd, bytes);

    if (error == 0) {
        block = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (block == MAP_FAILED) error = errno;
    }
    if (fd >= 0) close(fd);
    if (error == 0) {
        take_mapping(pack, block);
    } else {
        give_up(pack, strerror(error));
        if (fd >= 0) unlink(pack->temp);
    }
}

/* ---- the size of the folder ---- */

static bool is_pack_name(const char *name)
{
    return strstr(name, ".pack") != NULL;
}

/* Adds up the packs, and finds the one that was not used for longest, but never `keep`. */
static int64_t survey(const char *folder, const char *keep, char oldest[PADA__PATH_BYTES])
{
    char path[PADA__PATH_BYTES];
    struct timespec age = {0};
    int64_t total = 0;
    DIR *dir = opendir(folder);

    oldest[0] = '\0';
    for (const struct dirent *e; dir && (e = readdir(dir)) != NULL;) {
        struct stat info;
        if (!is_pack_name(e->d_name) || !pada__path_join(path, folder, e->d_name) ||
            lstat(path, &info) != 0)
            continue;
        total += info.st_size;
        const bool is_older =
            info.st_mtim.tv_sec < age.tv_sec ||
            (info.st_mtim.tv_sec == age.tv_sec && info.st_mtim.tv_nsec < age.tv_nsec);
        if (strcmp(path, keep) == 0 || (oldest[0] && !is_older)) continue;
        age = info.st_mtim;
        snprintf(oldest, PADA__PATH_BYTES, "%s", path);
    }
    if (dir) closedir(dir);
    return total;
}

static void make_space(const pada_pack *pack)
{
    char folder[PADA__PATH_BYTES], oldest[PADA__PATH_BYTES];

    snprintf(folder, sizeof folder, "%s", pack->path);
    *strrchr(folder, '/') = '\0';
    while (survey(folder, pack->path, oldest) > pack->max_bytes && oldest[0])
        if (unlink(oldest) != 0) return;
}

/* ---- open, commit, close ---- */

static pada_status make_names(pada_pack *pack, const char *folder)
{
    pada_text path = {0}, temp = {0};

    pada_text_add(&path, "%s/%016" PRIx64 ".pack", folder, pack->key);
    pada_text_add(&temp, "%s.tmp.%ld", pada_text_str(&path), (long)getpid());
    pada_status st = path.status != PADA_OK ? path.status : temp.status;
    if (st == PADA_OK) st = pada_strdup(&pack->path, pada_text_str(&path));
    if (st == PADA_OK) st = pada_strdup(&pack->temp, pada_text_str(&temp));
    pada_text_deinit(&path);
    pada_text_deinit(&temp);
    return st;
}

static pada_status open_file(pada_pack *pack, const char *folder)
{
    if (HEADER_BYTES + pixel_bytes(pack) > (uint64_t)pack->max_bytes) {
        snprintf(pack->remark, sizeof pack->remark, "%zu bytes are more than its %" PRId64,
                 HEADER_BYTES + pixel_bytes(pack), pack->max_bytes);
        return PADA_OK;
    }
    PADA_TRY(make_names(pack, folder));
    find(pack);
    if (pack->is_filled) return PADA_OK;
    const pada_status st = pada_make_dirs(folder);
    if (st == PADA_OK)
        make_file(pack);
    else if (st != PADA_ENOMEM)
        give_up(pack, pada_message());
    return st == PADA_ENOMEM ? st : PADA_OK;
}

static void forget_temp(pada_pack *pack)
{
    pada_free(pack->temp);
    pack->temp = NULL;
}

pada_status pada_pack_open(pada_pack *pack, const pada_pack_desc *desc)
{
    *pack = (pada_pack){.max_bytes = desc->max_bytes,
                        .key = desc->key,
                        .n = desc->n,
                        .image_bytes = desc->image_bytes};
    if (desc->folder && desc->n > 0) PADA_TRY(open_file(pack, desc->folder));
    if (!pack->is_mapped || pack->is_filled) forget_temp(pack);
    if (pack->is_mapped) return PADA_OK;
    PADA_TRY(pada_calloc(&pack->block, desc->n, desc->image_bytes));
    pack->pixels = pack->block;
    return PADA_OK;
}

void pada_pack_commit(pada_pack *pack)
{
    pack->is_filled = true;
    if (!pack->temp) return;
    make_header(pack, pack->pixels, pack->block);
    if (rename(pack->temp, pack->path) != 0) {
        give_up(pack, strerror(errno));
        return; /* close removes it */
    }
    (void)mprotect(pack->block, pack->block_bytes, PROT_READ);
    forget_temp(pack);
    make_space(pack);
}

void pada_pack_close(pada_pack *pack)
{
    drop_block(pack);
    if (pack->temp) unlink(pack->temp);
    pada_free(pack->temp);
    pada_free(pack->path);
    *pack = (pada_pack){0};
}
