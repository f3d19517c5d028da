/* SPDX-License-Identifier: Apache-2.0 */
/* stall_signature.h - a number for what kind of stall a snapshot is and where it was, without any symbol: two stalls of
 * one place in one build have the same, whatever the order of modules and threads in memory was. */
#ifndef SBX_STALL_SIGNATURE_H
#define SBX_STALL_SIGNATURE_H

#include <stdint.h>

#include "snapshot.h"

/* FNV-1a, 64 bits, of the trigger's kind and the innermost frames (build-id and offset) of the heavy path: from the
 * outermost frame inwards, the frame that covers more than half of the time in which the judged thing was open, as long as
 * there is one. So a stall that computes in many places is named by what called them, and one that waits by the very call.
 * Where a thread was interrupted, its function cannot be told from its offset: only the module counts there. Never 0. It
 * does not leave the machine. Pure; a hostile snapshot yields some number. */
uint64_t sbx_stall_signature(const struct sbx_snapshot *snapshot);

#endif
