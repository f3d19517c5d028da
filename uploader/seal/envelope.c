/* SPDX-License-Identifier: Apache-2.0 */
/* envelope.c - header, checksum, compression. */
#include "envelope.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

enum {
    COMPRESSION_LEVEL = 3,
    VERSION_AT = 4,
    SUITE_AT = 5,
    ZERO_AT = 6,
    KEY_AT = 8,
    ID_AT = 16,
    BODY_BYTES_AT = 32,
    CRC_AT = 36,
};

uint32_t sbx_crc32c(uint32_t crc, const void *content, size_t bytes)
{
    /* The table is made on the stack each time. Its 2,048 steps are few compared with the bytes of a body, and it needs
     * no state. */
    uint32_t table[256];
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t value = i;
        for (int bit = 0; bit < 8; bit++) {
            value = (value >> 1) ^ (value & 1 ? 0x82f63b78u : 0); /* 0x1edc6f41 reflected */
        }
        table[i] = value;
    }
    crc = ~crc;
    const uint8_t *at = content;
    for (size_t i = 0; i < bytes; i++) {
        crc = table[(crc ^ at[i]) & 0xff] ^ (crc >> 8);
    }
    return ~crc;
}

static void put_u32(uint8_t *at, uint32_t value)
{
    for (int i = 0; i < 4; i++) {
        at[i] = (uint8_t)(value >> (8 * i));
    }
}

static uint32_t get_u32(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* Computes the checksum of everything except the checksum itself. */
static uint32_t envelope_crc(const uint8_t *header, const uint8_t *body, size_t body_bytes)
{
    return sbx_crc32c(sbx_crc32c(0, header, CRC_AT), body, body_bytes);
}

void sbx_envelope_put_header(uint8_t *header, const uint8_t id[SBX_PAYLOAD_ID_BYTES], const uint8_t *key_id,
                             const uint8_t *body, size_t body_bytes)
{
    memset(header, 0, SBX_ENVELOPE_HEADER_BYTES);
    memcpy(header, SBX_ENVELOPE_MAGIC, 4);
    header[VERSION_AT] = SBX_ENVELOPE_VERSION;
    header[SUITE_AT] = key_id != NULL ? SBX_ENVELOPE_SUITE_SEALED : SBX_ENVELOPE_SUITE_PLAIN;
    if (key_id != NULL) {
        memcpy(header + KEY_AT, key_id, SBX_SEAL_KEY_ID_BYTES);
    }
    memcpy(header + ID_AT, id, SBX_PAYLOAD_ID_BYTES);
    put_u32(header + BODY_BYTES_AT, (uint32_t)body_bytes);
    put_u32(header + CRC_AT, envelope_crc(header, body, body_bytes));
}

int sbx_envelope_write(const uint8_t id[SBX_PAYLOAD_ID_BYTES], const void *payload, size_t payload_bytes,
                       uint8_t **envelope_out, size_t *bytes_out)
{
    size_t room = ZSTD_compressBound(payload_bytes);
    uint8_t *envelope = calloc(1, SBX_ENVELOPE_HEADER_BYTES + room);
    ZSTD_CCtx *context = ZSTD_createCCtx();
    int result = -ENOMEM;
    if (envelope == NULL || context == NULL) {
        goto free_envelope;
    }
    result = -EIO;
    if (ZSTD_isError(ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, COMPRESSION_LEVEL)) ||
        ZSTD_isError(ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1)) ||
        ZSTD_isError(ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 1))) {
        goto free_envelope;
    }
    uint8_t *body = envelope + SBX_ENVELOPE_HEADER_BYTES;
    size_t body_bytes = ZSTD_compress2(context, body, room, payload, payload_bytes);
    if (ZSTD_isError(body_bytes)) {
        goto free_envelope;
    }
    if (body_bytes > SBX_ENVELOPE_BYTES_MAX - SBX_ENVELOPE_HEADER_BYTES - SBX_SEAL_OVERHEAD_BYTES) {
        result = -E2BIG;
        goto free_envelope;
    }
    sbx_envelope_put_header(envelope, id, NULL, body, body_bytes);
    *envelope_out = envelope;
    *bytes_out = SBX_ENVELOPE_HEADER_BYTES + body_bytes;
    envelope = NULL; /* ownership moves to the caller */
    result = 0;

free_envelope:
    ZSTD_freeCCtx(context);
    free(envelope);
    return result;
}

static int refuse(char *why, size_t why_bytes, int result, const char *reason)
{
    if (why != NULL && why_bytes != 0) {
        snprintf(why, why_bytes, "%s", reason);
    }
    return result;
}

