/* SPDX-License-Identifier: Apache-2.0 */
/* descriptor.h - describes a descriptor of another process in words: a file, a pipe, a connection with both
 * addresses. */
#ifndef SBX_DESCRIPTOR_H
#define SBX_DESCRIPTOR_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    SBX_DESCRIPTOR_TEXT = 512
};

/* Write "/var/log/x", "a pipe", "TCP 127.0.0.1:40112 to 127.0.0.1:6379", "TCP listening on 0.0.0.0:80" or "a Unix
 * socket /run/x". A path may have any bytes. Writes "descriptor N" when the kernel does not tell. */
void sbx_descriptor_describe(pid_t pid, int descriptor, char text_out[SBX_DESCRIPTOR_TEXT]);

/* Read the descriptors that the epoll set `descriptor` watches, at most `max`; *count_out: the number of all. Returns
 * the number that it stored. */
size_t sbx_descriptor_watched(pid_t pid, int descriptor, int *watched_out, size_t max, size_t *count_out);

/* Pure: describe one line of /proc/PID/net/tcp or tcp6, if it is the socket `inode`. */
int sbx_descriptor_parse_tcp(const char *line, uint64_t inode, char text_out[SBX_DESCRIPTOR_TEXT]);

/* The process (0: unknown) that holds the file lock for which a call on the descriptor waits. */
pid_t sbx_descriptor_lock_owner(pid_t pid, int descriptor);

/* Pure: the owner of a granted lock on the inode, from the text of /proc/locks; 0: none. */
pid_t sbx_file_lock_owner(const char *locks, uint64_t device, uint64_t inode, pid_t not_by);

#endif
