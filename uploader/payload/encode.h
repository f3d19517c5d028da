/* SPDX-License-Identifier: Apache-2.0 */
/* encode.h - a redacted snapshot to the bytes of an envelope (proto/envelope_format.h, payload.proto). */
#ifndef SBX_ENCODE_H
#define SBX_ENCODE_H

#include <stddef.h>
#include <stdint.h>

#include "redaction.h"
#include "sampling.h"
#include "snapshot.h"

/* Encode, verify and compress. The encoded protobuf is walked once more by the privacy verifier (payload_verify.h)
 * before it is compressed: what it does not know, it refuses (-EPERM), and nothing is written. Cut to the envelope's
 * maximum by dropping the oldest records first, counted. Returns 0 and malloc'ed bytes (given: free), or -errno. */
int sbx_encode(const struct sbx_snapshot *snapshot, const struct sbx_redaction *redaction, uint8_t **envelope_out,
               size_t *bytes_out, char *why, size_t why_bytes);

/* The same of one that was picked out of several: the payload says for how many it stands. */
int sbx_encode_sampled(const struct sbx_snapshot *snapshot, const struct sbx_redaction *redaction,
                       const struct sbx_sampled *sampled, uint8_t **envelope_out, size_t *bytes_out, char *why,
                       size_t why_bytes);

#endif
