/* room.c - room on a disk, held for what will be written later. */
#include "base/room.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

/* Opens a file that has no name any more. */
static pada_status open_nameless(int *fd, const char *folder)
{
    pada_text path = {0};
    pada_status st;

    pada_text_add(&path, "%s/room.tmp.%ld", folder, (long)getpid());
    PADA_TRY(path.status);
    *fd = open(path.data, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
    st = *fd < 0 ? PADA_FAIL(PADA_EIO, "%s: %s", folder, strerror(errno)) : PADA_OK;
    if (st == PADA_OK) unlink(path.data);
    pada_text_deinit(&path);
    return st;
}

pada_status pada_room_hold(pada_room *room, const char *folder, int64_t bytes)
{
    int fd;

    pada_room_release(room);
    if (bytes <= 0) return PADA_OK;
    PADA_TRY(open_nameless(&fd, folder));
    room->fd = fd + 1;
    const int error = posix_fallocate(fd, 0, (off_t)bytes); /* not in errno */
    if (error != ENOSPC && error != EDQUOT && error != EFBIG) return PADA_OK;
    pada_room_release(room);
    return PADA_FAIL(PADA_EIO, "%s: no room for %" PRId64 " bytes: %s", folder, bytes,
                     strerror(error));
}

void pada_room_release(pada_room *room)
{
    if (room->fd > 0) close(room->fd - 1);
    room->fd = 0;
}
