/* SPDX-License-Identifier: Apache-2.0 */
/* descriptor.c - /proc/PID/fd, fdinfo and net, and /proc/locks. */
#include "descriptor.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "proc_file.h"

/* ---- sockets ---- */

enum {
    TCP_LISTENS = 10, /* TCP_LISTEN of the kernel's include/net/tcp_states.h */
    IPV4_DIGITS = 8,  /* an address as the kernel writes it: words in the machine's byte order, in hex */
    IPV6_DIGITS = 32
};

static bool format_address(const char *digits, char *to, size_t bytes)
{
    uint8_t address[16];
    char text[INET6_ADDRSTRLEN];
    size_t count = strspn(digits, "0123456789abcdefABCDEF");
    unsigned port;
    if ((count != IPV4_DIGITS && count != IPV6_DIGITS) || sscanf(digits + count, ":%4x", &port) != 1) {
        return false;
    }
    for (size_t word = 0; word < count / 8; word++) {
        uint32_t value;
        if (sscanf(digits + word * 8, "%8" SCNx32, &value) != 1) {
            return false;
        }
        memcpy(address + word * 4, &value, sizeof value);
    }
    bool is_ipv4 = count == IPV4_DIGITS;
    if (inet_ntop(is_ipv4 ? AF_INET : AF_INET6, address, text, sizeof text) == NULL) {
        return false;
    }
    snprintf(to, bytes, is_ipv4 ? "%s:%u" : "[%s]:%u", text, port);
    return true;
}

int sbx_descriptor_parse_tcp(const char *line, uint64_t inode, char text_out[SBX_DESCRIPTOR_TEXT])
{
    char local[40], remote[40], local_text[64], remote_text[64];
    unsigned state;
    uint64_t found;
    /* "sl: LOCAL REMOTE STATE TX:RX TIMER RETRANSMITS UID TIMEOUT INODE ..." */
    if (sscanf(line, " %*d: %39s %39s %x %*s %*s %*s %*u %*d %" SCNu64, local, remote, &state, &found) != 4 ||
        found != inode || !format_address(local, local_text, sizeof local_text) ||
        !format_address(remote, remote_text, sizeof remote_text)) {
        return -1;
    }
    if (state == TCP_LISTENS) {
        snprintf(text_out, SBX_DESCRIPTOR_TEXT, "TCP listening on %s", local_text);
    } else {
        snprintf(text_out, SBX_DESCRIPTOR_TEXT, "TCP %s to %s", local_text, remote_text);
    }
    return 0;
}

/* "Num: RefCount Protocol Flags Type St Inode [Path]" */
static int parse_unix(const char *line, uint64_t inode, char text_out[SBX_DESCRIPTOR_TEXT])
{
    uint64_t found;
    int path_at = 0;
    if (sscanf(line, "%*[^:]: %*x %*x %*x %*x %*x %" SCNu64 " %n", &found, &path_at) != 1 || found != inode) {
        return -1;
    }
    size_t length = path_at > 0 ? strcspn(line + path_at, "\n") : 0;
    snprintf(text_out, SBX_DESCRIPTOR_TEXT, length > 0 ? "a Unix socket %.*s" : "a Unix socket%.*s",
             (int)(length < PATH_MAX ? length : PATH_MAX), line + path_at);
    return 0;
}

typedef int parse_socket(const char *line, uint64_t inode, char text_out[SBX_DESCRIPTOR_TEXT]);

static bool find_socket(pid_t pid, const char *table, parse_socket *parse, uint64_t inode,
                        char text_out[SBX_DESCRIPTOR_TEXT])
{
    char *text = NULL;
    bool is_found = false;
    if (sbx_proc_file_read_whole(&text, "/proc/%d/net/%s", (int)pid, table) != 0) {
        return false;
    }
    for (const char *line = text; line != NULL && !is_found; line = strchr(line, '\n')) {
        line += *line == '\n';
        is_found = parse(line, inode, text_out) == 0;
    }
    free(text);
    return is_found;
}

static void describe_socket(pid_t pid, uint64_t inode, char text_out[SBX_DESCRIPTOR_TEXT])
{
    if (!find_socket(pid, "tcp", sbx_descriptor_parse_tcp, inode, text_out) &&
        !find_socket(pid, "tcp6", sbx_descriptor_parse_tcp, inode, text_out) &&
        !find_socket(pid, "unix", parse_unix, inode, text_out)) {
        snprintf(text_out, SBX_DESCRIPTOR_TEXT, "a socket");
    }
}

void sbx_descriptor_describe(pid_t pid, int descriptor, char text_out[SBX_DESCRIPTOR_TEXT])
{
    char path[64], target[PATH_MAX];
    uint64_t inode;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, descriptor);
    ssize_t length = readlink(path, target, sizeof target - 1);
    if (length <= 0) {
        snprintf(text_out, SBX_DESCRIPTOR_TEXT, "descriptor %d", descriptor);
        return;
    }
    target[length] = '\0';
    if (sscanf(target, "socket:[%" SCNu64 "]", &inode) == 1) {
        describe_socket(pid, inode, text_out);
    } else if (strncmp(target, "pipe:", 5) == 0) {
        snprintf(text_out, SBX_DESCRIPTOR_TEXT, "a pipe");
    } else if (strncmp(target, "anon_inode:", 11) == 0) {
        snprintf(text_out, SBX_DESCRIPTOR_TEXT, "an %.64s", target + 11);
    } else {
        snprintf(text_out, SBX_DESCRIPTOR_TEXT, "%.*s", SBX_DESCRIPTOR_TEXT - 1, target);
    }
}

size_t sbx_descriptor_watched(pid_t pid, int descriptor, int *watched_out, size_t max, size_t *count_out)
{
    char *text = NULL;
    size_t put = 0;
    *count_out = 0;
    if (sbx_proc_file_read_whole(&text, "/proc/%d/fdinfo/%d", (int)pid, descriptor) != 0) {
        return 0;
    }
    for (const char *line = strstr(text, "tfd:"); line != NULL; line = strstr(line + 4, "tfd:")) {
        if (put < max) {
            watched_out[put++] = (int)strtol(line + 4, NULL, 10);
        }
        (*count_out)++;
    }
    free(text);
    return put;
}

/* ---- file locks ---- */

pid_t sbx_file_lock_owner(const char *locks, uint64_t device, uint64_t inode, pid_t not_by)
{
    for (const char *line = locks; line != NULL && *line != '\0'; line = strchr(line, '\n')) {
        unsigned major_number, minor_number;
        uint64_t found;
        int owner;
        line += *line == '\n';
        /* "1: POSIX  ADVISORY  WRITE 123 08:01:456 0 EOF"; "1: -> POSIX ..." is one that waits, and has more words */
        if (sscanf(line, "%*d: %*[A-Z] %*s %*s %d %x:%x:%" SCNu64, &owner, &major_number, &minor_number, &found) == 4 &&
            found == inode && makedev(major_number, minor_number) == device && owner != not_by && owner > 0) {
            return owner;
        }
    }
    return 0;
}

pid_t sbx_descriptor_lock_owner(pid_t pid, int descriptor)
{
    char path[64], *text = NULL;
    struct stat status;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, descriptor);
    if (stat(path, &status) != 0 || sbx_proc_file_read_whole(&text, "/proc/locks") != 0) {
        return 0;
    }
    pid_t owner = sbx_file_lock_owner(text, status.st_dev, status.st_ino, pid);
    free(text);
    return owner;
}
