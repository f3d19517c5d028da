/* SPDX-License-Identifier: Apache-2.0 */
/* recording_recover.h - the recording of a dead process becomes a snapshot when the process died in the middle of a
 * stall or of a crash. Otherwise the recording is removed.
 *
 * Runs in the companion, in `stallbox deliver`, and on the module thread of a starting agent. Any number of recoverers
 * may look at one folder at a time, and any of them may be killed anywhere; each recording yields one snapshot:
 *
 *   1  lock the recording (flock); a recoverer without the lock leaves it. While its process lives, that process holds the lock
 *   2  write the snapshot to raw/.ID.raw-RANDOM.PID.tmp and sync it. ID follows from the recording's session, as its name
 *      has it: a repetition after an interruption removes the unfinished file, and makes the same snapshot
 *   3  store SBX_STATE_PUBLISHED in the recording: from here on no recoverer makes a snapshot of it
 *   4  rename it to ID.raw: from here on the courier may take it. A recoverer that finds PUBLISHED begins here; when the
 *      temporary file is gone, the interrupted recoverer has renamed it
 *   5  unlink the recording, and with it the lock
 *
 * A recording may have been written by a process with fewer privileges than the recoverer's, at any time until it died and, if it
 * wants to, after the recoverer has its lock. Each byte is read once, into private memory. Its id, pid and spool are those of its name;
 * consent, times and triggers are not trusted: they only become numbers in a snapshot of the recoverer's own spool.
 *
 * Before all that comes what the dead process itself had begun: a snapshot that it had made durable, and not yet named
 * (SBX_PENDING_DURABLE), is given its name; one that is gone has it. What had fired and is not durable has left half a
 * file, which goes away; its snapshot is made as above, with its own trigger.
 *
 * A stall that was reported while it went on (struct sbx_told) is reported to have ended with the process, instead of a second snapshot.
 * That is a file with an id of its own, which follows from the first's: it is made before step 2, and as often as needed. */
#ifndef SBX_RECORDING_RECOVER_H
#define SBX_RECORDING_RECOVER_H

#include <stddef.h>
#include <stdint.h>

#include "marks.h"
#include "recording_format.h"
#include "recovery_decision.h"

struct sbx_recovery_counts {
    uint32_t live, clean, killed, quiet; /* recordings by what became of them */
    uint32_t crashed;                    /* died of a fatal signal */
    uint32_t fired;                      /* died before the snapshot of what had fired was durable */
    uint32_t named;                      /* died before the durable snapshot of it had its name: now it has */
    uint32_t ends;                       /* stalls told by the dead whose end was told for them */
    uint32_t published;                  /* what an earlier recoverer had begun was ended */
    uint32_t locked;                     /* its process lives, or another recoverer is at it */
    uint32_t failed;                     /* unreadable, or the snapshot could not be written: still there */
    uint32_t others;                     /* of another spool, with something to tell: left to who has that one */
    uint32_t foreign; /* of another version of stallbox, which may still come for them; removed after a week */
};

/* Told about each recording that could not be dealt with: `why` is a sentence fragment. */
typedef void sbx_recovery_complain(void *context, const char *path, const char *why);

/* The death of one process, as its parent learned it. */
struct sbx_known_death {
    uint32_t pid;
    uint64_t start_ticks; /* sbx_process_start_ticks() while it lived; 0: not known, and then nothing is believed */
    uint32_t signal;      /* that ended it; 0: it exited */
    bool had_no_memory;   /* the kernel killed it for want of memory, as far as its parent can know */
    uint64_t at_ns;       /* CLOCK_MONOTONIC when that was seen; 0: not known */
};

/* What to do; strings and `death` are borrowed until the call returns. */
struct sbx_recovery_order {
    const char *folder;                  /* of recordings */
    const char *name;                    /* of the one recording to deal with, in `folder`; NULL: all of them */
    const char *spool;                   /* ours: the only one that anything is written to */
    const struct sbx_known_death *death; /* may be NULL */
    uint32_t snapshots_max;              /* stop after so many; 0: all */
    uint64_t bytes_max;                  /* leave larger recordings alone; 0: none is too large */
    sbx_recovery_complain *complain;     /* may be NULL */
    void *context;                       /* for `complain` */
};

/* Deal with every recording (*.rec of this user) in the folder, or with the one that is named, which must be ours alone (-EPERM). A snapshot goes to raw/ of
 * our own spool, whatever the recording says; the folders are made as needed (0700). Which recordings are of that spool is in
 * their names (recording_name.h), or they are of none; those of another spool wait for its users, for a week after their death
 * was seen. When the user has said no in the spool, nothing is made. Returns 0, also when single recordings failed (see the
 * counts), or -errno when the folder itself cannot be read; a folder that does not exist holds nothing, 0. */
SBX_MUST_CHECK int sbx_recording_recover(const struct sbx_recovery_order *order,
                                         struct sbx_recovery_counts *counts_out);

/* The same, with nothing known and without a limit. */
SBX_MUST_CHECK int sbx_recording_recover_folder(const char *folder, const char *spool, sbx_recovery_complain *complain,
                                                void *context, struct sbx_recovery_counts *counts_out);

#endif
