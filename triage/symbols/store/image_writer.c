/* SPDX-License-Identifier: Apache-2.0 */
/* image_writer.c - an image from places and spans: sbx_symbol_image_write(). */
#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mbedtls/sha256.h>
#include <zstd.h>

#include "image_layout.h"
#include "stall_crc32c.h"
#include "symbol_chunk.h"
#include "symbol_image.h"

enum {
    ZSTD_LEVEL = 3 /* higher levels take several times as long and save only a few percent for such small chunks */
};

static int write_at(int fd, const void *bytes, size_t count, uint64_t offset)
{
    const char *at = bytes;
    while (count > 0) {
        ssize_t written = pwrite(fd, at, count, (off_t)offset);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            return written < 0 ? -errno : -EIO;
        }
        at += written;
        offset += (uint64_t)written;
        count -= (size_t)written;
    }
    return 0;
}

/* The next chunk that has names, from chunk `number` on. *span_inout is the first span that may lie in it. False: there
 * is none. */
static bool next_chunk(const struct sbx_span *spans, size_t count, size_t *span_inout, uint64_t *number_inout)
{
    size_t at = *span_inout;
    if (*number_inout > UINT64_MAX / SBX_CHUNK_CODE_BYTES) {
        return false;
    }
    uint64_t begin = *number_inout * SBX_CHUNK_CODE_BYTES;
    while (at < count && spans[at].end <= begin) {
        at++;
    }
    *span_inout = at;
    if (at == count) {
        return false;
    }
    uint64_t first = spans[at].begin / SBX_CHUNK_CODE_BYTES;
    *number_inout = first > *number_inout ? first : *number_inout;
    return true;
}

static size_t count_chunks(const struct sbx_span *spans, size_t count)
{
    size_t chunks = 0, span = 0;
    for (uint64_t number = 0; chunks <= SBX_IMAGE_CHUNKS_MAX && next_chunk(spans, count, &span, &number); number++) {
        chunks++;
    }
    return chunks;
}

struct writing {
    int fd;
    uint64_t offset;
    struct sbx_image_entry *entries;
    size_t entry_count;
    struct sbx_chunk_writer *chunks;
    ZSTD_CCtx *compression;
    void *compressed;
    size_t compressed_room;
    mbedtls_sha256_context digest;
};

static int write_chunk(struct writing *writing, uint64_t number, const struct sbx_span *spans, size_t count)
{
    const uint8_t *raw;
    size_t raw_bytes;
    int result =
        sbx_chunk_writer_encode(writing->chunks, number * SBX_CHUNK_CODE_BYTES, spans, count, &raw, &raw_bytes);
    if (result != 0) {
        return result;
    }
    size_t room = ZSTD_compressBound(raw_bytes);
    if (room > writing->compressed_room) {
        void *grown = realloc(writing->compressed, room);
        if (grown == NULL) {
            return -ENOMEM;
        }
        writing->compressed = grown;
        writing->compressed_room = room;
    }
    size_t bytes = ZSTD_compressCCtx(writing->compression, writing->compressed, writing->compressed_room, raw,
                                     raw_bytes, ZSTD_LEVEL);
    if (ZSTD_isError(bytes)) {
        return -ENOMEM;
    }
    sbx_image_digest_chunk(&writing->digest, number, raw, raw_bytes);
    writing->entries[writing->entry_count++] =
        (struct sbx_image_entry){.number = htole64(number),
                                 .offset = htole64(writing->offset),
                                 .bytes = htole32((uint32_t)bytes),
                                 .raw_bytes = htole32((uint32_t)raw_bytes),
                                 .crc = htole32(sbx_stall_crc32c(0, writing->compressed, bytes))};
    result = write_at(writing->fd, writing->compressed, bytes, writing->offset);
    writing->offset += bytes;
    return result;
}

static int write_chunks(struct writing *writing, const struct sbx_span *spans, size_t count)
{
    size_t span = 0;
    int result = 0;
    for (uint64_t number = 0; result == 0 && next_chunk(spans, count, &span, &number); number++) {
        size_t behind = span;
        while (behind < count && spans[behind].begin / SBX_CHUNK_CODE_BYTES <= number) {
            behind++;
        }
        result = write_chunk(writing, number, spans + span, behind - span);
    }
    return result;
}

static int write_header(struct writing *writing, const struct sbx_image_facts *facts)
{
    struct sbx_image_header header = {.parser_version = htole32(SBX_SYMBOL_PARSER_VERSION),
                                      .header_bytes = htole32(sizeof header),
                                      .build_id_bytes = htole32(facts->build_id_bytes),
                                      .machine = htole16(facts->machine),
                                      .kind = htole16((uint16_t)facts->kind),
                                      .best = htole16((uint16_t)facts->best),
                                      .base = htole16((uint16_t)(facts->base >> 32)),
                                      .made_s = htole64(facts->made_s),
                                      .chunk_count = htole64(facts->chunk_count),
                                      .function_count = htole64(facts->function_count),
                                      .place_count = htole64(facts->place_count),
                                      .code_bytes = htole64(facts->code_bytes)};
    memcpy(header.magic, SBX_IMAGE_MAGIC, sizeof header.magic);
    memcpy(header.build_id, facts->build_id, sizeof header.build_id);
    memcpy(header.digest, facts->digest, sizeof header.digest);
    memcpy(header.name, facts->name, sizeof header.name);
    size_t directory_bytes = writing->entry_count * sizeof *writing->entries;
    uint32_t crc = sbx_stall_crc32c(0, &header, sizeof header);
    header.crc = htole32(sbx_stall_crc32c(crc, writing->entries, directory_bytes));
    int result = write_at(writing->fd, writing->entries, directory_bytes, sizeof header);
    return result == 0 ? write_at(writing->fd, &header, sizeof header, 0) : result;
}

int sbx_symbol_image_write(int fd, struct sbx_image_facts *facts, const struct sbx_places *places,
                           const struct sbx_span *spans, size_t count)
{
    size_t chunk_count = count_chunks(spans, count);
    if (chunk_count > SBX_IMAGE_CHUNKS_MAX) {
        return -EFBIG;
    }
    struct writing writing = {.fd = fd,
                              .offset = sizeof(struct sbx_image_header) + chunk_count * sizeof(struct sbx_image_entry)};
    writing.entries = calloc(chunk_count + 1, sizeof *writing.entries);
    writing.chunks = sbx_chunk_writer_create(places);
    writing.compression = ZSTD_createCCtx();
    mbedtls_sha256_init(&writing.digest);
    int result = -ENOMEM;
    if (writing.entries != NULL && writing.chunks != NULL && writing.compression != NULL) {
        result = mbedtls_sha256_starts_ret(&writing.digest, 0) == 0 ? write_chunks(&writing, spans, count) : -EIO;
    }
    if (result == 0) {
        facts->chunk_count = chunk_count;
        facts->function_count = sbx_places_function_count(places);
        facts->place_count = sbx_places_count(places);
        facts->code_bytes = 0;
        for (size_t i = 0; i < count; i++) {
            facts->code_bytes += spans[i].end - spans[i].begin;
        }
        (void)mbedtls_sha256_finish_ret(&writing.digest, facts->digest);
        result = write_header(&writing, facts);
    }
    mbedtls_sha256_free(&writing.digest);
    ZSTD_freeCCtx(writing.compression);
    sbx_chunk_writer_destroy(writing.chunks);
    free(writing.compressed);
    free(writing.entries);
    return result;
}
