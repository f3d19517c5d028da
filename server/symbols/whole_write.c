/* SPDX-License-Identifier: Apache-2.0 */
/* whole_write.c - calls write(2) until nothing is left. */
#include "whole_write.h"

#include <errno.h>
#include <unistd.h>

int sbx_write_all(int fd, const char *bytes, size_t count)
{
    while (count) {
        ssize_t written = write(fd, bytes, count);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return written < 0 ? -errno : -EIO;
        bytes += written;
        count -= (size_t)written;
    }
    return 0;
}
