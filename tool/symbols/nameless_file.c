/* SPDX-License-Identifier: Apache-2.0 */
/* nameless_file.c - a temporary file without a name. */
#include "nameless_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int sbx_nameless_file_open(void)
{
    const char *folder = getenv("TMPDIR");
    char path[4096];
    if ((size_t)snprintf(path, sizeof path, "%s/stallbox-send.XXXXXX",
                         folder != NULL && folder[0] == '/' ? folder : "/tmp") >= sizeof path) {
        return -ENAMETOOLONG;
    }
    int fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0) {
        return -errno;
    }
    unlink(path);
    return fd;
}
