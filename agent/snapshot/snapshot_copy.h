/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot_copy.h - a live recording becomes a snapshot file while its writers go on.
 *
 * Runs inside the application, on the agent's own thread, and in tools for what a killed process left. No allocation,
 * no libc; memory is the caller's scratch.
 *
 * What the copy guarantees:
 *   C1  A chunk is copied whole up to the records committed when it was looked at, or not at all: recycled meanwhile,
 *       it is written as FREE and counted in the copy's SBX_DROP_TORN_CHUNK.
 *   C2  Whatever a copied record refers to (thread, callstack, frame, module) was copied after it, so that it is there.
 *   C3  A run of equal samples (sample_run.h) is in the copy at least once: as the record that told it or, when it had
 *       not been told, in its thread's entry. Runs are copied before the ring, and who ends a run puts its record first
 *       and clears it afterwards: where the run was gone already, its record is in the ring that is copied next. It may
 *       be there in both places; the reader knows the two by their thread, stack, kind and begin (chunk_reader.c). A
 *       run that is written again and again while it is read stays odd in the copy, and the reader counts it.
 *   C4  The header is written last: a copy that was broken off is no recording.
 *   C5  Nothing recorded before the user's consent (header.consent_ns) is in the copy.
 *
 * How a stall ended (SBX_TRIGGER_END) is a copy as well, of the header, the control page and the modules alone. */
#ifndef SBX_SNAPSHOT_COPY_H
#define SBX_SNAPSHOT_COPY_H

#include <stddef.h>
#include <stdint.h>

#include "marks.h"
#include "recording_format.h"

enum {
    SBX_COPY_SCRATCH_MIN = 64 * 1024
};

/* Copy `live` (a whole mapped recording, at an address divisible by 8) to out_fd, an empty regular file open for
 * writing: it gets its full length at once and holes where the recording is zero. `trigger` may be NULL: none.
 * `scratch` is aligned to 8 bytes and has at least SBX_COPY_SCRATCH_MIN bytes, all overwritten. Returns 0 or -errno of
 * ftruncate and pwrite (-ENOSPC, -EIO ...), -EINVAL or -EPROTO when `live` is no sound recording or the scratch is too
 * small; the file is then worthless. Does not sync: durability is the caller's. One call at a time per scratch; any
 * number at a time per recording. */
SBX_MUST_CHECK int sbx_snapshot_copy(const struct sbx_recording_header *live, int out_fd,
                                     const struct sbx_trigger_entry *trigger, const uint8_t snapshot_id[16],
                                     uint64_t now_ns, void *scratch, size_t scratch_bytes);

/* The same of a recording that another process maps and may write anything into at any time: `live_bytes` are mapped, and
 * what lies outside of them is never read. What the header says is believed as it was when it was checked, once. A file
 * that is cut short meanwhile is a SIGBUS, which is the caller's to survive: nothing is held then but the scratch. */
SBX_MUST_CHECK int sbx_snapshot_copy_bounded(const struct sbx_recording_header *live, uint64_t live_bytes, int out_fd,
                                             const struct sbx_trigger_entry *trigger, const uint8_t snapshot_id[16],
                                             uint64_t now_ns, void *scratch, size_t scratch_bytes);

#endif
