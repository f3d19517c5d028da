/* SPDX-License-Identifier: Apache-2.0 */
/* proc_file.h - reads files of /proc as a whole. They have no size, and may disappear at any moment. */
#ifndef SBX_PROC_FILE_H
#define SBX_PROC_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Read the file that the format names into `to`, NUL-terminated, at most `bytes` - 1. Returns the length, or -errno. */
ssize_t sbx_proc_file_read(char *to, size_t bytes, const char *path_format, ...) __attribute__((format(printf, 3, 4)));

/* The same, of any length up to 64 MiB; *text_out is given (free()). Returns 0 or -errno. */
int sbx_proc_file_read_whole(char **text_out, const char *path_format, ...) __attribute__((format(printf, 2, 3)));

enum {
    SBX_PROC_NAME = 32 /* the kernel keeps 15 letters */
};

/* The name of a process: the comm of its main thread, which may have any bytes. False, and "": unknown. */
bool sbx_proc_name(pid_t pid, char name_out[SBX_PROC_NAME]);

#endif
