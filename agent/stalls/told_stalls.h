/* SPDX-License-Identifier: Apache-2.0 */
/* told_stalls.h - the stalls that were reported while they went on: a table in the recording (struct sbx_told), so that
 * their ends are known even when the process ends with them. Watch thread only, except sbx_told_is_open(). */
#ifndef SBX_TOLD_STALLS_H
#define SBX_TOLD_STALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "recording_format.h"

/* A snapshot is durable. If it reports a stall that goes on, the end of the stall must be reported as well. If no place
 * is free, this is counted. */
void sbx_told_begin(const struct sbx_trigger_entry *trigger, const uint8_t snapshot_id[16]);

/* Was the watch or deadline of that number (one more than its index) and that begin reported, and is its end
 * awaited? */
bool sbx_told_is_watch(uint32_t watch, uint64_t begin_ns);

/* The place at `index`; its `state` says whether it is used. */
struct sbx_told *sbx_told_at(uint32_t index);

/* The stall has ended: this is what must be reported of it. Once for each stall. */
void sbx_told_end(struct sbx_told *told, enum sbx_stall_end how, uint64_t end_ns);

/* The trigger of the snapshot that reports the end of such a stall. */
struct sbx_trigger_entry sbx_told_trigger(const struct sbx_told *told);

/* The report of the end of the stall in `trigger` is durable, or will never be. */
void sbx_told_settle(const struct sbx_trigger_entry *trigger);

/* Forget all stalls: the user has refused consent. */
void sbx_told_forget(void);

/* Is there a stall whose end is not reported yet? Any thread. */
bool sbx_told_is_open(void);

#endif
