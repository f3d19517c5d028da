/* SPDX-License-Identifier: Apache-2.0 */
/* blob_ways.h - the functions that each kind of blob store provides. blobs.c checks the keys before it calls them. */
#ifndef SBX_BLOB_WAYS_H
#define SBX_BLOB_WAYS_H

#include "blobs.h"
#include "s3_url.h"

struct sbx_blob_way {
    int (*put)(void *self, const char *key, const void *bytes, size_t count, char *why, size_t why_bytes);
    int (*get)(void *self, const char *key, size_t max, struct sbx_byte_buffer *out, char *why, size_t why_bytes);
    int (*remove)(void *self, const char *key, char *why, size_t why_bytes);
    void (*close)(void *self);
};
extern const struct sbx_blob_way sbx_blob_folder, sbx_blob_s3;

int sbx_blob_folder_open(const char *folder, void **self_out, char *why, size_t why_bytes);
int sbx_blob_s3_open(const struct sbx_s3_url *url, const char *secret, void **self_out, char *why, size_t why_bytes);

#endif
