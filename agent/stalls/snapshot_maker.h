/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot_maker.h - from a trigger to a durable file in the spool. Watch thread only.
 *
 *   trigger --allowed?--> all threads' stacks --after_ms--> copy --> SPOOL/raw/ID.raw
 *               |                                  |
 *               no: counted                        a process that exits meanwhile does not wait for the rest
 *
 * One is in flight; a trigger that fires meanwhile is counted and dropped. Two of one kind are min_gap_ms apart. */
#ifndef SBX_SNAPSHOT_MAKER_H
#define SBX_SNAPSHOT_MAKER_H

#include <stdbool.h>
#include <stdint.h>

#include "capture_settings.h"
#include "recording_format.h"

/* Once, on the watch thread. False: no memory. */
bool sbx_snapshot_maker_start(void);

/* Keep the recent past because of this trigger; recording goes on for settings->after_ms before. Returns 0 when it is
 * made or under way, -EAGAIN when the last of its kind is too young, -EBUSY when another is in flight, -ENOKEY without
 * the user's consent, else -errno. All but 0 are counted. */
int sbx_snapshot_maker_fire(const struct sbx_trigger_entry *trigger, const struct sbx_capture_settings *settings,
                            uint64_t now_ns);

/* Make the snapshot of how a told stall ended; at once, whatever the pace. Returns 0 when it is made or handed over, -EBUSY
 * while another is in flight, else -errno: then it is counted, and settled as what is made is (told_stalls.h). */
int sbx_snapshot_maker_end(const struct sbx_trigger_entry *trigger);

/* Answer who asks by hand (stallbox_snapshot, `stallbox ctl`), and make what has waited long enough. */
void sbx_snapshot_maker_step(const struct sbx_capture_settings *settings, uint64_t now_ns);

/* Answer who asks by hand that there will be none: nothing is recorded that could be copied. */
void sbx_snapshot_maker_refuse(int result);

/* Has a trigger fired whose copy is not made yet? */
bool sbx_snapshot_maker_is_busy(void);

/* How long snapshots have been written, ever: the disk's time, and no stop's. */
uint64_t sbx_snapshot_maker_busy_ns(void);

/* When there will be something to do for sbx_snapshot_maker_step(); UINT64_MAX: not known. */
uint64_t sbx_snapshot_maker_due_ns(void);

#endif
