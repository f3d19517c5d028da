/* SPDX-License-Identifier: Apache-2.0 */
/* redis_keys.c - the keys of images in Redis, and the value of a head. */
#include "redis_keys.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stall_crc32c.h"

enum {
    CHUNKS_TOGETHER = 64
};
static const char magic[8] = {'s', 'b', 'x', 'h', 'e', 'a', 'd', '1'}, tail[] = "}:head";

/* The value as it is in Redis; numbers are little-endian. */
struct head {
    char magic[8];
    uint64_t generation;
    uint32_t crc; /* of the generation and of the bytes after this header */
    uint32_t unused;
};
_Static_assert(sizeof(struct head) == 24, "the head has no holes");

size_t sbx_redis_head_key(const struct sbx_redis_image_keys *keys, char key_out[SBX_REDIS_KEY_BYTES])
{
    return (size_t)snprintf(key_out, SBX_REDIS_KEY_BYTES, "sbx:%s:v%d:{%s%s", keys->tenant, SBX_SYMBOL_PARSER_VERSION,
                            keys->hex, tail);
}

size_t sbx_redis_chunk_key(const struct sbx_redis_image_keys *keys, uint64_t generation, uint64_t number,
                           char key_out[SBX_REDIS_KEY_BYTES])
{
    return (size_t)snprintf(key_out, SBX_REDIS_KEY_BYTES, "sbx:%s:v%d:{%s.%016" PRIx64 ".%" PRIx64 "}:%" PRIx64,
                            keys->tenant, SBX_SYMBOL_PARSER_VERSION, keys->hex, generation, number / CHUNKS_TOGETHER,
                            number);
}

size_t sbx_redis_head_pattern(const char *tenant, char pattern_out[SBX_REDIS_KEY_BYTES])
{
    return (size_t)snprintf(pattern_out, SBX_REDIS_KEY_BYTES, "sbx:%s:v%d:{*%s", tenant, SBX_SYMBOL_PARSER_VERSION,
                            tail);
}

bool sbx_redis_head_hex(const char *tenant, const char *key, size_t bytes, char hex_out[SBX_STORE_HEX_BYTES])
{
    char pattern[SBX_REDIS_KEY_BYTES];
    size_t before = sbx_redis_head_pattern(tenant, pattern) - strlen(tail) - 1, behind = strlen(tail);
    if (bytes <= before + behind || memcmp(key, pattern, before) != 0 ||
        memcmp(key + bytes - behind, tail, behind) != 0 || !sbx_store_is_hex(key + before, bytes - before - behind)) {
        return false;
    }
    memcpy(hex_out, key + before, bytes - before - behind);
    hex_out[bytes - before - behind] = '\0';
    return true;
}

static uint32_t crc_of(const struct head *head, const uint8_t *behind, size_t bytes)
{
    return sbx_stall_crc32c(sbx_stall_crc32c(0, &head->generation, sizeof head->generation), behind, bytes);
}

uint8_t *sbx_redis_head_pack(uint64_t generation, const uint8_t *head, size_t bytes, size_t *value_bytes_out)
{
    struct head front = {.generation = htole64(generation)};
    uint8_t *value = malloc(sizeof front + bytes);
    if (value == NULL) {
        return NULL;
    }
    memcpy(front.magic, magic, sizeof magic);
    front.crc = htole32(crc_of(&front, head, bytes));
    memcpy(value, &front, sizeof front);
    memcpy(value + sizeof front, head, bytes);
    *value_bytes_out = sizeof front + bytes;
    return value;
}

int sbx_redis_head_open(const uint8_t *value, size_t bytes, uint64_t *generation_out, const uint8_t **head_out,
                        size_t *head_bytes_out)
{
    struct head front;
    if (bytes < sizeof front) {
        return -EBADMSG;
    }
    memcpy(&front, value, sizeof front);
    if (memcmp(front.magic, magic, sizeof magic) != 0 ||
        crc_of(&front, value + sizeof front, bytes - sizeof front) != le32toh(front.crc)) {
        return -EBADMSG;
    }
    *generation_out = le64toh(front.generation);
    *head_out = value + sizeof front;
    *head_bytes_out = bytes - sizeof front;
    return 0;
}
