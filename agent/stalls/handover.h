/* SPDX-License-Identifier: Apache-2.0 */
/* handover.h - a snapshot that this process cannot write is asked of its companion.
 *
 * A daemon that dropped its privileges, changed its root, entered a sandbox or has no descriptor left cannot
 * write into the spool any more. The companion (`stallbox run`) can: it maps the recording and makes the same copy
 * (tool/companion/handover_taker.h). The request is in the control page (struct sbx_handover). The way to wake the companion
 * without any privilege is a descriptor of the recording that the watch thread has kept since the start,
 * in a table of its own: a byte written through it is an event of inotify(7). The answer comes with the bell. No thread
 * waits in a system call: the watch thread goes on, and looks.
 *
 * For the watch thread alone. */
#ifndef SBX_HANDOVER_H
#define SBX_HANDOVER_H

#include <stdbool.h>
#include <stdint.h>

#include "recording_format.h"

/* Open what the companion will be woken with, when there is one. The thread must have a descriptor table of its own. */
void sbx_handover_start(void);

/* In a forked child, before its start: the descriptor is its parent's, and may be any file here. */
void sbx_handover_forget_parent(void);

/* Ask for a snapshot with this trigger, which failed here with errno `error`. False: there is no companion, or it has
 * left the last one unanswered. */
bool sbx_handover_begin(const struct sbx_trigger_entry *trigger, uint32_t error, uint64_t now_ns);

/* Is it over? Then *result_out is 0, -errno of the companion, or -ETIME: it has not answered in time. */
bool sbx_handover_is_over(uint64_t now_ns, int *result_out);

/* When it is given up. */
uint64_t sbx_handover_due_ns(void);

/* Wait for the answer for some milliseconds, for want of anything better. */
void sbx_handover_wait(uint32_t ms);

#endif
