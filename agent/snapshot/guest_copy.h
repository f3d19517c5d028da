/* SPDX-License-Identifier: Apache-2.0 */
/* guest_copy.h - copies the recording of another process that held what a thread of this process waited for.
 *
 * The holder may be another recorded process of the same family. Then a copy of its recording is put behind the
 * snapshot, so that the reader shows what the holder did meanwhile (guest_merge.h). The following is checked:
 *
 *   - The name in the folder of recordings says whose recording it is; that folder belongs to its user alone. The file
 *     must belong to the caller, be closed to all others, and have one name.
 *   - The recording must be of the same family, carry the same companion's key, and name a process that is still
 *     alive.
 *   - Its user must have agreed to be recorded; what is older than that is left out.
 *   - It is read with pread(2): if the process cuts its file short, this is a short read and not a SIGBUS. Only the
 *     kernel accesses a mapping of its control page (guest_look.h).
 *
 * Before the copy, the other recorder is asked to look at its threads (guest_look.h). The copy waits for that, 100 ms
 * at most in all.
 *
 * The copy is made while its writers run, with the same care for chunks and runs as in snapshot_copy.h. */
#ifndef SBX_GUEST_COPY_H
#define SBX_GUEST_COPY_H

#include <stddef.h>
#include <stdint.h>

#include "recording_format.h"

enum {
    SBX_GUEST_SCRATCH_MIN = 128 * 1024,
    SBX_GUEST_MIB_MAX = 16 /* a larger recording is not copied */
};

/* Put the recordings of the processes that, according to `host`, held something during `trigger`, and of those that
 * these waited for in turn, behind the `host->file_bytes` bytes of the snapshot `out_fd`, and list them in its header.
 * `host` is a private copy or the caller's own, `key` the companion's (0: no companion), `folder` an open folder of
 * recordings. `scratch` is aligned to 8 bytes and has SBX_GUEST_SCRATCH_MIN bytes at least. Returns the number of
 * guests, 0 for none, or -errno of writing; then the snapshot is unchanged, but longer. No allocation. One call at a
 * time per scratch. */
int sbx_guests_copy(const struct sbx_recording_header *host, uint64_t key, const struct sbx_trigger_entry *trigger,
                    int folder, int out_fd, void *scratch, size_t scratch_bytes);

#endif
