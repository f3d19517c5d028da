/* SPDX-License-Identifier: Apache-2.0 */
/* blobs.h - bytes under keys: in a folder, or in a bucket of an S3-compatible store.
 *
 *   /srv/blobs, file:/srv/blobs                        a folder, made when missing
 *   https://s3.example.org/bucket[/prefix][?region=R]  a bucket; http to this machine only. The region is us-east-1 unless it is named
 *
 * A key is 1 to 120 characters of a-z 0-9 - . /, and is put only once. Any thread. A call takes as long as the store
 * needs, a minute at most, so callers hold no lock meanwhile. Each function returns 0 or -errno with a sentence in
 * `why` that names the place: -ENOENT there is no such key, -EAGAIN the store is unreachable or busy, -EACCES it
 * refuses access, -ENOSPC, -EPROTO its answer is not understood, -EIO. */
#ifndef SBX_BLOBS_H
#define SBX_BLOBS_H

#include <stddef.h>

#include "byte_buffer.h"

enum {
    SBX_BLOB_KEY_BYTES = 121,
    SBX_BLOB_WHY_BYTES = 400,
};

struct sbx_blobs;

/* `secret` (of a bucket; copied, NULL for a folder): "ACCESS-KEY SECRET-KEY". Open asks a bucket for a key that does
 * not exist, so that a wrong name or secret shows now. An unreachable bucket is no error. -EINVAL: `where` names
 * neither a folder nor a bucket. */
int sbx_blobs_open(const char *where, const char *secret, struct sbx_blobs **blobs_out, char *why, size_t why_bytes);
void sbx_blobs_close(struct sbx_blobs *blobs); /* NULL is fine */

/* The bytes are durable when it returns 0. After an error they may be stored or not. */
int sbx_blobs_put(struct sbx_blobs *blobs, const char *key, const void *bytes, size_t count, char *why,
                  size_t why_bytes);
/* Appended to `out`, `max` bytes at most (more is -EPROTO). */
int sbx_blobs_get(struct sbx_blobs *blobs, const char *key, size_t max, struct sbx_byte_buffer *out, char *why,
                  size_t why_bytes);
/* Returns 0 also when there is no such key. */
int sbx_blobs_remove(struct sbx_blobs *blobs, const char *key, char *why, size_t why_bytes);

#endif
