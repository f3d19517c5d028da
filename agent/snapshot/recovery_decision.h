/* SPDX-License-Identifier: Apache-2.0 */
/* recovery_decision.h - what to do with a recording that was left behind; pure. docs/DEATH.md has the table. */
#ifndef SBX_RECOVERY_DECISION_H
#define SBX_RECOVERY_DECISION_H

#include <stdbool.h>
#include <stdint.h>

#include "process_facts.h"
#include "recording_format.h"

enum sbx_recovery {
    SBX_RECOVERY_LIVE = 0,      /* its process is running, or this is unknown: leave it */
    SBX_RECOVERY_CLEAN = 1,     /* stopped normally: unlink */
    SBX_RECOVERY_KILLED = 2,    /* died with a message open too long: make a snapshot, then unlink */
    SBX_RECOVERY_QUIET = 3,     /* died, but not in an unreported stall: unlink */
    SBX_RECOVERY_CRASHED = 4,   /* died of a fatal signal: make a snapshot, then unlink */
    SBX_RECOVERY_FIRED = 6,     /* died before the snapshot of a fired trigger was durable: make it, then unlink */
    SBX_RECOVERY_PUBLISHED = 5, /* an earlier recoverer was interrupted: give its snapshot its name, then unlink */
};

/* Is it a signal that ends a process because of its own fault (SIGSEGV, SIGABRT ...)? */
bool sbx_signal_is_fatal(uint32_t number);

/* What to do with a recording. `settings` are those that were in force. If the process held the lock, a caller that has
 * the lock now knows that the process has ended. Otherwise a process is identified by its pid, its start time and the
 * boot, seen from its own pid namespace: if the pid was reused, or is from before a reboot, the process is dead. Of a
 * process in another namespace nothing is known. */
enum sbx_recovery sbx_recovery_decide(const struct sbx_recording_header *header,
                                      const struct sbx_capture_settings *settings,
                                      const struct sbx_process_facts *facts);

/* The trigger of the snapshot of a process that was killed in a stall (SBX_RECOVERY_KILLED), crashed, or died before
 * its snapshot was durable (SBX_RECOVERY_FIRED). `last_sign_ns` is the time when the recording was last written to. */
struct sbx_trigger_entry sbx_recovery_trigger(const struct sbx_recording_header *header,
                                              const struct sbx_capture_settings *settings, enum sbx_recovery verdict,
                                              const struct sbx_process_facts *facts, uint64_t last_sign_ns);

/* When the recording was last written to, as far as it shows. `header` is the beginning of a complete recording that
 * sbx_recording_check() accepted. */
uint64_t sbx_recovery_last_sign_ns(const struct sbx_recording_header *header);

/* The snapshot id of a recording's recovery. It differs from the session id and is always the same. */
void sbx_recovery_snapshot_id(const uint8_t session_id[16], uint8_t snapshot_id_out[16]);

#endif
