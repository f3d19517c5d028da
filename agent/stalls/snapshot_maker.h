/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot_maker.h - from a trigger to a durable file in the spool. Watch thread only.
 *
 *   trigger --allowed?--> all threads' stacks --after_ms--> copy --> SPOOL/raw/ID.raw
 *               |                                  |
 *               no: counted                        a process that exits meanwhile does not wait for the rest
 *
 * One snapshot is made at a time; a trigger that fires meanwhile is counted and dropped. Two snapshots of one kind are
 * min_gap_ms apart. */
#ifndef SBX_SNAPSHOT_MAKER_H
#define SBX_SNAPSHOT_MAKER_H

#include <stdbool.h>
#include <stdint.h>

#include "capture_settings.h"
#include "recording_format.h"

/* Called once, on the watch thread. False: no memory. */
bool sbx_snapshot_maker_start(void);

/* Save the recent past because of this trigger; before that, recording goes on for settings->after_ms. Returns 0 when
 * the snapshot is made or under way, -EAGAIN when the last one of its kind is too young, -EBUSY when another one is
 * being made, -ENOKEY without the user's consent, else -errno. All but 0 are counted. */
int sbx_snapshot_maker_fire(const struct sbx_trigger_entry *trigger, const struct sbx_capture_settings *settings,
                            uint64_t now_ns);

/* Make the snapshot of how a reported stall ended, at once, without any rate limit. Returns 0 when it is made or handed
 * over, -EBUSY while another one is being made, else -errno: then it is counted, and the stall is settled as if the
 * snapshot had been made (told_stalls.h). */
int sbx_snapshot_maker_end(const struct sbx_trigger_entry *trigger);

/* Answer requests by hand (stallbox_snapshot, `stallbox ctl`), and make a pending snapshot when it is due. */
void sbx_snapshot_maker_step(const struct sbx_capture_settings *settings, uint64_t now_ns);

/* Answer requests by hand that there will be no snapshot, because nothing is recorded. */
void sbx_snapshot_maker_refuse(int result);

/* Has a trigger fired whose copy is not made yet? */
bool sbx_snapshot_maker_is_busy(void);

/* The total time in which snapshots were written: this is the disk's time, and not a stop of the process. */
uint64_t sbx_snapshot_maker_busy_ns(void);

/* When sbx_snapshot_maker_step() will have something to do; UINT64_MAX: unknown. */
uint64_t sbx_snapshot_maker_due_ns(void);

#endif
