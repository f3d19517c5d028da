/* SPDX-License-Identifier: Apache-2.0 */
/* payload_encode.h - encodes redacted rows into the columns of payload.proto. Its implementation is the only file of
 * the agent side that uses protobuf-c for writing. */
#ifndef SBX_PAYLOAD_ENCODE_H
#define SBX_PAYLOAD_ENCODE_H

#include <stddef.h>
#include <stdint.h>

#include "marks.h"
#include "platform.h"
#include "redacted.h"
#include "sampling.h"
#include "snapshot.h"

/* Encode `redacted`. From `snapshot` only the ids, the settings in force and the cost of recording are taken. `sampled`
 * NULL: the snapshot stands for itself. Returns 0 and malloc'ed bytes (given: free) or -ENOMEM. */
SBX_MUST_CHECK int sbx_payload_encode(const struct sbx_redacted *redacted, const struct sbx_snapshot *snapshot,
                                      uint32_t detail_level, const struct sbx_platform *platform,
                                      const struct sbx_sampled *sampled, uint8_t **payload_out, size_t *bytes_out);

#endif
