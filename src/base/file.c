/* file.c - whole files: mapping them, and replacing them so that a crash leaves the old or the new
 * one.
 *
 * Writer:  begin            write*          commit
 *          path.tmp.PID  -> bytes        -> fsync, close, rename to path, fsync of the folder
 *
 * Invariant: the temporary file exists exactly while writer->fd >= 0 or the rename is pending;
 * every failure removes it at once. */
#define _XOPEN_SOURCE 700 /* nftw */
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"

#define TEMP_MARK ".tmp." /* between the name of the file and the process */

struct pada_writer {
    char *path, *temp;  /* owned; temp NULL: path is written to as it is */
    int fd, folder_fd;  /* -1: closed */
    pada_status status; /* the first failure; later calls return it again */
    int error;          /* errno of that failure */
};

/* strerror is thread safe in the C libraries we build on (glibc since 2.32, musl). */
static pada_status fail_errno(pada_status status, const char *path, int error)
{
    return PADA_FAIL(status, "%s: %s", path, strerror(error));
}

/* Of an open file that has some bytes. */
static pada_status map_bytes(pada_file *file, int fd, size_t bytes, const char *path)
{
    void *data = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0);

    if (data == MAP_FAILED) return fail_errno(PADA_EIO, path, errno);
    file->data = data;
    file->bytes = bytes;
    return PADA_OK;
}

/* The same; fewer bytes if the file has become shorter since. */
static pada_status copy_bytes(pada_file *file, int fd, size_t bytes, const char *path)
{
    void *memory;

    PADA_TRY(pada_calloc(&memory, bytes, 1));
    *file = (pada_file){.data = memory, .is_copy = true};
    while (file->bytes < bytes) {
        const ssize_t n = read(fd, (uint8_t *)memory + file->bytes, bytes - file->bytes);
        if (n == 0) break;
        if (n > 0) {
            file->bytes += (size_t)n;
        } else if (errno != EINTR) {
            const int error = errno;
            pada_file_close(file);
            return fail_errno(PADA_EIO, path, error);
        }
    }
    return PADA_OK;
}

typedef pada_status byte_reader(pada_file *file, int fd, size_t bytes, const char *path);

static pada_status open_with(pada_file *file, const char *path, byte_reader *get)
{
    struct stat info;

    *file = (pada_file){0};
    /* Without O_NONBLOCK the open of a pipe would wait for somebody to write to it. */
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return fail_errno(errno == ENOENT || errno == ENOTDIR ? PADA_ENOENT : PADA_EIO, path,
                          errno);

    pada_status st = PADA_OK;
    if (fstat(fd, &info) != 0)
        st = fail_errno(PADA_EIO, path, errno);
    else if (!S_ISREG(info.st_mode))
        st = PADA_FAIL(PADA_ENOENT, "%s: not a regular file", path);
    else if ((uintmax_t)info.st_size > PTRDIFF_MAX)
        st = fail_errno(PADA_EIO, path, EFBIG);
    else if (info.st_size > 0)
        st = get(file, fd, (size_t)info.st_size, path);
    close(fd); /* a mapping stays */
    return st;
}

pada_status pada_file_open(pada_file *file, const char *path)
{
    return open_with(file, path, map_bytes);
}

pada_status pada_file_load(pada_file *file, const char *path)
{
    return open_with(file, path, copy_bytes);
}

void pada_file_close(pada_file *file)
{
    void *data = (void *)(uintptr_t)file->data;

    if (file->is_copy)
        pada_free(data);
    else if (data)
        munmap(data, file->bytes);
    *file = (pada_file){0};
}

/* Opens the folder of `path`, so that commit can make the rename durable. A folder that may be
 * written but not read cannot be opened; then *fd is -1 and the fsync is left out. */
