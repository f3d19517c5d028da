/* SPDX-License-Identifier: Apache-2.0 */
/* image_layout.h - the binary format of an image, for its writers and readers. */
#ifndef SBX_IMAGE_LAYOUT_H
#define SBX_IMAGE_LAYOUT_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <mbedtls/sha256.h>

#include "symbol_image.h"

#define SBX_IMAGE_MAGIC "sbxsymb1" /* 8 bytes */

/* The header as it is in the file; numbers are little-endian. */
struct sbx_image_header {
    char magic[8];
    uint32_t parser_version;
    uint32_t header_bytes; /* size of this header */
    uint32_t crc;          /* of the header (with this field 0) and the directory */
    uint32_t build_id_bytes;
    uint8_t build_id[SBX_IMAGE_BUILD_ID_BYTES_MAX];
    uint8_t digest[SBX_IMAGE_DIGEST_BYTES];
    char name[SBX_IMAGE_NAME_BYTES];
    uint16_t machine, kind, best;
    uint16_t base; /* in units of 4 GiB */
    uint64_t made_s, chunk_count, function_count, place_count, code_bytes;
};
_Static_assert(sizeof(struct sbx_image_header) == 200, "the header has no holes");

struct sbx_image_entry {
    uint64_t number; /* number of the chunk: address / SBX_CHUNK_CODE_BYTES */
    uint64_t offset; /* offset in the file */
    uint32_t bytes, raw_bytes;
    uint32_t crc; /* CRC of the compressed bytes */
    uint32_t unused;
};
_Static_assert(sizeof(struct sbx_image_entry) == 32, "an entry has no holes");

/* A hash of a chunk's content, in 64 bits. Chunks consist of whole words. */
static inline uint64_t sbx_image_hash_chunk(const uint8_t *raw, size_t bytes)
{
    uint64_t hash = bytes;
    for (size_t at = 0; at + 4 <= bytes; at += 8) {
        uint64_t word = 0;
        memcpy(&word, raw + at, bytes - at < 8 ? 4 : 8);
        hash = (hash ^ le64toh(word)) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    return hash;
}

/* Add a chunk to the digest of all chunks. Only the chunk's hash is added: hashing all bytes this way would take a
 * tenth of the time of parsing. An attacker who makes two files with equal hashes gains nothing: the first one stays,
 * whether the second is taken for equal or for different. */
static inline void sbx_image_digest_chunk(mbedtls_sha256_context *digest, uint64_t number, const uint8_t *raw,
                                          size_t bytes)
{
    uint64_t facts[3] = {htole64(number), htole64(bytes), htole64(sbx_image_hash_chunk(raw, bytes))};
    (void)mbedtls_sha256_update_ret(digest, (const unsigned char *)facts, sizeof facts); /* it has no way to fail */
}

#endif
