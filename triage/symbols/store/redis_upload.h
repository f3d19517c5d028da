/* SPDX-License-Identifier: Apache-2.0 */
/* redis_upload.h - writes an image into Redis: chunks first, head last. */
#ifndef SBX_REDIS_UPLOAD_H
#define SBX_REDIS_UPLOAD_H

#include "redis_image.h"

struct sbx_redis_upload {
    struct sbx_redis_place *place;
    const struct sbx_redis_image_keys *keys;
    struct sbx_symbol_image *image; /* a file that was checked */
    uint64_t generation;
    uint8_t *head; /* the value of the head */
    size_t head_bytes;
    bool is_begun, is_there; /* is_begun: chunks were written; is_there: all of them were */
    bool is_offered;         /* the head was sent but no reply came, so it may still arrive */
};

/* Write the image, if the present one allows it. Returns 0, -EBUSY if others write the same build-id all the time, or
 * -errno. */
int sbx_redis_upload_put(struct sbx_redis_upload *upload, enum sbx_store_outcome *outcome_out,
                         enum sbx_symbol_source *before_out);

/* The mark of the present value: the first bytes of the head; "": no value; "!": a value that is not a string. Returns
 * 0 or -errno. */
int sbx_redis_read_mark(struct sbx_redis_place *place, const struct sbx_redis_image_keys *keys,
                        char mark_out[SBX_REDIS_MARK_BYTES], size_t *bytes_out);
/* Set the head to `value` (NULL: remove it) if the present one begins with `mark`. Returns 1: done, 0: another mark, or
 * -errno. */
int sbx_redis_exchange_head(struct sbx_redis_place *place, const struct sbx_redis_image_keys *keys, const char *mark,
                            size_t mark_bytes, const uint8_t *value, size_t bytes);

#endif
