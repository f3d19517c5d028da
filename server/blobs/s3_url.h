/* SPDX-License-Identifier: Apache-2.0 */
/* s3_url.h - where a bucket is: https://HOST[:PORT]/BUCKET[/PREFIX][?region=NAME]. Pure. */
#ifndef SBX_S3_URL_H
#define SBX_S3_URL_H

#include <stdbool.h>
#include <stddef.h>

struct sbx_s3_url {
    char base[320]; /* "https://s3.example.org/bucket/prefix": no slash at its end, no arguments */
    char region[64];
};

/* Returns 0, or -EINVAL with the reason. */
int sbx_s3_url_read(const char *text, struct sbx_s3_url *url_out, char *why, size_t why_bytes);

#endif
