/* SPDX-License-Identifier: Apache-2.0 */
/* encode.h - encodes a redacted snapshot into the bytes of an envelope (proto/envelope_format.h, payload.proto). */
#ifndef SBX_ENCODE_H
#define SBX_ENCODE_H

#include <stddef.h>
#include <stdint.h>

#include "redaction.h"
#include "sampling.h"
#include "snapshot.h"

/* Encode, verify and compress. Before it is compressed, the encoded protobuf is read again by the privacy verifier
 * (payload_verify.h), which refuses everything that it does not know (-EPERM; then nothing is written). If the payload
 * is larger than an envelope may be, the oldest records are dropped and counted. Returns 0 and malloc'ed bytes (given:
 * free), or -errno. */
int sbx_encode(const struct sbx_snapshot *snapshot, const struct sbx_redaction *redaction, uint8_t **envelope_out,
               size_t *bytes_out, char *why, size_t why_bytes);

/* The same for a snapshot that was sampled: the payload says for how many snapshots it stands. */
int sbx_encode_sampled(const struct sbx_snapshot *snapshot, const struct sbx_redaction *redaction,
                       const struct sbx_sampled *sampled, uint8_t **envelope_out, size_t *bytes_out, char *why,
                       size_t why_bytes);

#endif
