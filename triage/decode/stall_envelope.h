/* SPDX-License-Identifier: Apache-2.0 */
/* stall_envelope.h - opens the envelope around a payload (proto/envelope_format.h). */
#ifndef SBX_STALL_ENVELOPE_H
#define SBX_STALL_ENVELOPE_H

#include <stddef.h>
#include <stdint.h>

/* Check the header of an envelope of this suite, and its checksum. Returns 0, or -EPROTO or -ENOTSUP with the reason in
 * `why`. */
int sbx_stall_envelope_check(const uint8_t *header, size_t bytes, uint8_t suite, char *why, size_t why_bytes);

/* Check header and checksum and decompress the body. Returns 0 and malloc'ed protobuf bytes (given: free), at most
 * SBX_PAYLOAD_BYTES_MAX of them; -EPROTO or -ENOTSUP with the reason in `why`; -ENOMEM. */
int sbx_stall_envelope_open(const void *envelope, size_t bytes, uint8_t id_out[16], uint8_t **body_out,
                            size_t *body_bytes_out, char *why, size_t why_bytes);

#endif
