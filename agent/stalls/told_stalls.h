/* SPDX-License-Identifier: Apache-2.0 */
/* told_stalls.h - the stalls that were told while they went on: a table in the recording (struct sbx_told), so that what
 * ends them is known even when it ends the process. Watch thread only, but for sbx_told_is_open(). */
#ifndef SBX_TOLD_STALLS_H
#define SBX_TOLD_STALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "recording_format.h"

/* A snapshot is durable. If it tells of a stall that goes on, its end is to be told as well. With no place free that is
 * counted. */
void sbx_told_begin(const struct sbx_trigger_entry *trigger, const uint8_t snapshot_id[16]);

/* Is it told of the watch or deadline of that number (one more than its index) and that begin, and its end is awaited? */
bool sbx_told_is_watch(uint32_t watch, uint64_t begin_ns);

/* The places there are; `state` says which are used. */
struct sbx_told *sbx_told_at(uint32_t index);

/* It ended, and so: what is to be told of it. Once a stall. */
void sbx_told_end(struct sbx_told *told, enum sbx_stall_end how, uint64_t end_ns);

/* The trigger of the snapshot that tells the end of one that ended. */
struct sbx_trigger_entry sbx_told_trigger(const struct sbx_told *told);

/* The end of the stall that `trigger` is about is durable, or will never be. */
void sbx_told_settle(const struct sbx_trigger_entry *trigger);

/* Forget all of it: the user said no. */
void sbx_told_forget(void);

/* Is there one whose end is not told yet? Any thread. */
bool sbx_told_is_open(void);

#endif
