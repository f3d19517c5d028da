/* SPDX-License-Identifier: Apache-2.0 */
/* stall_signature.h - a number for the kind of stall in a snapshot and for its place, without symbols. Two stalls at
 * one place of one build have the same number, whatever the order of modules and threads in memory. */
#ifndef SBX_STALL_SIGNATURE_H
#define SBX_STALL_SIGNATURE_H

#include <stdint.h>

#include "snapshot.h"

/* A 64-bit FNV-1a hash of the trigger's kind and the innermost frames (build-id and offset) of the heavy path. From the
 * outermost frame inwards, the path takes the frame that covers more than half of the judged time, as long as there is
 * one. So a stall that computes in many places is identified by their common caller, and a stall that waits by the call
 * that waits. Where a thread was interrupted, the offset does not identify the function, so only the module counts
 * there. Never 0. It does not leave the machine. Pure. A hostile snapshot gives some number. */
uint64_t sbx_stall_signature(const struct sbx_snapshot *snapshot);

#endif
