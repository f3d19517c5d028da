/* SPDX-License-Identifier: Apache-2.0 */
/* recovery_decision.h - what becomes of a recording that was left behind; pure. docs/DEATH.md has the table. */
#ifndef SBX_RECOVERY_DECISION_H
#define SBX_RECOVERY_DECISION_H

#include <stdbool.h>
#include <stdint.h>

#include "process_facts.h"
#include "recording_format.h"

enum sbx_recovery {
    SBX_RECOVERY_LIVE = 0,      /* its process is running, or nobody can tell: leave it */
    SBX_RECOVERY_CLEAN = 1,     /* stopped in order: unlink */
    SBX_RECOVERY_KILLED = 2,    /* died with a message open too long: make a snapshot, then unlink */
    SBX_RECOVERY_QUIET = 3,     /* died, but not in a stall that nobody was told of: unlink */
    SBX_RECOVERY_CRASHED = 4,   /* died of a fatal signal: make a snapshot, then unlink */
    SBX_RECOVERY_FIRED = 6,     /* died before the snapshot of what had fired was durable: make it, then unlink */
    SBX_RECOVERY_PUBLISHED = 5, /* an earlier recoverer was broken off: give its snapshot its name, then unlink */
};

/* Whether a signal is one of those that end a process because of a fault of its own (SIGSEGV, SIGABRT ...). */
bool sbx_signal_is_fatal(uint32_t number);

/* What becomes of a recording. `settings` are those that were in force. Where the process held the lock, who has it now
 * knows that it is gone. Else a process is its pid, its start and the boot, seen from its own pid namespace: a pid that
 * was given anew, or that comes from before a reboot, is a dead process; of another namespace nothing can be said. */
enum sbx_recovery sbx_recovery_decide(const struct sbx_recording_header *header,
                                      const struct sbx_capture_settings *settings,
                                      const struct sbx_process_facts *facts);

/* The trigger of the snapshot of a process that was killed in a stall (SBX_RECOVERY_KILLED), crashed, or was overtaken by its
 * death (SBX_RECOVERY_FIRED). `last_sign_ns`
 * is when the recording was last written to. */
struct sbx_trigger_entry sbx_recovery_trigger(const struct sbx_recording_header *header,
                                              const struct sbx_capture_settings *settings, enum sbx_recovery verdict,
                                              const struct sbx_process_facts *facts, uint64_t last_sign_ns);

/* When the recording was last written to, as far as it tells. `header` heads a whole one that sbx_recording_check() let
 * through. */
uint64_t sbx_recovery_last_sign_ns(const struct sbx_recording_header *header);

/* The snapshot id of a recording's recovery; differs from the session id and is always the same. */
void sbx_recovery_snapshot_id(const uint8_t session_id[16], uint8_t snapshot_id_out[16]);

#endif
