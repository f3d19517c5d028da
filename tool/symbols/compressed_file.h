/* SPDX-License-Identifier: Apache-2.0 */
/* compressed_file.h - a file's content, compressed, as bytes to send. */
#ifndef SBX_COMPRESSED_FILE_H
#define SBX_COMPRESSED_FILE_H

#include <stddef.h>
#include <stdint.h>

struct sbx_compressed_file {
    void *bytes; /* mapping of a private unnamed file, so changes of the original do not matter */
    size_t count;
    uint64_t plain_count;
};

/* Read `path`, a regular file, and compress it (zstd). Returns 0 and a mapping (given: sbx_compressed_file_finish), -ENOEXEC for
 * what is no regular file or empty, or -errno. */
int sbx_compressed_file_make(const char *path, struct sbx_compressed_file *file_out);
void sbx_compressed_file_finish(struct sbx_compressed_file *file);

#endif
