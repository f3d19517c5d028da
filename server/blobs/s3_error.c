/* SPDX-License-Identifier: Apache-2.0 */
/* s3_error.c - finds the error code in the answer of an S3-compatible store. */
#include "s3_error.h"

#include <stdbool.h>
#include <string.h>

static bool is_letter(char c)
{
    return (c | 32) >= 'a' && (c | 32) <= 'z';
}

void sbx_s3_error_code(const char *body, size_t bytes, char code_out[SBX_S3_CODE_BYTES])
{
    const char *at = bytes > 0 ? memmem(body, bytes, "<Code>", 6) : NULL;
    size_t length = 0;
    if (at) {
        at += 6;
        size_t left = bytes - (size_t)(at - body);
        while (length < left && length < SBX_S3_CODE_BYTES - 1 && is_letter(at[length]))
            length++;
        memcpy(code_out, at, length);
    }
    code_out[length] = '\0';
}
