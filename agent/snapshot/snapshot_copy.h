/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot_copy.h - copies a live recording into a snapshot file while its writers run.
 *
 * Runs inside the application, on the agent's own thread, and in tools for what a killed process left. No allocation,
 * no libc; its memory is the caller's scratch.
 *
 * What the copy guarantees:
 *   C1  A chunk is copied whole up to the records committed when it was looked at, or not at all: if it is recycled
 *       meanwhile, it is written as FREE and counted in the copy's SBX_DROP_TORN_CHUNK.
 *   C2  Whatever a copied record refers to (thread, callstack, frame, module) is copied after the record, so it is
 *       there.
 *   C3  A run of equal samples (sample_run.h) is in the copy at least once: as a record in the ring or, if it is not in
 *       the ring yet, in its thread's entry. Runs are copied before the ring. A thread that ends a run first writes its
 *       record and then clears the run: if the run was cleared already, its record is in the ring, which is copied
 *       next. A run may be in both places; the reader identifies it by its thread, stack, kind and begin
 *       (chunk_reader.c). A run that is written again and again while it is read stays odd in the copy, and the reader
 *       counts it.
 *   C4  The header is written last: an interrupted copy has no header and is no recording.
 *   C5  Nothing recorded before the user's consent (header.consent_ns) is in the copy.
 *
 * The report of how a stall ended (SBX_TRIGGER_END) is a copy as well, but only of the header, the control page and the
 * modules. */
#ifndef SBX_SNAPSHOT_COPY_H
#define SBX_SNAPSHOT_COPY_H

#include <stddef.h>
#include <stdint.h>

#include "marks.h"
#include "recording_format.h"

enum {
    SBX_COPY_SCRATCH_MIN = 64 * 1024
};

/* Copy `live` (a complete mapped recording, at an address divisible by 8) to out_fd, an empty regular file open for
 * writing: it gets its full length at once, and holes where the recording is zero. `trigger` may be NULL: none.
 * `scratch` is aligned to 8 bytes and has at least SBX_COPY_SCRATCH_MIN bytes, all overwritten. Returns 0; -errno of
 * ftruncate and pwrite (-ENOSPC, -EIO ...); -EINVAL or -EPROTO when `live` is no valid recording, or the scratch is too
 * small. After an error the file is useless. Does not sync the file: the caller does. One call at a time per scratch;
 * any number at a time per recording. */
SBX_MUST_CHECK int sbx_snapshot_copy(const struct sbx_recording_header *live, int out_fd,
                                     const struct sbx_trigger_entry *trigger, const uint8_t snapshot_id[16],
                                     uint64_t now_ns, void *scratch, size_t scratch_bytes);

/* The same for a recording that another process maps and may change in any way at any time: `live_bytes` are mapped,
 * and nothing outside them is read. The header is checked once, and its checked copy is used. If the file is cut short
 * meanwhile, this is a SIGBUS, which the caller must survive: at that moment only the scratch is in use. */
SBX_MUST_CHECK int sbx_snapshot_copy_bounded(const struct sbx_recording_header *live, uint64_t live_bytes, int out_fd,
                                             const struct sbx_trigger_entry *trigger, const uint8_t snapshot_id[16],
                                             uint64_t now_ns, void *scratch, size_t scratch_bytes);

#endif
