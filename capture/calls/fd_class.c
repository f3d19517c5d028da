/* SPDX-License-Identifier: Apache-2.0 */
/* fd_class.c - descriptors classified by fstat(2), and sockets by their domain. */
#include "fd_class.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include "payload_numbers.h"
#include "raw_syscall.h"

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
        return SBX_FD_TTY; /* of these devices only terminals usually block */
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

SBX_HOOK_SAFE bool sbx_fd_can_wait(int fd)
{
    long flags = sbx_raw_syscall(SYS_fcntl, fd, F_GETFL, 0, 0, 0, 0);
    return flags < 0 || (flags & O_NONBLOCK) == 0;
}

static bool is_terminal(const struct stat *status)
{
    enum {
        CONSOLE_MAJOR = 4, /* the first 64 minors; serial lines have the rest */
        CONSOLES = 64,
        OWN_TERMINAL_MAJOR = 5, /* minor 0: /dev/tty */
        PTY_FIRST_MAJOR = 136,
        PTY_LAST_MAJOR = 143
    };
    unsigned kind = major(status->st_rdev), which = minor(status->st_rdev);
    return S_ISCHR(status->st_mode) &&
           ((kind >= PTY_FIRST_MAJOR && kind <= PTY_LAST_MAJOR) || (kind == CONSOLE_MAJOR && which < CONSOLES) ||
            (kind == OWN_TERMINAL_MAJOR && which == 0));
}

SBX_HOOK_SAFE bool sbx_is_terminal(int fd)
{
    struct stat status;
    return fd >= 0 && fstat(fd, &status) == 0 && is_terminal(&status);
}

/* The watch thread has its own descriptor table. */
bool sbx_is_terminal_of(uint32_t tid, int fd)
{
    char path[48];
    struct stat status;
    snprintf(path, sizeof path, "/proc/self/task/%u/fd/%d", tid, fd);
    return stat(path, &status) == 0 && is_terminal(&status);
}
