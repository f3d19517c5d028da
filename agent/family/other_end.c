/* SPDX-License-Identifier: Apache-2.0 */
/* other_end.c - names of descriptors, and one question to the kernel's list of sockets. */
#include "other_end.h"

#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "folder_list.h"

enum {
    NAME_BYTES = 48, /* "socket:[4294967295]" */
    LISTING_BYTES = 2048,
    LOOKS_MAX = 4096 /* descriptors for one question: 3 ms */
};

/* The name of a descriptor, "pipe:[81]"; false: there is no such descriptor. */
static bool read_name(int folder, const char *entry, char name_out[NAME_BYTES])
{
    ssize_t got = readlinkat(folder, entry, name_out, NAME_BYTES - 1);
    name_out[got > 0 ? got : 0] = '\0';
    return got > 0;
}

/* Does process `pid` have an open file of that name, opened so that one of `mode`'s bits is set? */
static bool has_end(uint32_t pid, const char *name, mode_t mode, unsigned *looks_left)
{
    _Alignas(8) char listing[LISTING_BYTES];
    char path[32], other[NAME_BYTES];
    bool has_it = false;
    long got;
    snprintf(path, sizeof path, "/proc/%u/fd", pid);
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    while (folder >= 0 && !has_it && (got = syscall(SYS_getdents64, folder, listing, sizeof listing)) > 0) {
        for (long at = 0; at < got && !has_it && *looks_left > 0;) {
            const char *entry = sbx_folder_list_next(listing, &at);
            struct stat link;
            (*looks_left)--;
            has_it = entry[0] != '.' && read_name(folder, entry, other) && strcmp(other, name) == 0 &&
                     fstatat(folder, entry, &link, AT_SYMLINK_NOFOLLOW) == 0 && (link.st_mode & mode) != 0;
        }
        if (*looks_left == 0) {
            break;
        }
    }
    if (folder >= 0) {
        close(folder);
    }
    return has_it;
}

/* The inode of the socket that a local socket is connected to; 0: none, or the kernel does not tell. */
static uint32_t peer_of(uint32_t inode)
{
    struct {
        struct nlmsghdr header;
        struct unix_diag_req request;
    } question = {
        .header = {.nlmsg_len = sizeof question, .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST},
        .request = {.sdiag_family = AF_UNIX,
                    .udiag_states = UINT32_MAX,
                    .udiag_ino = inode,
                    .udiag_show = UDIAG_SHOW_PEER,
                    .udiag_cookie = {UINT32_MAX, UINT32_MAX}}};
    _Alignas(8) char answer[1024];
    uint32_t peer = 0;
    int netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG);
    ssize_t got = -1;
    if (netlink >= 0 && send(netlink, &question, sizeof question, 0) == (ssize_t)sizeof question) {
        got = recv(netlink, answer, sizeof answer, 0); /* the answer is there when send() returns */
    }
    const struct nlmsghdr *header = (const struct nlmsghdr *)(const void *)answer;
    if (got >= (ssize_t)(NLMSG_HDRLEN + sizeof(struct unix_diag_msg)) && header->nlmsg_len <= (size_t)got &&
        header->nlmsg_type == SOCK_DIAG_BY_FAMILY) {
        const size_t from = NLMSG_ALIGN(NLMSG_HDRLEN + sizeof(struct unix_diag_msg));
        for (size_t at = from; at + sizeof(struct rtattr) <= header->nlmsg_len;) {
            struct rtattr attribute;
            memcpy(&attribute, answer + at, sizeof attribute);
            if (attribute.rta_len < sizeof attribute || attribute.rta_len > header->nlmsg_len - at) {
                break;
            }
            if (attribute.rta_type == UNIX_DIAG_PEER && attribute.rta_len >= sizeof attribute + sizeof peer) {
                memcpy(&peer, answer + at + sizeof attribute, sizeof peer);
            }
            at += RTA_ALIGN(attribute.rta_len);
        }
    }
    if (netlink >= 0) {
        close(netlink);
    }
    return peer;
}

uint32_t sbx_other_end_find(uint32_t tid, int fd, bool for_reading, bool may_ask, const uint32_t *pids, uint32_t count)
{
    char path[64], name[NAME_BYTES];
    mode_t mode = for_reading ? S_IWUSR : S_IRUSR; /* the end that the other process writes to, or reads from */
    unsigned looks_left = LOOKS_MAX;
    uint32_t found = 0, own = (uint32_t)getpid();
    snprintf(path, sizeof path, "/proc/self/task/%u/fd/%d", tid, fd);
    if (fd < 0 || !read_name(AT_FDCWD, path, name)) {
        return 0;
    }
    if (strncmp(name, "socket:[", 8) == 0) {
        uint32_t peer = may_ask ? peer_of((uint32_t)strtoul(name + 8, NULL, 10)) : 0;
        snprintf(name, sizeof name, "socket:[%u]", peer);
        mode = S_IRUSR | S_IWUSR;
        if (peer == 0) {
            return 0;
        }
    } else if (strncmp(name, "pipe:[", 6) != 0) {
        return 0;
    }
    if (has_end(own, name, mode, &looks_left)) {
        return 0;
    }
    for (uint32_t i = 0; i < count && looks_left > 0; i++) {
        if (pids[i] != own && pids[i] != 0 && has_end(pids[i], name, mode, &looks_left)) {
            if (found != 0) {
                return 0;
            }
            found = pids[i];
        }
    }
    return looks_left > 0 ? found : 0;
}
