/* SPDX-License-Identifier: Apache-2.0 */
/* handover.h - asks the companion for a snapshot that this process cannot write.
 *
 * A daemon that dropped its privileges, changed its root, entered a sandbox or has no descriptor left cannot write into
 * the spool any more. The companion (`stallbox run`) can: it maps the recording and makes the same copy
 * (tool/companion/handover_taker.h). The request is in the control page (struct sbx_handover). To wake the companion
 * without any privilege, the watch thread keeps a descriptor of the recording since the start, in a descriptor table of
 * its own: a byte written through it is an event of inotify(7). The companion answers and rings the bell. No thread
 * waits in a system call: the watch thread continues its work and checks for the answer.
 *
 * Watch thread only. */
#ifndef SBX_HANDOVER_H
#define SBX_HANDOVER_H

#include <stdbool.h>
#include <stdint.h>

#include "recording_format.h"

/* Open the descriptor that wakes the companion, if there is a companion. The thread must have a descriptor table of its
 * own. */
void sbx_handover_start(void);

/* In a forked child, before its start: the descriptor was the parent's, and may be any file here. */
void sbx_handover_forget_parent(void);

/* Ask for a snapshot with this trigger; writing it here failed with errno `error`. False: there is no companion, or it
 * has not answered the last request. */
bool sbx_handover_begin(const struct sbx_trigger_entry *trigger, uint32_t error, uint64_t now_ns);

/* Is the request finished? Then *result_out is 0, -errno of the companion, or -ETIME: it has not answered in time. */
bool sbx_handover_is_over(uint64_t now_ns, int *result_out);

/* The time at which the request is given up. */
uint64_t sbx_handover_due_ns(void);

/* Wait for the answer for some milliseconds, when there is nothing better to do. */
void sbx_handover_wait(uint32_t ms);

#endif
