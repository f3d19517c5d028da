/* SPDX-License-Identifier: Apache-2.0 */
/* watch_table.h - watches and deadlines: what somebody promised to do by a time.
 *
 * The table lies in the recording (recording_format.h, struct sbx_watch_entry) and has a fixed size. Any thread takes a
 * free entry; its generation and index are the id, so that an id that was given back leads nowhere. No call here
 * allocates, takes a lock or waits; errno is kept.
 *
 *   FREE --open--> FILLING --> OPEN <--beat-- RESTING        a watch
 *     ^                         |  --rest-->
 *     +---------close-----------+
 *
 *   FREE --begin-> FILLING --> OPEN --end in time--> FREE    a deadline
 *     ^                         |---end late-------> LATE
 *     |                         +--missed, told--> TOLD --end--> LATE
 *     +----- the watch thread, when it has judged it and told its end ---+
 *
 * Synchronization: every arrow is one compare-and-swap of `word`, so of two threads that end the same deadline one does.
 * What else the entry says is stored while FILLING, and by the beat. */
#ifndef SBX_WATCH_TABLE_H
#define SBX_WATCH_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "recording_format.h"

enum {
    SBX_WATCH_TIMEOUT_MAX_MS = 86400000
}; /* a day */

/* Begin a watch or a deadline of 1..SBX_WATCH_TIMEOUT_MAX_MS. `what` is borrowed until return, may be NULL, and is copied
 * as far as SBX_WATCH_NAME_MAX reaches. Returns its id; 0 when there is no free entry (counted), no recording, or the
 * timeout is none. */
uint64_t sbx_watch_begin(enum sbx_watch_kind kind, const char *what, uint32_t timeout_ms);

/* The watch's thread lives, says the calling thread, and judge it from now on; or do not judge it until it beats again.
 * Nothing happens for an id that is none, or that was taken away: a beat says false then. */
bool sbx_watch_beat(uint64_t id);
void sbx_watch_rest(uint64_t id);

/* Give a watch back, or say that a deadline was kept. A deadline that is kept too late is judged all the same. */
void sbx_watch_end(uint64_t id);

/* Watch thread: take away an entry whose `word` it has seen, because it was judged or its thread is gone. Does nothing
 * when the entry changed meanwhile. */
void sbx_watch_take_away(uint32_t index, uint64_t word);

/* The same for a watch that is not judged until it beats again. */
void sbx_watch_put_to_rest(uint32_t index, uint64_t word);

/* The same for a deadline that was missed and told: it stays until its end is known. False: it changed meanwhile. */
bool sbx_watch_set_told(uint32_t index, uint64_t word);

/* FNV-1a of a name, 64 bits (draft-eastlake-fnv): how it is known where names must not be. */
uint64_t sbx_watch_what(const char *name);

#endif
