/* SPDX-License-Identifier: Apache-2.0 */
/* token_file.c - reads a token, and refuses a file that others can read. */
#include "token_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Read the first line, which must have exactly so many spaces. */
static int read_line(const char *path, int blanks, char *token_out, char *why, size_t why_bytes)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (descriptor < 0) {
        int result = -errno;
        snprintf(why, why_bytes, "%s: %s", path, strerror(-result));
        return result;
    }
    int result = 0;
    struct stat status;
    if (fstat(descriptor, &status) != 0) {
        result = -errno;
        snprintf(why, why_bytes, "%s: %s", path, strerror(-result));
        goto close_descriptor;
    }
    if (S_ISREG(status.st_mode) && (status.st_mode & (S_IRGRP | S_IROTH | S_IWGRP | S_IWOTH)) != 0) {
        result = -EPERM;
        snprintf(why, why_bytes, "%s: others may read or write it; use chmod 600", path);
        goto close_descriptor;
    }

    /* One byte more than a token may have, and one for the newline, so that a longer token is noticed. */
    char line[SBX_TOKEN_MAX + 2];
    size_t length = 0;
    while (length < sizeof line) {
        ssize_t got = read(descriptor, line + length, sizeof line - length);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            result = -errno;
            snprintf(why, why_bytes, "%s: %s", path, strerror(-result));
            goto close_descriptor;
        }
        if (got == 0) {
            break;
        }
        length += (size_t)got;
    }
    size_t token_length = 0;
    int seen = 0;
    while (token_length < length && line[token_length] < 0x7f &&
           (line[token_length] > ' ' || (line[token_length] == ' ' && seen < blanks))) {
        seen += line[token_length] == ' ';
        token_length++;
    }
    char end = token_length < length ? line[token_length] : '\n';
    if (token_length == 0 || token_length > SBX_TOKEN_MAX || (end != '\n' && end != '\r')) {
        result = -EINVAL;
        if (blanks == 0) {
            snprintf(why, why_bytes, "%s: the first line must be a token of 1 to %d printable letters without spaces",
                     path, SBX_TOKEN_MAX);
        } else {
            snprintf(why, why_bytes, "%s: the first line must be an access key, a blank and a secret key", path);
        }
        goto close_descriptor;
    }
    memcpy(token_out, line, token_length);
    token_out[token_length] = '\0';

close_descriptor:
    close(descriptor);
    return result;
}

int sbx_token_read(const char *path, char *token_out, char *why, size_t why_bytes)
{
    return read_line(path, 0, token_out, why, why_bytes);
}

int sbx_key_pair_read(const char *path, char *pair_out, char *why, size_t why_bytes)
{
    return read_line(path, 1, pair_out, why, why_bytes);
}
