/* SPDX-License-Identifier: Apache-2.0 */
/* handover_snapshot.h - the snapshot of one recording whose process asks its companion for it (agent/stalls/handover.h).
 *
 * The companion may be root, and it does not trust the process, which dropped its privileges because it serves untrusted
 * clients: the process can write anything into its recording at any time, also while that is read, and cut the file
 * short. So:
 *
 *   - what is believed of the header was copied first and checked then, and the copy stays inside of what is mapped
 *     whatever the header says later (sbx_snapshot_copy_bounded);
 *   - a recording is that of a program of ours when it carries our key, lies in our folder and is a file of our own.
 *     It names neither a path nor the snapshot's id: these are ours;
 *   - a trigger with a number out of its range is refused, and so is a kind that no live process has;
 *   - a file that is cut short costs its snapshot (SIGBUS is survived);
 *   - how many, how large, and how much may wait to be packed, is limited. */
#ifndef SBX_HANDOVER_SNAPSHOT_H
#define SBX_HANDOVER_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>

#include "marks.h"
#include "recording_format.h"

enum {
    SBX_HANDOVERS_AT_ONCE = 32,      /* snapshots that may be asked for in one moment */
    SBX_HANDOVER_EVERY_MS = 250,     /* and then one in so long */
    SBX_HANDOVER_MIB_MAX = 96,       /* the largest recording there is has a ring of 64 MiB, and tables of 4 */
    SBX_HANDOVER_WAITING_MIB = 1024, /* while so much waits in raw/ nothing is added */
};

/* The spool and key it works for, and its state. */
struct sbx_handovers {
    const char *spool_path; /* absolute, borrowed */
    uint64_t key;           /* of the recordings that are ours; never 0 */
    uint64_t roster;        /* where their snapshots are noted (roster.h); 0: nowhere */
    uint32_t left;          /* tokens of the bucket that holds them to the limit */
    uint64_t filled_ns;     /* when the last of them fell due */
    uint64_t waiting_max;   /* bytes in raw/ at which nothing is added */
    uint64_t made, failed;  /* snapshots */
    int last_error;         /* errno of the newest that failed */
};

void sbx_handovers_init(struct sbx_handovers *handovers, const char *spool_path, uint64_t key, uint64_t now_ns);

/* Is there a request, and is it in order? Both are private copies of what a file of `bytes` bytes holds. Returns 1:
 * yes; 0: there is none, or the recording is not ours; else -errno: refused. */
SBX_MUST_CHECK int sbx_handover_check(const struct sbx_handovers *handovers, const struct sbx_recording_header *header,
                                      const struct sbx_control_page *control, uint64_t bytes, uint64_t now_ns);

/* Look at one recording, `name` in the open folder, and do what it asks. Returns whether it asked. One thread at a
 * time: SIGBUS is taken meanwhile, survived in the calling thread, and ends the process in another as it would have. */
bool sbx_handover_serve(struct sbx_handovers *handovers, int folder, const char *name);

#endif
