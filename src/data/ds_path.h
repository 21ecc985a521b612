/* ds_path.h - names of files in folders. Private to the ds_*.c. */
#ifndef PADA_DATA_DS_PATH_H
#define PADA_DATA_DS_PATH_H

#include <stdbool.h>
#include <stdio.h>

#define PADA__PATH_BYTES 4096

/* "folder/file" in a buffer, so that looking for files cannot run out of memory. False if it is
 * longer than the system takes: then it is the name of no file. */
static inline bool pada__path_join(char path[PADA__PATH_BYTES], const char *folder,
                                   const char *file)
{
    const int n = snprintf(path, PADA__PATH_BYTES, "%s/%s", folder, file);
    return n > 0 && n < PADA__PATH_BYTES;
}

#endif
