/* SPDX-License-Identifier: Apache-2.0 */
/* stall_sampling.h - one snapshot's fate, decided once and remembered: in the file `stalls` of a spool (stall_counts.h). */
#ifndef SBX_STALL_SAMPLING_H
#define SBX_STALL_SAMPLING_H

#include <stdint.h>

#include "delivery_gate.h"
#include "marks.h"
#include "snapshot.h"
#include "stall_counts.h"

/* Decide whether `snapshot` becomes a payload, and for how many stalls it then stands. `folder` is the spool's; several
 * processes may ask at a time. What is decided is durable before this returns 0; killed before, nothing was counted, and
 * killed later, the same is found again. gate->may_pack() is asked at most once for what is picked. A file that cannot be
 * read as one is begun anew: kinds of stalls are then new again. -errno: nothing is decided (no room, no memory). */
SBX_MUST_CHECK int sbx_stall_sampling_decide(int folder, const struct sbx_snapshot *snapshot,
                                             const struct sbx_sampling_terms *terms,
                                             const struct sbx_delivery_gate *gate, enum sbx_stall_fate *fate_out,
                                             struct sbx_sampled *sampled_out);

/* What was decided of the snapshot `id`; SBX_FATE_UNKNOWN when that is not known (any more). 0 or -errno. */
SBX_MUST_CHECK int sbx_stall_sampling_recall(int folder, const uint8_t id[16], enum sbx_stall_fate *fate_out);

#endif
