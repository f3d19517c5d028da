/* SPDX-License-Identifier: Apache-2.0 */
/* s3_error.h - the error code in the answer of an S3-compatible store. Pure. */
#ifndef SBX_S3_ERROR_H
#define SBX_S3_ERROR_H

#include <stddef.h>

enum {
    SBX_S3_CODE_BYTES = 64
};

/* Copy the <Code> in the XML of an error ("NoSuchBucket"). The XML is untrusted: "" when the code is missing or is not
 * one word of letters. */
void sbx_s3_error_code(const char *body, size_t bytes, char code_out[SBX_S3_CODE_BYTES]);

#endif
