/* SPDX-License-Identifier: Apache-2.0 */
/* token_file.h - the secret between the deliverer and the server, read from a file, because all users can see a command
 * line. */
#ifndef SBX_TOKEN_FILE_H
#define SBX_TOKEN_FILE_H

#include <stddef.h>

enum {
    SBX_TOKEN_MAX = 512
};

/* Read the first line of `path` into token_out[SBX_TOKEN_MAX + 1]. Returns 0, or a negative errno with "PATH: reason" in
 * `why`: -EPERM when others may read the file, -EINVAL when the line is empty, too long, or holds anything but printable
 * ASCII without spaces (it travels in an HTTP header). */
int sbx_token_read(const char *path, char *token_out, char *why, size_t why_bytes);

/* The same of a line of two words with one blank between, as the keys of a bucket are. */
int sbx_key_pair_read(const char *path, char *pair_out, char *why, size_t why_bytes);

#endif
