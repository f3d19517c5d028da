/* SPDX-License-Identifier: Apache-2.0 */
/* redis_upload.h - an image on its way into Redis: chunks first, head last. */
#ifndef SBX_REDIS_UPLOAD_H
#define SBX_REDIS_UPLOAD_H

#include "redis_image.h"

struct sbx_redis_upload {
    struct sbx_redis_place *place;
    const struct sbx_redis_image_keys *keys;
    struct sbx_symbol_image *image; /* a file, verified */
    uint64_t generation;
    uint8_t *head; /* the value */
    size_t head_bytes;
    bool is_begun, is_there; /* some, or all of its chunks are */
    bool is_offered;         /* the head was sent without an answer: it may come to be there */
};

/* Put it, if what is there allows it. Returns 0, -EBUSY when others write the same all the time, or -errno. */
int sbx_redis_upload_put(struct sbx_redis_upload *upload, enum sbx_store_outcome *outcome_out,
                         enum sbx_symbol_source *before_out);

/* What is there now: the first bytes of the head, "" nothing; "!" where it is no text at all. Returns 0 or -errno. */
int sbx_redis_read_mark(struct sbx_redis_place *place, const struct sbx_redis_image_keys *keys,
                        char mark_out[SBX_REDIS_MARK_BYTES], size_t *bytes_out);
/* Have the head be `value` (NULL: nothing) if it begins with `mark`. Returns 1 done, 0 it does not, or -errno. */
int sbx_redis_exchange_head(struct sbx_redis_place *place, const struct sbx_redis_image_keys *keys, const char *mark,
                            size_t mark_bytes, const uint8_t *value, size_t bytes);

#endif
