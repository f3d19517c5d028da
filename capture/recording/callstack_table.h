/* SPDX-License-Identifier: Apache-2.0 */
/* callstack_table.h - a stack becomes a 32-bit id: frames and parent links interned lock-free in the recording.
 *
 * Two open-addressed tables in the mapped file (recording_format.h draws the words): frames, and nodes in two halves, one
 * for even and one for odd epochs. One compare-and-swap inserts a word; nothing is ever erased: a node slot whose tag is
 * older than the current epoch of its half counts as empty, so turning the epoch costs one store. A writer that still
 * works in an epoch that has been left finds newer tags and gives up (overflow, counted) rather than overwrite them.
 *
 * Synchronization:         [1] [2] [3]    [1] intern frame / node: any thread, any handler
 *     [1] intern            -   -   -     [2] turn the epoch: the watch thread only
 *     [2] turn epoch        -   X   -     [3] read (snapshot): any process
 *     [3] read              -   -   -     X: the caller excludes; -: nothing needed
 */
#ifndef SBX_CALLSTACK_TABLE_H
#define SBX_CALLSTACK_TABLE_H

#include <stdint.h>

#include "marks.h"
#include "recording_format.h"

struct sbx_callstack_table {
    uint64_t *frames;        /* in the recording */
    uint64_t *nodes;         /* both halves, in the recording */
    uint32_t *epoch;         /* header.epoch */
    uint64_t *epoch_begun_ns; /* header.epoch_begun_ns */
    const uint64_t *heartbeat_ns; /* header.heartbeat_ns: the clock of a turn */
    uint64_t *drops;         /* header.drops */
    uint32_t frame_mask;     /* slots - 1 */
    uint32_t node_mask;      /* slots of one half - 1 */
    uint32_t node_used[2];   /* relaxed counts of inserted nodes a half: when to turn */
};

/* Attach to the sections of a mapped recording. Counts are powers of two. */
void sbx_callstack_table_init(struct sbx_callstack_table *table, struct sbx_recording_header *header);

/* The id of a frame word (never 0) in `epoch`, inserted if new; 0 when the table is full or the epoch has been left
 * (counted in SBX_DROP_FRAME_OVERFLOW). */
SBX_SIGNAL_SAFE uint32_t sbx_frame_intern(struct sbx_callstack_table *table, uint32_t epoch, uint64_t frame_word);

/* The current epoch, to be passed to every sbx_frame_intern() and sbx_node_intern() of one stack. */
SBX_SIGNAL_SAFE uint32_t sbx_callstack_epoch(const struct sbx_callstack_table *table);

/* The node index of `frame_id` called from node `parent` (0: outermost) in `epoch`, inserted if new; 0 when the half is
 * full or the epoch has been left (counted in SBX_DROP_STACK_OVERFLOW). */
SBX_SIGNAL_SAFE uint32_t sbx_node_intern(struct sbx_callstack_table *table, uint32_t epoch, uint32_t parent,
                                         uint32_t frame_id);

/* Callstack id of a leaf node. */
static inline uint32_t sbx_callstack_id(uint32_t epoch, uint32_t node)
{
    return (epoch & 0xff) << 24 | node;
}

/* Intern a whole stack given leaf first; returns its callstack id, SBX_STACK_OVERFLOW when anything was full. */
SBX_SIGNAL_SAFE uint32_t sbx_callstack_intern(struct sbx_callstack_table *table, uint32_t epoch,
                                              const uint32_t *frame_ids_leaf_first, uint32_t count);

/* Turn the epoch when the current half is over 3/4 full. Records of the epoch before last lose their stacks (the reader
 * counts them). Watch thread only. Returns 1 when it turned. */
int sbx_callstack_table_turn_if_full(struct sbx_callstack_table *table);

#endif
