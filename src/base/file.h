/* file.h - whole files: reading, and replacing atomically. */
#ifndef PADA_BASE_FILE_H
#define PADA_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A file mapped read-only. Zero-initialise; close accepts that and a failed open. Files are
 * replaced, never shortened in place (pada_writer below); reading one that somebody truncates
 * meanwhile raises SIGBUS. */
typedef struct pada_file {
    const uint8_t *data; /* NULL for an empty file */
    size_t bytes;
    bool is_copy; /* in memory of its own */
} pada_file;

/* PADA_ENOENT if it is not there or not a regular file, PADA_EIO if it cannot be read. */
pada_status pada_file_open(pada_file *file, const char *path);
/* The same as a copy in memory: for files of others, who may shorten them at any time. */
pada_status pada_file_load(pada_file *file, const char *path);
void pada_file_close(pada_file *file);

/* Replaces `path` by what is written between begin and commit: a temporary file in the same folder
 * is written, fsynced and renamed, and the folder is fsynced. Until the rename the old file is
 * untouched; abort (or a failed write or commit) removes the temporary file. A failed write sticks:
 * commit returns it again. The temporary name is `path`.tmp.PID, so a process has one writer per
 * path at a time. What is no file, a device or a pipe, is not replaced but written to. Failures are
 * PADA_EIO, "path: reason". */
typedef struct pada_writer pada_writer;
pada_status pada_writer_begin(pada_writer **out, const char *path);
pada_status pada_writer_write(pada_writer *writer, const void *bytes, size_t n);
pada_status pada_writer_commit(pada_writer *writer); /* destroys the writer, also on failure */
void pada_writer_abort(pada_writer *writer);         /* NULL is fine */

/* Removes what writers left in a folder whose processes ended before their commit. Of those that live,
 * nothing; a folder that is not there is fine, and a file that cannot be removed harms nobody. */
void pada_remove_orphans(const char *folder);

/* The three calls above for one block of bytes. */
pada_status pada_file_replace(const char *path, const void *bytes, size_t n);

/* For files that grow: what was written to it, and its name, survive a power cut from now on. */
pada_status pada_file_sync(const char *path);

bool pada_path_is_dir(const char *path);
bool pada_path_exists(const char *path);
/* Whether both are there and are one regular file, whatever they are called. */
bool pada_is_same_file(const char *a, const char *b);
/* Makes the folder and its parents; an existing folder is fine. */
pada_status pada_make_dirs(const char *path);
/* Removes a file, or a folder with all that is in it; links are removed, not followed. Nothing there
 * is fine. */
pada_status pada_remove_tree(const char *path);

#ifdef __cplusplus
}
#endif
#endif