int sbx_envelope_read(const void *bytes, size_t byte_count, struct sbx_envelope *envelope_out, char *why,
                      size_t why_bytes)
{
    static const uint8_t zeros[ID_AT - KEY_AT];
    const uint8_t *header = bytes;
    if (byte_count < SBX_ENVELOPE_HEADER_BYTES || memcmp(header, SBX_ENVELOPE_MAGIC, 4) != 0) {
        return refuse(why, why_bytes, -EPROTO, "not a Stallbox payload (no SBX1 header)");
    }
    if (byte_count > SBX_ENVELOPE_BYTES_MAX) {
        return refuse(why, why_bytes, -EPROTO, "larger than any payload may be");
    }
    if (header[VERSION_AT] != SBX_ENVELOPE_VERSION) {
        return refuse(why, why_bytes, -ENOTSUP, "made by a later version");
    }
    bool is_sealed = header[SUITE_AT] == SBX_ENVELOPE_SUITE_SEALED;
    if (!is_sealed && header[SUITE_AT] != SBX_ENVELOPE_SUITE_PLAIN) {
        return refuse(why, why_bytes, -ENOTSUP, "sealed in a way that this version does not know");
    }
    const uint8_t *body = header + SBX_ENVELOPE_HEADER_BYTES;
    size_t body_bytes = byte_count - SBX_ENVELOPE_HEADER_BYTES;
    if (get_u32(header + BODY_BYTES_AT) != body_bytes) {
        return refuse(why, why_bytes, -EPROTO, "cut off or longer than its header says");
    }
    if (get_u32(header + CRC_AT) != envelope_crc(header, body, body_bytes)) {
        return refuse(why, why_bytes, -EPROTO, "damaged: the checksum does not match");
    }
    if (header[ZERO_AT] != 0 || header[ZERO_AT + 1] != 0 ||
        (!is_sealed && memcmp(header + KEY_AT, zeros, sizeof zeros) != 0)) {
        return refuse(why, why_bytes, -EPROTO, "header fields that must be zero are not");
    }
    if (is_sealed && body_bytes <= SBX_SEAL_OVERHEAD_BYTES) {
        return refuse(why, why_bytes, -EPROTO, "too short for anything sealed");
    }
    memcpy(envelope_out->id, header + ID_AT, SBX_PAYLOAD_ID_BYTES);
    memcpy(envelope_out->key_id, header + KEY_AT, SBX_SEAL_KEY_ID_BYTES);
    envelope_out->is_sealed = is_sealed;
    envelope_out->body = body;
    envelope_out->body_bytes = body_bytes;
    return 0;
}

int sbx_envelope_payload(const struct sbx_envelope *envelope, uint8_t **payload_out, size_t *bytes_out, char *why,
                         size_t why_bytes)
{
    if (envelope->is_sealed) {
        return refuse(why, why_bytes, -ENOKEY, "sealed: it can be opened only with the key it is sealed to");
    }
    if (envelope->body_bytes < 4 || get_u32(envelope->body) != ZSTD_MAGICNUMBER) {
        return refuse(why, why_bytes, -EPROTO, "the body is not one zstd frame"); /* a skippable frame is refused */
    }
    unsigned long long content_bytes = ZSTD_getFrameContentSize(envelope->body, envelope->body_bytes);
    if (content_bytes == ZSTD_CONTENTSIZE_UNKNOWN || content_bytes == ZSTD_CONTENTSIZE_ERROR ||
        content_bytes > SBX_PAYLOAD_BYTES_MAX) {
        return refuse(why, why_bytes, -EPROTO, "the body's size is missing or too large");
    }
    if (ZSTD_findFrameCompressedSize(envelope->body, envelope->body_bytes) != envelope->body_bytes) {
        return refuse(why, why_bytes, -EPROTO, "the body is not one zstd frame");
    }
    /* One call decompresses into a buffer of the declared size. So the decoder needs no window of its own, and no frame
     * can request one. */
    uint8_t *payload = malloc(content_bytes == 0 ? 1 : (size_t)content_bytes);
    if (payload == NULL) {
        return refuse(why, why_bytes, -ENOMEM, "out of memory");
    }
    size_t got = ZSTD_decompress(payload, (size_t)content_bytes, envelope->body, envelope->body_bytes);
    if (ZSTD_isError(got) || got != content_bytes) {
        free(payload);
        return refuse(why, why_bytes, -EPROTO, "the body does not decompress");
    }
    *payload_out = payload;
    *bytes_out = got;
    return 0;
}
