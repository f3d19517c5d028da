/* SPDX-License-Identifier: Apache-2.0 */
/* blobs.h - bytes under keys: in a folder, or in a bucket of an S3-compatible store.
 *
 *   /srv/blobs, file:/srv/blobs                        a folder, made when missing
 *   https://s3.example.org/bucket[/prefix][?region=R]  a bucket; http to this machine only. The region is us-east-1 unless it is named
 *
 * A key is 1 to 120 of a-z 0-9 - . /, and is put once. Any thread; a call takes as long as the store does, a minute at most, so no
 * lock is held around it. Each returns 0 or -errno with a sentence in `why` that names the place: -ENOENT nothing is there, -EAGAIN
 * the store is away or busy, -EACCES it refuses us, -ENOSPC, -EPROTO it says what nobody understands, -EIO. */
#ifndef SBX_BLOBS_H
#define SBX_BLOBS_H

#include <stddef.h>

#include "byte_buffer.h"

enum {
    SBX_BLOB_KEY_BYTES = 121,
    SBX_BLOB_WHY_BYTES = 400,
};

struct sbx_blobs;

/* `secret` (of a bucket; copied, NULL for a folder): "ACCESS-KEY SECRET-KEY". A bucket is asked for a key that is not there, so that a
 * wrong name or secret shows now; one that is away is no error. -EINVAL: what is named is neither. */
int sbx_blobs_open(const char *where, const char *secret, struct sbx_blobs **blobs_out, char *why, size_t why_bytes);
void sbx_blobs_close(struct sbx_blobs *blobs); /* NULL is fine */

/* Durable when it returns 0. After an error it may be there or not. */
int sbx_blobs_put(struct sbx_blobs *blobs, const char *key, const void *bytes, size_t count, char *why,
                  size_t why_bytes);
/* Appended to `out`, `max` bytes at most (more is -EPROTO). */
int sbx_blobs_get(struct sbx_blobs *blobs, const char *key, size_t max, struct sbx_byte_buffer *out, char *why,
                  size_t why_bytes);
/* One that is not there is 0. */
int sbx_blobs_remove(struct sbx_blobs *blobs, const char *key, char *why, size_t why_bytes);

#endif
