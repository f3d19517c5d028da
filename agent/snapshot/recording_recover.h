/* SPDX-License-Identifier: Apache-2.0 */
/* recording_recover.h - the recording of a dead process becomes a snapshot when the process died in the middle of a
 * stall or of a crash. Otherwise the recording is removed.
 *
 * Runs in the companion, in `stallbox deliver`, and on the module thread of a starting agent. Any number of recoverers
 * may look at one folder at a time, and any of them may be killed at any point; each recording yields one snapshot:
 *
 *   1  lock the recording (flock); a recoverer without the lock leaves it. While its process lives, that process holds
 *      the lock
 *   2  write the snapshot to raw/.ID.raw-RANDOM.PID.tmp and sync it. ID follows from the recording's session, as its
 *      name has it: a repetition after an interruption removes the unfinished file, and makes the same snapshot
 *   3  store SBX_STATE_PUBLISHED in the recording: from here on no recoverer makes a snapshot of it
 *   4  rename it to ID.raw: from here on the courier may take it. A recoverer that finds PUBLISHED begins here; when
 *      the temporary file is gone, the interrupted recoverer has renamed it
 *   5  unlink the recording, and with it the lock
 *
 * A recording may have been written by a process with fewer privileges than the recoverer's, at any time until it died
 * and, if it wants to, after the recoverer has its lock. Each byte is read once, into private memory. Its id, pid and
 * spool are those of its name; consent, times and triggers are not trusted: they only become numbers in a snapshot of
 * the recoverer's own spool.
 *
 * Before these steps, the snapshot that the dead process itself had begun is handled. If the snapshot is durable but
 * has no name yet (SBX_PENDING_DURABLE), it gets its name; if its file is gone, it already has the name. If a trigger
 * had fired and the snapshot is not durable, the unfinished file is removed, and the snapshot is made in the steps
 * above, with its own trigger.
 *
 * If a stall was reported while it went on (struct sbx_told), no second snapshot is made of it: its end is reported,
 * which came with the end of the process. This report is a file with an id of its own, which follows from the first id:
 * it is made before step 2, and again after an interruption. */
#ifndef SBX_RECORDING_RECOVER_H
#define SBX_RECORDING_RECOVER_H

#include <stddef.h>
#include <stdint.h>

#include "marks.h"
#include "recording_format.h"
#include "recovery_decision.h"

struct sbx_recovery_counts {
    uint32_t live, clean, killed, quiet; /* recordings, counted by the decision */
    uint32_t crashed;                    /* died of a fatal signal */
    uint32_t fired;                      /* died before the snapshot of a fired trigger was durable */
    uint32_t named;                      /* died before its durable snapshot had its name: now it has */
    uint32_t ends;                       /* stalls that the dead process had reported, and whose end was reported now */
    uint32_t published;                  /* work of an interrupted recoverer that was completed */
    uint32_t locked;                     /* its process lives, or another recoverer works on it */
    uint32_t failed;                     /* unreadable, or the snapshot could not be written: still there */
    uint32_t others;                     /* of another spool, with something to report: left to that spool's users */
    uint32_t foreign; /* of another version of stallbox, which may still recover them; removed after a week */
};

/* Called for each recording that could not be processed: `why` is a sentence fragment. */
typedef void sbx_recovery_complain(void *context, const char *path, const char *why);

/* The death of one process, as its parent saw it. */
struct sbx_known_death {
    uint32_t pid;
    uint64_t start_ticks; /* sbx_process_start_ticks() while it lived; 0: unknown, then all of this is ignored */
    uint32_t signal;      /* that ended the process; 0: it exited */
    bool had_no_memory;   /* the kernel killed it because of lack of memory, as far as its parent can know */
    uint64_t at_ns;       /* CLOCK_MONOTONIC when the parent saw it; 0: unknown */
};

/* What to do. Strings and `death` are borrowed until the call returns. */
struct sbx_recovery_order {
    const char *folder;                  /* of recordings */
    const char *name;                    /* of the only recording to process, in `folder`; NULL: all of them */
    const char *spool;                   /* ours: nothing is written to any other spool */
    const struct sbx_known_death *death; /* may be NULL */
    uint32_t snapshots_max;              /* stop after so many; 0: all */
    uint64_t bytes_max;                  /* skip larger recordings; 0: no limit */
    sbx_recovery_complain *complain;     /* may be NULL */
    void *context;                       /* for `complain` */
};

/* Process every recording (*.rec of this user) in the folder, or the named one. The folder must be ours alone (-EPERM).
 * A snapshot goes to raw/ of our own spool, whatever the recording says; the folders are created as needed (0700). A
 * recording's name tells its spool (recording_name.h), or it belongs to none. A recording of another spool waits for
 * that spool's users, for a week after it was first seen dead. If the user has refused consent in the spool, nothing is
 * made. Returns 0, also when single recordings failed (see the counts), or -errno when the folder itself cannot be
 * read; a missing folder is like an empty one, 0. */
SBX_MUST_CHECK int sbx_recording_recover(const struct sbx_recovery_order *order,
                                         struct sbx_recovery_counts *counts_out);

/* The same for all recordings, without a known death and without limits. */
SBX_MUST_CHECK int sbx_recording_recover_folder(const char *folder, const char *spool, sbx_recovery_complain *complain,
                                                void *context, struct sbx_recovery_counts *counts_out);

#endif
