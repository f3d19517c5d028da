/* SPDX-License-Identifier: Apache-2.0 */
/* redis_keys.h - the keys of images in Redis, and the value of a head.
 *
 *  sbx:TENANT:v2:{BUILD-ID}:head               generation | CRC | header and directory, as in a file
 *  sbx:TENANT:v2:{BUILD-ID.GENERATION.64TH}:N   chunk N (hex), compressed, as in a file
 *
 * v2 is the parser's version. Each upload has a generation of its own. So a chunk is never changed after it was
 * written, and a reader of an older head never gets chunks of a newer upload. A cluster computes the slot from the part
 * in braces. 64 neighbouring chunks are in one slot. A whole image is not, because then one node would get all lookups
 * of a popular library. */
#ifndef SBX_REDIS_KEYS_H
#define SBX_REDIS_KEYS_H

#include "store_rules.h"

enum {
    SBX_REDIS_KEY_BYTES = 224,
    SBX_REDIS_MARK_BYTES = 16 /* the first bytes of a head, which identify it */
};

/* "sbx:TENANT:v2:" and the build-id. */
struct sbx_redis_image_keys {
    char tenant[SBX_STORE_TENANT_BYTES_MAX + 1];
    char hex[SBX_STORE_HEX_BYTES];
};
/* These return the number of bytes they wrote, without the NUL. */
size_t sbx_redis_head_key(const struct sbx_redis_image_keys *keys, char key_out[SBX_REDIS_KEY_BYTES]);
size_t sbx_redis_chunk_key(const struct sbx_redis_image_keys *keys, uint64_t generation, uint64_t number,
                           char key_out[SBX_REDIS_KEY_BYTES]);
size_t sbx_redis_head_pattern(const char *tenant, char pattern_out[SBX_REDIS_KEY_BYTES]);
/* The build-id of a head's key that matches the pattern of its tenant. False: it is not a key of this format. */
bool sbx_redis_head_hex(const char *tenant, const char *key, size_t bytes, char hex_out[SBX_STORE_HEX_BYTES]);

/* The value of a head, given (free); NULL if memory runs out. */
uint8_t *sbx_redis_head_pack(uint64_t generation, const uint8_t *head, size_t bytes, size_t *value_bytes_out);
/* Read such a value; borrowed. Returns 0 or -EBADMSG. */
int sbx_redis_head_open(const uint8_t *value, size_t bytes, uint64_t *generation_out, const uint8_t **head_out,
                        size_t *head_bytes_out);

#endif
