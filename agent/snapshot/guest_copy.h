/* SPDX-License-Identifier: Apache-2.0 */
/* guest_copy.h - who held what a thread of this process waited for may be another process of its family, which is recorded, too.
 *
 * Then a copy of that one's recording is put behind the snapshot, so that the reader tells what the holder did meanwhile
 * (guest_merge.h). What is believed of it:
 *
 *   - whose recording it is, says its name in the folder of recordings, which is its user's alone. The file must be the
 *     caller's, closed to everybody else, and have one name;
 *   - it must be of the same family, carry the same companion's key, and name a process that lives since then;
 *   - its user must have agreed to be recorded; what is older than that stays out;
 *   - it is read with pread(2): a process that cuts its file short is a short read, and no SIGBUS. Of its control page the kernel alone touches
 *     a mapping (guest_look.h).
 *
 * Before, its recorder is asked to look at its threads (guest_look.h), and waited for, 100 ms at most in all.
 *
 * The copy is made while its writers go on, as in snapshot_copy.h, with the same care for chunks and runs. */
#ifndef SBX_GUEST_COPY_H
#define SBX_GUEST_COPY_H

#include <stddef.h>
#include <stdint.h>

#include "recording_format.h"

enum {
    SBX_GUEST_SCRATCH_MIN = 128 * 1024,
    SBX_GUEST_MIB_MAX = 16 /* a larger recording is not copied */
};

/* Put the recordings of those that `host` says held something during `trigger`, and of those that these waited for in turn,
 * behind the `host->file_bytes` bytes of the snapshot `out_fd`, and say so in its header. `host` is a private copy or the caller's
 * own, `key` the companion's (0: there is none), `folder` an open folder of recordings. `scratch` is aligned to 8 bytes and has
 * SBX_GUEST_SCRATCH_MIN bytes at least. Returns how many there are now, 0 for none; or -errno of writing, and then the snapshot is as it
 * was, but longer. No allocation. One call at a time per scratch. */
int sbx_guests_copy(const struct sbx_recording_header *host, uint64_t key, const struct sbx_trigger_entry *trigger,
                    int folder, int out_fd, void *scratch, size_t scratch_bytes);

#endif