static pada_status open_folder(int *fd, const char *path)
{
    const char *slash = strrchr(path, '/');
    pada_text folder = {0};

    *fd = -1;
    if (!slash) {
        pada_text_add(&folder, ".");
    } else {
        pada_text_add_bytes(&folder, path, slash == path ? 1 : (size_t)(slash - path));
    }
    pada_status st = folder.status;
    if (st == PADA_OK) {
        *fd = open(pada_text_str(&folder), O_RDONLY | O_CLOEXEC | O_DIRECTORY);
        if (*fd < 0 && errno != EACCES) st = fail_errno(PADA_EIO, path, errno);
    }
    pada_text_deinit(&folder);
    return st;
}

static void destroy(pada_writer *writer)
{
    if (writer->fd >= 0) {
        close(writer->fd);
        if (writer->temp) unlink(writer->temp);
    }
    if (writer->folder_fd >= 0) close(writer->folder_fd);
    pada_free(writer->temp);
    pada_free(writer->path);
    pada_free(writer);
}

/* A device, a pipe or a socket: nothing that could be replaced. */
static bool is_special(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

/* The temporary file. One of that name was left by a process that died and had our id. O_EXCL: follow no link. */
static pada_status open_temp(pada_writer *writer)
{
    pada_text temp = {0};

    pada_text_add(&temp, "%s" TEMP_MARK "%ld", writer->path, (long)getpid());
    if (temp.status != PADA_OK) return temp.status;
    writer->temp = temp.data; /* ownership moves */
    PADA_TRY(open_folder(&writer->folder_fd, writer->path));
    unlink(writer->temp);
    writer->fd = open(writer->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    return writer->fd < 0 ? fail_errno(PADA_EIO, writer->path, errno) : PADA_OK;
}

static pada_status open_special(pada_writer *writer)
{
    writer->fd = open(writer->path, O_WRONLY | O_CLOEXEC);
    return writer->fd < 0 ? fail_errno(PADA_EIO, writer->path, errno) : PADA_OK;
}

pada_status pada_writer_begin(pada_writer **out, const char *path)
{
    void *memory;

    *out = NULL;
    /* Said now and not by the rename, which would come after the work. */
    if (pada_path_is_dir(path)) return fail_errno(PADA_EIO, path, EISDIR);
    PADA_TRY(pada_calloc(&memory, 1, sizeof **out));
    pada_writer *writer = memory;
    writer->fd = writer->folder_fd = -1;

    pada_status st = pada_strdup(&writer->path, path);
    if (st == PADA_OK) st = is_special(path) ? open_special(writer) : open_temp(writer);
    if (st == PADA_OK)
        *out = writer;
    else
        destroy(writer);
    return st;
}

/* Remembers the failure and removes the temporary file; the writer itself stays until commit or
 * abort. */
static pada_status give_up(pada_writer *writer, int error)
{
    if (writer->fd >= 0) close(writer->fd);
    writer->fd = -1;
    if (writer->temp) unlink(writer->temp);
    writer->error = error;
    return writer->status = fail_errno(PADA_EIO, writer->path, error);
}

pada_status pada_writer_write(pada_writer *writer, const void *bytes, size_t n)
{
    const char *p = bytes;

    if (writer->status != PADA_OK) return fail_errno(writer->status, writer->path, writer->error);
    while (n > 0) {
        const ssize_t written = write(writer->fd, p, n < ((size_t)1 << 30) ? n : (size_t)1 << 30);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return give_up(writer, errno);
        p += written;
        n -= (size_t)written;
    }
    return PADA_OK;
}

/* Some file systems cannot sync a folder and say EINVAL; then there is nothing to wait for. */
static int sync_folder(int fd)
{
    if (fd < 0 || fsync(fd) == 0 || errno == EINVAL) return 0;
    return errno;
}

pada_status pada_writer_commit(pada_writer *writer)
{
    pada_status st = writer->status;

    if (st != PADA_OK) {
        st = fail_errno(st, writer->path, writer->error);
    } else if (writer->temp && fsync(writer->fd) != 0) {
        st = give_up(writer, errno);
    } else {
        /* Network file systems report a full disk as late as here. The descriptor is gone either
         * way. */
        const int closed = close(writer->fd);
        int error = errno;
        writer->fd = -1;
        if (closed != 0) {
            st = give_up(writer, error);
        } else if (writer->temp && rename(writer->temp, writer->path) != 0) {
            st = give_up(writer, errno);
        } else if ((error = sync_folder(writer->folder_fd)) != 0) {
            st = fail_errno(PADA_EIO, writer->path,
                            error); /* in place, but perhaps not after a power cut */
        }
    }
    destroy(writer);
    return st;
}

void pada_writer_abort(pada_writer *writer)
{
    if (writer) destroy(writer);
}

/* The process that NAME.tmp.PID belongs to; 0: another name. */
static long writer_of(const char *name)
{
    const char *mark = NULL;

    for (const char *p = strstr(name, TEMP_MARK); p; p = strstr(p + 1, TEMP_MARK))
        mark = p + strlen(TEMP_MARK);
    if (!mark || !*mark || mark[strspn(mark, "0123456789")] != '\0' || strlen(mark) > 9) return 0;
    return strtol(mark, NULL, 10);
}

void pada_remove_orphans(const char *folder)
{
    DIR *dir = opendir(folder);

    if (!dir) return;
    for (const struct dirent *e; (e = readdir(dir)) != NULL;) {
        const long pid = writer_of(e->d_name);
        if (pid > 0 && kill((pid_t)pid, 0) != 0 && errno == ESRCH)
            unlinkat(dirfd(dir), e->d_name, 0);
    }
    closedir(dir);
}

pada_status pada_file_replace(const char *path, const void *bytes, size_t n)
{
    pada_writer *writer;

    PADA_TRY(pada_writer_begin(&writer, path));
    /* A failed write sticks, so commit reports it and cleans up. */
    (void)pada_writer_write(writer, bytes, n);
    return pada_writer_commit(writer);
}

pada_status pada_file_sync(const char *path)
{
    int folder_fd;

    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) return fail_errno(errno == ENOENT ? PADA_ENOENT : PADA_EIO, path, errno);
    const int failed = fsync(fd) != 0 ? errno : 0;
    close(fd);
    if (failed != 0) return fail_errno(PADA_EIO, path, failed);
    PADA_TRY(open_folder(&folder_fd, path));
    const int error = sync_folder(folder_fd);
    if (folder_fd >= 0) close(folder_fd);
    return error == 0 ? PADA_OK : fail_errno(PADA_EIO, path, error);
}

bool pada_path_is_dir(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

bool pada_path_exists(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0;
}

bool pada_is_same_file(const char *a, const char *b)
{
    struct stat of_a, of_b;

    return stat(a, &of_a) == 0 && stat(b, &of_b) == 0 && S_ISREG(of_a.st_mode) &&
           of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
}

/* Somebody else may make the folder at the same moment; what counts is that it is there afterwards.
 */
static pada_status make_dir(const char *path)
{
    if (mkdir(path, 0777) == 0) return PADA_OK;
    const int error = errno;
    if (pada_path_is_dir(path)) return PADA_OK;
    return fail_errno(PADA_EIO, path, error == EEXIST ? ENOTDIR : error);
}

pada_status pada_make_dirs(const char *path)
{
    char *copy;
    pada_status st = PADA_OK;

    if (path[0] == '\0') return PADA_FAIL(PADA_EINVAL, "the name of a folder is empty");
    PADA_TRY(pada_strdup(&copy, path));
    for (char *p = copy + 1; *p && st == PADA_OK; p++) {
        if (*p != '/' || p[-1] == '/') continue;
        *p = '\0';
        st = make_dir(copy);
        *p = '/';
    }
    if (st == PADA_OK) st = make_dir(copy);
    pada_free(copy);
    return st;
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *place)
{
    (void)info, (void)kind, (void)place;
    return remove(path);
}

pada_status pada_remove_tree(const char *path)
{
    enum { OPEN_FOLDERS = 8 };
    struct stat info;

    if (lstat(path, &info) != 0 && errno == ENOENT) return PADA_OK;
    if (nftw(path, remove_entry, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS) != 0)
        return fail_errno(PADA_EIO, path, errno);
    return PADA_OK;
}
