/* SPDX-License-Identifier: Apache-2.0 */
/* envelope.h - the agent side's code for the fixed bytes around a payload (drawn in proto/envelope_format.h).
 *
 * The server has its own code. They share the layout, not the code. */
#ifndef SBX_ENVELOPE_H
#define SBX_ENVELOPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "envelope_format.h"
#include "marks.h"

/* A checked envelope: its lengths, version and checksum are right. */
struct sbx_envelope {
    uint8_t id[SBX_PAYLOAD_ID_BYTES];
    bool is_sealed;                        /* the body cannot be read here */
    uint8_t key_id[SBX_SEAL_KEY_ID_BYTES]; /* the recipient's key; zeroes when plain */
    const uint8_t *body;                   /* inside the bytes that were read */
    size_t body_bytes;
};

/* CRC-32C (Castagnoli) of `bytes` bytes, continued from `crc` (0 to begin). */
uint32_t sbx_crc32c(uint32_t crc, const void *content, size_t bytes);

/* Write the header's fields into its 40 bytes, and the checksum over them and `body` (`body_bytes` bytes). `key_id`
 * NULL: plain. */
void sbx_envelope_put_header(uint8_t *header, const uint8_t id[SBX_PAYLOAD_ID_BYTES], const uint8_t *key_id,
                             const uint8_t *body, size_t body_bytes);

/* Compress `payload` (zstd 3, with its own checksum) and put the header before it. Returns 0 and malloc'ed bytes
 * (given: free), -E2BIG if the result would not fit into SBX_ENVELOPE_BYTES_MAX once it is sealed, -ENOMEM, or -EIO if
 * zstd fails. */
SBX_MUST_CHECK int sbx_envelope_write(const uint8_t id[SBX_PAYLOAD_ID_BYTES], const void *payload, size_t payload_bytes,
                                      uint8_t **envelope_out, size_t *bytes_out);

/* Check the header. Returns 0, -EPROTO if the bytes are no complete envelope, or -ENOTSUP if its version or suite is
 * newer. `why` (may be NULL) gets the reason. */
SBX_MUST_CHECK int sbx_envelope_read(const void *bytes, size_t byte_count, struct sbx_envelope *envelope_out, char *why,
                                     size_t why_bytes);

/* Decompress the body of a plain envelope (-ENOKEY: it is sealed). It must be exactly one zstd frame with its size
 * given, at most SBX_PAYLOAD_BYTES_MAX. Returns 0 and malloc'ed bytes (given: free), -EPROTO with `why`, or -ENOMEM. */
SBX_MUST_CHECK int sbx_envelope_payload(const struct sbx_envelope *envelope, uint8_t **payload_out, size_t *bytes_out,
                                        char *why, size_t why_bytes);

#endif
