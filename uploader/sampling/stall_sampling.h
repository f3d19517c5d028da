/* SPDX-License-Identifier: Apache-2.0 */
/* stall_sampling.h - decides once whether a snapshot becomes a payload, and stores the decision in the file `stalls` of
 * a spool (stall_counts.h). */
#ifndef SBX_STALL_SAMPLING_H
#define SBX_STALL_SAMPLING_H

#include <stdint.h>

#include "delivery_gate.h"
#include "marks.h"
#include "snapshot.h"
#include "stall_counts.h"

/* Decide whether `snapshot` becomes a payload, and how many stalls it stands for. `folder` is the spool's. Several
 * processes may call this at the same time. When this returns 0, the decision is durable. If the process is killed
 * before, nothing was counted. If it is killed later, the next call finds the same decision. gate->may_pack() is called
 * at most once for a picked snapshot. If the file is damaged, a new one is begun, and all kinds of stalls are new
 * again. -errno: nothing was decided (no room, no memory). */
SBX_MUST_CHECK int sbx_stall_sampling_decide(int folder, const struct sbx_snapshot *snapshot,
                                             const struct sbx_sampling_terms *terms,
                                             const struct sbx_delivery_gate *gate, enum sbx_stall_fate *fate_out,
                                             struct sbx_sampled *sampled_out);

/* Gets what was decided about the snapshot `id`; SBX_FATE_UNKNOWN if this is not known, or no longer known. Returns 0
 * or -errno. */
SBX_MUST_CHECK int sbx_stall_sampling_recall(int folder, const uint8_t id[16], enum sbx_stall_fate *fate_out);

#endif
