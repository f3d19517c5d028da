/* SPDX-License-Identifier: Apache-2.0 */
/* s3_error.h - what an S3-compatible store calls an error. Pure. */
#ifndef SBX_S3_ERROR_H
#define SBX_S3_ERROR_H

#include <stddef.h>

enum {
    SBX_S3_CODE_BYTES = 64
};

/* The <Code> in the XML of an error ("NoSuchBucket"), of which nothing is believed; "" when there is none that is one word of
 * letters. */
void sbx_s3_error_code(const char *body, size_t bytes, char code_out[SBX_S3_CODE_BYTES]);

#endif
