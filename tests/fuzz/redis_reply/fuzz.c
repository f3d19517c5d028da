/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz.c - any bytes as a Redis server's answers: replies, slot maps, redirects, heads of images. The target
 * symbol_image covers the content of chunks. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"
#include "redis_cluster.h"
#include "redis_keys.h"
#include "stall_crc32c.h"

enum {
    FRONT_BYTES = 24,
    CRC_AT = 16
};

/* Read a head with its checksum set right, which a fuzzer does not find. */
static void read_head(const char *text, size_t bytes)
{
    uint8_t *value = malloc(bytes + 1);
    const uint8_t *head;
    size_t head_bytes;
    uint64_t generation, stored;
    MUST(value != NULL);
    memcpy(value, text, bytes);
    if (bytes >= FRONT_BYTES) {
        uint32_t crc = sbx_stall_crc32c(0, value + 8, 8);
        crc = sbx_stall_crc32c(crc, value + FRONT_BYTES, bytes - FRONT_BYTES);
        memcpy(value + CRC_AT, &crc, sizeof crc);
    }
    if (sbx_redis_head_open(value, bytes, &generation, &head, &head_bytes) == 0) {
        struct sbx_image_facts facts;
        MUST(head == value + FRONT_BYTES && head_bytes == bytes - FRONT_BYTES);
        if (sbx_symbol_image_head_facts(head, head_bytes, &facts, &stored) == 0) {
            MUST(facts.chunk_count <= SBX_IMAGE_CHUNKS_MAX && strlen(facts.name) < sizeof facts.name);
        }
    }
    free(value);
}

static void read_text(const redisReply *reply)
{
    static const struct sbx_redis_address asked = {"::1", 7000};
    struct sbx_redis_address to;
    char hex[SBX_STORE_HEX_BYTES];
    unsigned slot;
    if (sbx_redis_redirect_read(reply->str, &asked, &slot, &to) != SBX_REDIS_STAYS) {
        MUST(slot < SBX_REDIS_SLOTS && to.port > 0 && to.port <= 65535 && strlen(to.host) < sizeof to.host);
    }
    if (sbx_redis_head_hex("default", reply->str, (size_t)reply->len, hex)) {
        MUST(strlen(hex) <= 64 && strlen(hex) % 2 == 0);
    }
    MUST(sbx_redis_slot(reply->str, (size_t)reply->len) < SBX_REDIS_SLOTS);
    read_head(reply->str, (size_t)reply->len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static const struct sbx_redis_address asked = {"10.0.0.1", 7000};
    static struct sbx_redis_map map;
    redisReplyObjectFunctions plain, bounded;
    redisReader *reader = redisReaderCreate();
    MUST(reader != NULL);
    sbx_redis_bound_reader(reader, &plain, &bounded);
    for (size_t at = 0; at < bytes && reader->err == 0; at += 100) { /* in pieces, as from a socket */
        if (redisReaderFeed(reader, (const char *)data + at, bytes - at < 100 ? bytes - at : 100) != REDIS_OK) {
            break;
        }
        redisReply *reply = NULL;
        while (redisReaderGetReply(reader, (void **)&reply) == REDIS_OK && reply != NULL) {
            if (sbx_redis_map_read(reply, &asked, &map) == 0) {
                MUST(map.node_count > 0 && map.node_count <= SBX_REDIS_NODES_MAX);
                for (size_t slot = 0; slot < SBX_REDIS_SLOTS; slot++) {
                    MUST(map.owners[slot] <= map.node_count);
                }
            }
            if (reply->type == REDIS_REPLY_STRING || reply->type == REDIS_REPLY_STATUS ||
                reply->type == REDIS_REPLY_ERROR) {
                read_text(reply);
            }
            freeReplyObject(reply);
            reply = NULL;
        }
    }
    redisReaderFree(reader);
    return 0;
}
