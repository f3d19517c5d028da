/* SPDX-License-Identifier: Apache-2.0 */
/* recording_recover.h - what a process left behind: its recording becomes a snapshot when it died in the middle of a
 * stall, and goes away when it did not.
 *
 * Runs in the companion and in `stallbox deliver`, never in the application. Any number of recoverers may look at one
 * folder at a time: a lock on each recording makes one of them act, and the snapshot's id follows from the recording's,
 * so that a recovery that was broken off and repeated yields the same snapshot again and never a second one. */
#ifndef SBX_RECORDING_RECOVER_H
#define SBX_RECORDING_RECOVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "marks.h"
#include "recording_format.h"
#include "snapshot.h"

enum sbx_recovery {
    SBX_RECOVERY_LIVE = 0,   /* its process is running: leave it */
    SBX_RECOVERY_CLEAN = 1,  /* stopped in order: unlink */
    SBX_RECOVERY_KILLED = 2, /* died with a message open too long: make a snapshot, then unlink */
    SBX_RECOVERY_QUIET = 3,  /* died, but not in a stall: unlink */
};

/* What is known now of the process a recording names. */
struct sbx_process_facts {
    bool is_running;          /* a process with that pid exists and is no zombie */
    uint64_t start_ticks;     /* when it started, field 22 of its stat */
    uint8_t boot_id[16];      /* of the running kernel */
};

/* Pure: what becomes of a recording. A process is its pid, its start and the boot: a pid that was given anew, or that
 * comes from before a reboot, is a dead process. */
enum sbx_recovery sbx_recovery_decide(const struct sbx_recording_header *header, const struct sbx_process_facts *facts);

/* Pure: the trigger of a killed process's snapshot, from its note and the last sign of life. */
struct sbx_trigger_entry sbx_recovery_trigger(const struct sbx_snapshot *recording);

/* Pure: the snapshot id of a recording's recovery; differs from the session id and is always the same. */
void sbx_recovery_snapshot_id(const uint8_t session_id[16], uint8_t snapshot_id_out[16]);

/* Ask /proc. Returns 0, or -errno when it cannot be asked; "no such process" is an answer. */
SBX_MUST_CHECK int sbx_process_facts_read(uint32_t pid, struct sbx_process_facts *facts_out);

struct sbx_recovery_counts {
    uint32_t live, clean, killed, quiet; /* recordings by what became of them */
    uint32_t locked;                     /* another recoverer is at it */
    uint32_t failed;                     /* unreadable, or the snapshot could not be written: still there */
};

/* Told about each recording that could not be dealt with: `why` is a sentence fragment. */
typedef void sbx_recovery_complain(void *context, const char *path, const char *why);

/* Deal with every recording (*.rec of this user) in `folder`. A snapshot goes to raw/ of the spool the recording names,
 * or of `default_spool` where it names none; the folders are made as needed (0700). When it is durable the recording is
 * unlinked. `complain` may be NULL. Returns 0, also when single recordings failed (see the counts), or -errno when the
 * folder itself cannot be read; a folder that does not exist holds nothing, 0. */
SBX_MUST_CHECK int sbx_recording_recover_folder(const char *folder, const char *default_spool,
                                                sbx_recovery_complain *complain, void *context,
                                                struct sbx_recovery_counts *counts_out);

#endif
