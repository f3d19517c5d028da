/* SPDX-License-Identifier: Apache-2.0 */
/* handover_snapshot.h - the snapshot of one recording whose process asks its companion for it
 * (agent/stalls/handover.h).
 *
 * The companion may be root. It does not trust the process, which dropped its privileges because it serves untrusted
 * clients: the process can write anything into its recording at any time, also while the companion reads it, and can
 * truncate the file. So:
 *
 * - The header is copied first and checked then, and the copy of the recording stays inside the mapping, whatever the
 *   header says later (sbx_snapshot_copy_bounded).
 * - A recording belongs to a program of ours when it has our key, is in our folder, and its file belongs to us. It
 * names
 *   neither a path nor the snapshot's id; these are ours.
 * - A trigger with a number out of range is refused, and so is a kind that no live process has.
 * - When the file is truncated, the snapshot is lost (SIGBUS is survived).
 * - The number and size of snapshots, and the amount that may wait to be packed, are limited. */
#ifndef SBX_HANDOVER_SNAPSHOT_H
#define SBX_HANDOVER_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>

#include "marks.h"
#include "recording_format.h"

enum {
    SBX_HANDOVERS_AT_ONCE = 32,      /* burst of snapshots */
    SBX_HANDOVER_EVERY_MS = 250,     /* after the burst, one snapshot in this time */
    SBX_HANDOVER_MIB_MAX = 96,       /* the largest recording has a ring of 64 MiB, and tables of 4 */
    SBX_HANDOVER_WAITING_MIB = 1024, /* with so much waiting in raw/, nothing is added */
};

/* The spool and key for handovers, and their state. */
struct sbx_handovers {
    const char *spool_path; /* absolute, borrowed */
    uint64_t key;           /* in our recordings; never 0 */
    uint64_t roster;        /* the roster that notes their snapshots (roster.h); 0: none */
    uint32_t left;          /* tokens of the bucket that limits the rate */
    uint64_t filled_ns;     /* when the last token was added */
    uint64_t waiting_max;   /* bytes in raw/ at which nothing is added */
    uint64_t made, failed;  /* snapshots */
    int last_error;         /* errno of the latest failure */
};

void sbx_handovers_init(struct sbx_handovers *handovers, const char *spool_path, uint64_t key, uint64_t now_ns);

/* Is there a valid request? Both arguments are private copies from a file of `bytes` bytes. Returns 1: yes; 0: there is
 * none, or the recording is not ours; else -errno: refused. */
SBX_MUST_CHECK int sbx_handover_check(const struct sbx_handovers *handovers, const struct sbx_recording_header *header,
                                      const struct sbx_control_page *control, uint64_t bytes, uint64_t now_ns);

/* Look at one recording, `name` in the open folder, and do what it asks. Returns whether it asked. One thread at a
 * time. SIGBUS is caught meanwhile: in the calling thread it is survived; in another thread it ends the process as
 * usual. */
bool sbx_handover_serve(struct sbx_handovers *handovers, int folder, const char *name);

#endif
