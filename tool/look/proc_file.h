/* SPDX-License-Identifier: Apache-2.0 */
/* proc_file.h - files of /proc, read whole. They have no size and may be gone at any moment. */
#ifndef SBX_PROC_FILE_H
#define SBX_PROC_FILE_H

#include <stddef.h>
#include <sys/types.h>

/* Read the file that the format names into `to`, NUL-terminated, at most `bytes` - 1. Returns the length, or -errno. */
ssize_t sbx_proc_file_read(char *to, size_t bytes, const char *path_format, ...) __attribute__((format(printf, 3, 4)));

/* The same, of any length up to 64 MiB; *text_out is malloc'ed, the caller's. Returns 0 or -errno. */
int sbx_proc_file_read_whole(char **text_out, const char *path_format, ...) __attribute__((format(printf, 2, 3)));

#endif
