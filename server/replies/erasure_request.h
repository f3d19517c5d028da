/* SPDX-License-Identifier: Apache-2.0 */
/* erasure_request.h - the untrusted body of POST /v1/erasures (proto/erasure_format.h). */
#ifndef SBX_ERASURE_REQUEST_H
#define SBX_ERASURE_REQUEST_H

#include <stddef.h>
#include <stdint.h>

#include "erasure_format.h"

/* Returns the number of proofs, 1 to SBX_ERASURES_MAX, or 0 when the body is anything but whole lines of 64 lower hex
 * digits. Pure. */
size_t sbx_erasure_request_read(const char *body, size_t bytes,
                                uint8_t proofs_out[SBX_ERASURES_MAX][SBX_ERASURE_PROOF_BYTES]);

#endif
