/* SPDX-License-Identifier: Apache-2.0 */
/* blobs.c - chooses the kind of store, and checks keys. */
#include "blobs.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blob_ways.h"

struct sbx_blobs {
    const struct sbx_blob_way *way;
    void *self;
};

int sbx_blobs_open(const char *where, const char *secret, struct sbx_blobs **blobs_out, char *why, size_t why_bytes)
{
    struct sbx_blobs *blobs = calloc(1, sizeof(*blobs));
    struct sbx_s3_url url;
    int result = -ENOMEM;
    if (!blobs) {
        snprintf(why, why_bytes, "no memory");
    } else if (where[0] == '/' || strncmp(where, "file:/", 6) == 0) {
        blobs->way = &sbx_blob_folder;
        result = sbx_blob_folder_open(where[0] == '/' ? where : where + 5, &blobs->self, why, why_bytes);
    } else if ((result = sbx_s3_url_read(where, &url, why, why_bytes)) == 0) {
        blobs->way = &sbx_blob_s3;
        result = sbx_blob_s3_open(&url, secret, &blobs->self, why, why_bytes);
    }
    if (result < 0) {
        free(blobs);
        return result;
    }
    *blobs_out = blobs;
    return 0;
}

void sbx_blobs_close(struct sbx_blobs *blobs)
{
    if (!blobs)
        return;
    blobs->way->close(blobs->self);
    free(blobs);
}

/* No empty part, and no part that leads out of the folder (".."). */
static bool is_key(const char *key)
{
    size_t bytes = strlen(key);
    return bytes > 0 && bytes < SBX_BLOB_KEY_BYTES && strspn(key, "abcdefghijklmnopqrstuvwxyz0123456789-./") == bytes &&
           key[0] != '/' && key[0] != '.' && key[bytes - 1] != '/' && !strstr(key, "//") && !strstr(key, "/.");
}

static int refuse_key(char *why, size_t why_bytes)
{
    snprintf(why, why_bytes, "this is no key of a blob");
    return -EINVAL;
}

int sbx_blobs_put(struct sbx_blobs *blobs, const char *key, const void *bytes, size_t count, char *why,
                  size_t why_bytes)
{
    return is_key(key) ? blobs->way->put(blobs->self, key, bytes, count, why, why_bytes) : refuse_key(why, why_bytes);
}

int sbx_blobs_get(struct sbx_blobs *blobs, const char *key, size_t max, struct sbx_byte_buffer *out, char *why,
                  size_t why_bytes)
{
    return is_key(key) ? blobs->way->get(blobs->self, key, max, out, why, why_bytes) : refuse_key(why, why_bytes);
}

int sbx_blobs_remove(struct sbx_blobs *blobs, const char *key, char *why, size_t why_bytes)
{
    return is_key(key) ? blobs->way->remove(blobs->self, key, why, why_bytes) : refuse_key(why, why_bytes);
}
