/* SPDX-License-Identifier: Apache-2.0 */
/* stall_envelope.c - opens the envelope around a payload.
 *
 * The checksum detects a truncated or damaged file, and is trusted for nothing else. Decompression is bounded in window
 * and output, whatever size the frame claims. */
#include "stall_envelope.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "envelope_format.h"
#include "stall_crc32c.h"

static uint32_t read_u32(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

int sbx_stall_envelope_check(const uint8_t *header, size_t bytes, uint8_t suite, char *why, size_t why_bytes)
{
    if (bytes < SBX_ENVELOPE_HEADER_BYTES) {
        snprintf(why, why_bytes, "%zu bytes are less than an envelope's header", bytes);
        return -EPROTO;
    }
    if (bytes > SBX_ENVELOPE_BYTES_MAX) {
        snprintf(why, why_bytes, "%zu bytes are more than an envelope may have", bytes);
        return -EPROTO;
    }
    if (memcmp(header, SBX_ENVELOPE_MAGIC, 4) != 0) {
        snprintf(why, why_bytes, "not an envelope: no %s at its begin", SBX_ENVELOPE_MAGIC);
        return -EPROTO;
    }
    if (header[4] != SBX_ENVELOPE_VERSION) {
        snprintf(why, why_bytes, "envelope version %u is not known here", header[4]);
        return -ENOTSUP;
    }
    if (header[5] != suite) {
        snprintf(why, why_bytes, "the envelope is %s (suite %u)",
                 header[5] == SBX_ENVELOPE_SUITE_PLAIN ? "not sealed" : "sealed", header[5]);
        return -ENOTSUP;
    }
    static const uint8_t zeros[10]; /* reserved, and the key id of a plain envelope */
    if (memcmp(header + 6, zeros, suite == SBX_ENVELOPE_SUITE_PLAIN ? 10 : 2) != 0) {
        snprintf(why, why_bytes, "reserved bytes of the envelope are not zero");
        return -EPROTO;
    }
    if (read_u32(header + 32) != bytes - SBX_ENVELOPE_HEADER_BYTES) {
        snprintf(why, why_bytes, "the envelope says %u body bytes, there are %zu", read_u32(header + 32),
                 bytes - SBX_ENVELOPE_HEADER_BYTES);
        return -EPROTO;
    }
    uint32_t crc = sbx_stall_crc32c(0, header, 36);
    crc = sbx_stall_crc32c(crc, header + SBX_ENVELOPE_HEADER_BYTES, bytes - SBX_ENVELOPE_HEADER_BYTES);
    if (crc != read_u32(header + 36)) {
        snprintf(why, why_bytes, "checksum does not match: torn or damaged");
        return -EPROTO;
    }
    return 0;
}

/* One byte more than the limit, so that a larger body can be told from one of exactly the limit. */
enum {
    ROOM_MAX = SBX_PAYLOAD_BYTES_MAX + 1
};

/* The initial size of the output: the size that the frame claims, if that is plausible. */
static size_t first_room(const void *compressed, size_t bytes)
{
    unsigned long long said = ZSTD_getFrameContentSize(compressed, bytes);
    if (said == ZSTD_CONTENTSIZE_UNKNOWN || said == ZSTD_CONTENTSIZE_ERROR) {
        return 64 * 1024;
    }
    return said >= ROOM_MAX ? ROOM_MAX : said == 0 ? 1 : (size_t)said;
}

/* Decompress one frame with `context`. On failure *body_out is not set. */
static int decompress(ZSTD_DCtx *context, const void *compressed, size_t bytes, uint8_t **body_out, size_t *bytes_out,
                      char *why, size_t why_bytes)
{
    size_t room = first_room(compressed, bytes);
    uint8_t *body = malloc(room);
    if (body == NULL) {
        return -ENOMEM;
    }
    ZSTD_inBuffer in = {compressed, bytes, 0};
    ZSTD_outBuffer out = {body, room, 0};
    int result = -EPROTO;
    for (;;) {
        size_t in_before = in.pos, out_before = out.pos;
        size_t left = ZSTD_decompressStream(context, &out, &in);
        if (ZSTD_isError(left)) {
            snprintf(why, why_bytes, "body does not decompress: %s", ZSTD_getErrorName(left));
            goto free_body;
        }
        if (out.pos == ROOM_MAX) {
            snprintf(why, why_bytes, "body has more than %d bytes decompressed", SBX_PAYLOAD_BYTES_MAX);
            goto free_body;
        }
        if (left == 0) {
            break;
        }
        if (out.pos == out.size) {
            room = room > ROOM_MAX / 2 ? ROOM_MAX : room * 2;
            uint8_t *grown = realloc(body, room);
            if (grown == NULL) {
                result = -ENOMEM;
                goto free_body;
            }
            body = grown;
            out.dst = body;
            out.size = room;
        } else if (in.pos == in_before && out.pos == out_before) {
            snprintf(why, why_bytes, "body ends in the middle of its compressed frame");
            goto free_body;
        }
    }
    if (in.pos != in.size) {
        snprintf(why, why_bytes, "%zu bytes follow the compressed frame", in.size - in.pos);
        goto free_body;
    }
    *body_out = body;
    *bytes_out = out.pos;
    return 0;

free_body:
    free(body);
    return result;
}

int sbx_stall_envelope_open(const void *envelope, size_t bytes, uint8_t id_out[16], uint8_t **body_out,
                            size_t *body_bytes_out, char *why, size_t why_bytes)
{
    const uint8_t *header = envelope;
    int result = sbx_stall_envelope_check(header, bytes, SBX_ENVELOPE_SUITE_PLAIN, why, why_bytes);
    if (result != 0) {
        return result;
    }
    const uint8_t *compressed = header + SBX_ENVELOPE_HEADER_BYTES;
    size_t compressed_bytes = bytes - SBX_ENVELOPE_HEADER_BYTES;
    if (compressed_bytes < 4 || read_u32(compressed) != ZSTD_MAGICNUMBER) {
        snprintf(why, why_bytes, "body is no zstd frame"); /* also refuses skippable frames */
        return -EPROTO;
    }
    ZSTD_DCtx *context = ZSTD_createDCtx();
    if (context == NULL) {
        return -ENOMEM;
    }
    size_t set = ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, SBX_PAYLOAD_WINDOW_LOG_MAX);
    if (ZSTD_isError(set)) {
        snprintf(why, why_bytes, "zstd takes no window limit: %s", ZSTD_getErrorName(set));
        result = -EPROTO;
    } else {
        result = decompress(context, compressed, compressed_bytes, body_out, body_bytes_out, why, why_bytes);
    }
    ZSTD_freeDCtx(context);
    if (result == 0) {
        memcpy(id_out, header + 16, 16);
    }
    return result;
}
