/* room.h - room on a disk, held for what will be written later. */
#ifndef PADA_BASE_ROOM_H
#define PADA_BASE_ROOM_H

#include <stdint.h>

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Zero-initialise; release accepts that. The room is that of a file without a name, so it is free
 * again when the process ends, however that happens. */
typedef struct pada_room {
    int fd; /* plus one; 0: nothing is held */
} pada_room;

/* Holds so many bytes on the disk of a folder, in place of what was held. A full disk, a quota and a
 * limit on the size of files are PADA_EIO, "folder: no room for .. bytes: reason"; then nothing is held.
 * File systems that cannot hold room are no failure. */
pada_status pada_room_hold(pada_room *room, const char *folder, int64_t bytes);
void pada_room_release(pada_room *room);

#ifdef __cplusplus
}
#endif
#endif
