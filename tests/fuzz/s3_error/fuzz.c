/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz.c - any bytes as the body of an error of an S3-compatible store. Property: the result is a word of letters from
 * the body, or nothing. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"
#include "s3_error.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char code[SBX_S3_CODE_BYTES];
    char *body = malloc(bytes + 1); /* nothing behind it could end a word */
    MUST(body != NULL);
    if (bytes > 0) {
        memcpy(body, data, bytes);
    }
    body = realloc(body, bytes > 0 ? bytes : 1);
    MUST(body != NULL);
    sbx_s3_error_code(body, bytes, code);
    size_t length = strlen(code);
    MUST(length < SBX_S3_CODE_BYTES);
    for (size_t i = 0; i < length; i++) {
        MUST((code[i] >= 'a' && code[i] <= 'z') || (code[i] >= 'A' && code[i] <= 'Z'));
    }
    MUST(length == 0 || memmem(body, bytes, code, length) != NULL);
    free(body);
    return 0;
}
