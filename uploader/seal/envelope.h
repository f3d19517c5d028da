/* SPDX-License-Identifier: Apache-2.0 */
/* envelope.h - the agent side's code for the fixed bytes around a payload (proto/envelope_format.h draws them).
 *
 * The server has its own: they share the layout, not the code. */
#ifndef SBX_ENVELOPE_H
#define SBX_ENVELOPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "envelope_format.h"
#include "marks.h"

/* An envelope that was checked: lengths, version and checksum are right. */
struct sbx_envelope {
    uint8_t id[SBX_PAYLOAD_ID_BYTES];
    bool is_sealed;                        /* nobody here can look into the body */
    uint8_t key_id[SBX_SEAL_KEY_ID_BYTES]; /* the recipient's key; zeroes when plain */
    const uint8_t *body;                   /* in the bytes it was read from */
    size_t body_bytes;
};

/* CRC-32C (Castagnoli) of `bytes` bytes, going on from `crc` (0 to begin). */
uint32_t sbx_crc32c(uint32_t crc, const void *content, size_t bytes);

/* Write the header's fields into its 40 bytes, and the checksum over them and `body` (`body_bytes` of them). `key_id`
 * NULL: plain. */
void sbx_envelope_put_header(uint8_t *header, const uint8_t id[SBX_PAYLOAD_ID_BYTES], const uint8_t *key_id,
                             const uint8_t *body, size_t body_bytes);

/* Compress `payload` (zstd 3, with its own checksum) and put the header before it. Returns 0 and malloc'ed bytes
 * (given: free), -E2BIG when the result would not fit SBX_ENVELOPE_BYTES_MAX once it is sealed, -ENOMEM, -EIO when zstd
 * fails. */
SBX_MUST_CHECK int sbx_envelope_write(const uint8_t id[SBX_PAYLOAD_ID_BYTES], const void *payload, size_t payload_bytes,
                                      uint8_t **envelope_out, size_t *bytes_out);

/* Check the header. Returns 0, -EPROTO when the bytes are no whole envelope, -ENOTSUP when it is of a later version or
 * suite; `why` (may be NULL) gets the reason. */
SBX_MUST_CHECK int sbx_envelope_read(const void *bytes, size_t byte_count, struct sbx_envelope *envelope_out, char *why,
                                     size_t why_bytes);

/* Decompress the body of a plain one (-ENOKEY: it is sealed): exactly one zstd frame that says its size,
 * SBX_PAYLOAD_BYTES_MAX at most. Returns 0 and malloc'ed bytes (given: free), -EPROTO with `why`, or -ENOMEM. */
SBX_MUST_CHECK int sbx_envelope_payload(const struct sbx_envelope *envelope, uint8_t **payload_out, size_t *bytes_out,
                                        char *why, size_t why_bytes);

#endif
