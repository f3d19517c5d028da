/* SPDX-License-Identifier: Apache-2.0 */
/* fd_class.c - descriptors told apart by fstat(2), and sockets by their domain. */
#include "fd_class.h"

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "payload_numbers.h"

static bool is_local_socket(int fd)
{
    int domain = 0;
    socklen_t bytes = sizeof domain;
    return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &bytes) == 0 && domain == AF_UNIX;
}

SBX_HOOK_SAFE uint8_t sbx_class_of_mode(uint32_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFREG:
        return SBX_FD_REGULAR;
    case S_IFDIR:
        return SBX_FD_DIRECTORY;
    case S_IFIFO:
        return SBX_FD_PIPE;
    case S_IFSOCK:
        return SBX_FD_SOCKET;
    case S_IFCHR:
        return SBX_FD_TTY; /* terminals are what blocks among them; devices of other kinds rarely do */
    case S_IFBLK:
        return SBX_FD_DEVICE;
    default:
        return SBX_FD_OTHER;
    }
}

SBX_HOOK_SAFE uint8_t sbx_classify_fd(int fd)
{
    struct stat status;
    if (fd < 0 || fstat(fd, &status) != 0) {
        return SBX_FD_UNKNOWN;
    }
    uint8_t class_ = sbx_class_of_mode(status.st_mode);
    return class_ == SBX_FD_SOCKET && is_local_socket(fd) ? SBX_FD_UNIX : class_;
}
