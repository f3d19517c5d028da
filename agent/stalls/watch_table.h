/* SPDX-License-Identifier: Apache-2.0 */
/* watch_table.h - watches and deadlines: what a program has promised to do within a time.
 *
 * The table lies in the recording (recording_format.h, struct sbx_watch_entry) and has a fixed size. Any thread takes a
 * free entry; its generation and index are the id, so that an id is invalid after it was given back. No call here
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
 * Synchronization: every arrow is one compare-and-swap of `word`, so if two threads end the same deadline, only one
 * succeeds. The other fields of the entry are stored while it is FILLING, and by a beat. */
#ifndef SBX_WATCH_TABLE_H
#define SBX_WATCH_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "recording_format.h"

enum {
    SBX_WATCH_TIMEOUT_MAX_MS = 86400000
}; /* a day */

/* Begin a watch or a deadline of 1..SBX_WATCH_TIMEOUT_MAX_MS. `what` is borrowed until return, may be NULL, and is cut
 * to SBX_WATCH_NAME_MAX. Returns its id; 0 when there is no free entry (counted), no recording, or the timeout is out
 * of range. */
uint64_t sbx_watch_begin(enum sbx_watch_kind kind, const char *what, uint32_t timeout_ms);

/* beat: the watch's thread is alive, and it is the calling thread; the watch is judged from now on. rest: the watch is
 * not judged until it beats again. Both do nothing for an id that is invalid or was taken away; a beat returns false
 * then. */
bool sbx_watch_beat(uint64_t id);
void sbx_watch_rest(uint64_t id);

/* End a watch, or report that a deadline was kept. A deadline that is kept too late is judged all the same. */
void sbx_watch_end(uint64_t id);

/* Watch thread: free an entry whose `word` it has seen, because the entry was judged or its thread has ended. Does
 * nothing when the entry changed meanwhile. */
void sbx_watch_take_away(uint32_t index, uint64_t word);

/* The same, but the watch then rests: it is not judged until it beats again. */
void sbx_watch_put_to_rest(uint32_t index, uint64_t word);

/* The same for a deadline that was missed and reported: it stays until its end is known. False: it changed
 * meanwhile. */
bool sbx_watch_set_told(uint32_t index, uint64_t word);

/* FNV-1a of a name, 64 bits (draft-eastlake-fnv): identifies a watch in data that must not contain names. */
uint64_t sbx_watch_what(const char *name);

#endif
