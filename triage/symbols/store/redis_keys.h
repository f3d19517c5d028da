/* SPDX-License-Identifier: Apache-2.0 */
/* redis_keys.h - what images are called in Redis, and the value of a head.
 *
 *   sbx:TENANT:v2:{BUILD-ID}:head               generation | CRC | header and directory, as in a file
 *   sbx:TENANT:v2:{BUILD-ID.GENERATION.64TH}:N   chunk N (hex), compressed, as in a file
 *
 * v2 is the parser's version. Each upload makes a generation of its own, so a chunk is never changed once it is written,
 * and what a reader of an older head asks for is not what another wrote since. Braces are what a cluster takes the slot of:
 * 64 neighbouring chunks lie together, a whole image does not, which would put all questions of a popular library to one
 * node. */
#ifndef SBX_REDIS_KEYS_H
#define SBX_REDIS_KEYS_H

#include "store_rules.h"

enum {
    SBX_REDIS_KEY_BYTES = 224,
    SBX_REDIS_MARK_BYTES = 16 /* the first of a head: what tells it from any other */
};

/* "sbx:TENANT:v2:" and the build-id. */
struct sbx_redis_image_keys {
    char tenant[SBX_STORE_TENANT_BYTES_MAX + 1];
    char hex[SBX_STORE_HEX_BYTES];
};
/* These return how many bytes they wrote, without the NUL. */
size_t sbx_redis_head_key(const struct sbx_redis_image_keys *keys, char key_out[SBX_REDIS_KEY_BYTES]);
size_t sbx_redis_chunk_key(const struct sbx_redis_image_keys *keys, uint64_t generation, uint64_t number,
                           char key_out[SBX_REDIS_KEY_BYTES]);
size_t sbx_redis_head_pattern(const char *tenant, char pattern_out[SBX_REDIS_KEY_BYTES]);
/* The build-id of a head's key, given that it matches the pattern of its tenant. False when it is none of ours. */
bool sbx_redis_head_hex(const char *tenant, const char *key, size_t bytes, char hex_out[SBX_STORE_HEX_BYTES]);

/* The value of a head, given (free); NULL without memory. */
uint8_t *sbx_redis_head_pack(uint64_t generation, const uint8_t *head, size_t bytes, size_t *value_bytes_out);
/* What is in it, borrowed. Returns 0 or -EBADMSG. */
int sbx_redis_head_open(const uint8_t *value, size_t bytes, uint64_t *generation_out, const uint8_t **head_out,
                        size_t *head_bytes_out);

#endif
