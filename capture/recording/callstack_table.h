/* SPDX-License-Identifier: Apache-2.0 */
/* callstack_table.h - a stack becomes a 32-bit id: frames and parent links interned lock-free in the recording.
 *
 * Two open-addressed tables in the mapped file (recording_format.h draws the words), frames and nodes, each in two
 * halves: one for even and one for odd epochs. One compare-and-swap inserts a word. A slot whose tag is older than the
 * epoch of its half counts as empty, so turning the epoch costs one store, and no thread waits for it. The words of the
 * last epoch stay readable until the next turn. Stacks that are still referenced are carried over
 * (sbx_callstack_carry()).
 *
 * A writer that is still in the epoch before the current one continues in that epoch's half. A writer of an older epoch
 * gives up (overflow, counted): it looks at header.epoch before each insertion, and it stops at the first word that is
 * newer than its own.
 *
 * Synchronization:         [1] [2] [3] [4]    [1] intern a frame, a node, a stack: any thread, any handler
 *     [1] intern            -   -   -   -     [2] turn the epoch: the watch thread only
 *     [2] turn epoch        -   X   -   X     [3] read (snapshot): any process
 *     [3] read              -   -   -   -     [4] carry a stack over: the watch thread only
 *     [4] carry             -   X   -   X     X: the caller excludes; -: nothing needed */
#ifndef SBX_CALLSTACK_TABLE_H
#define SBX_CALLSTACK_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "marks.h"
#include "order.h"
#include "recording_format.h"

enum {
    SBX_CALLSTACK_CARRY_MAX = 1024 /* frames of a stack that is carried over: twice what a walk keeps */
};

struct sbx_callstack_table {
    uint64_t *frames;             /* both halves, in the recording */
    uint64_t *nodes;              /* both halves, in the recording */
    uint32_t *epoch;              /* header.epoch */
    uint64_t *epoch_begun_ns;     /* header.epoch_begun_ns */
    const uint64_t *heartbeat_ns; /* header.heartbeat_ns: the clock of a turn */
    uint64_t *drops;              /* header.drops */
    uint32_t frame_mask;          /* slots of one half - 1 */
    uint32_t node_mask;           /* slots of one half - 1 */
    uint32_t frame_shift;         /* the bits of a product above these are the slot in a half */
    uint32_t node_shift;
    uint8_t apart[64];      /* padding: captures read the fields above, and insertions write those below */
    uint32_t frame_used[2]; /* relaxed counts of words inserted in a half since its epoch began, for the turn */
    uint32_t node_used[2];
};

/* Attach to the sections of a mapped recording. Counts are powers of two, at least 16. */
void sbx_callstack_table_init(struct sbx_callstack_table *table, struct sbx_recording_header *header);

/* The current epoch, to be passed to every sbx_frame_intern() and sbx_node_intern() of one stack. */
SBX_SIGNAL_SAFE static inline uint32_t sbx_callstack_epoch(const struct sbx_callstack_table *table)
{
    /* order: acquire header.epoch - pairs with sbx_callstack_table_turn_if_full(): the half is prepared by now */
    return sbx_load_acquire(table->epoch);
}

/* The tables are all zero, or about to be: nothing interned before is found any more. Watch thread, while no thread
 * interns. */
void sbx_callstack_table_begin_anew(struct sbx_callstack_table *table);

/* The multiplier of Fibonacci hashing (Knuth, The Art of Computer Programming 3, 6.4): 2^64 divided by the golden
 * ratio, odd. The uppermost bits of a product are the slot. There is only one multiplication, because a node's word
 * depends on its parent's slot: this is the length of the dependency chain of a whole stack. */
#define SBX_CALLSTACK_MULTIPLIER UINT64_C(0x9e3779b97f4a7c15)

/* The slow paths, for words that are not in the first slot looked at. They count words without room. */
SBX_SIGNAL_SAFE uint32_t sbx_frame_intern_slowly(struct sbx_callstack_table *table, uint32_t epoch, uint64_t word);
SBX_SIGNAL_SAFE uint32_t sbx_node_intern_slowly(struct sbx_callstack_table *table, uint32_t epoch, uint64_t word);

/* The id of a frame (sbx_frame_word(), never 0) in `epoch`, inserted if new. 0: the half is full, or the epoch is not
 * in use any more (counted in SBX_DROP_FRAME_OVERFLOW). */
SBX_SIGNAL_SAFE static inline uint32_t sbx_frame_intern(struct sbx_callstack_table *table, uint32_t epoch,
                                                        uint64_t frame_word)
{
    uint64_t word = frame_word | (uint64_t)(epoch & 0xff) << SBX_FRAME_TAG_SHIFT;
    uint32_t id = (uint32_t)(word * SBX_CALLSTACK_MULTIPLIER >> table->frame_shift) +
                  ((epoch & 1) != 0 ? table->frame_mask + 1 : 0);
    /* relaxed: a word is complete in itself; see callstack_table.c */
    if (SBX_LIKELY(sbx_load_relaxed(&table->frames[id]) == word && word != 0)) {
        return id;
    }
    return sbx_frame_intern_slowly(table, epoch, word);
}

/* The half with the nodes of an epoch: found once for a whole stack. */
struct sbx_node_places {
    const uint64_t *half;
    uint64_t tag;         /* the tag of the epoch, as in a word */
    uint64_t tag_product; /* what the tag adds to a word's product */
    uint32_t shift;
};

SBX_SIGNAL_SAFE static inline struct sbx_node_places sbx_node_places(const struct sbx_callstack_table *table,
                                                                     uint32_t epoch)
{
    uint64_t tag = (uint64_t)(epoch & 0xffff) << SBX_NODE_TAG_SHIFT;
    return (struct sbx_node_places){
        .half = table->nodes + ((epoch & 1) != 0 ? (size_t)table->node_mask + 1 : 0),
        .tag = tag,
        .tag_product = tag * SBX_CALLSTACK_MULTIPLIER,
        .shift = table->node_shift,
    };
}

/* Is the node of `frame_id` called from node `parent` (0: outermost) in the first slot looked at? That slot is
 * *slot_out; true is never returned with slot 0. */
SBX_SIGNAL_SAFE static inline bool sbx_node_is_first(const struct sbx_node_places *places, uint32_t parent,
                                                     uint32_t frame_id, uint32_t *slot_out)
{
    uint64_t link = (uint64_t)parent << SBX_NODE_PARENT_SHIFT | frame_id;
    uint32_t slot = (uint32_t)((link * SBX_CALLSTACK_MULTIPLIER + places->tag_product) >> places->shift);
    *slot_out = slot;
    /* relaxed: a word is complete in itself; see callstack_table.c. Slot 0 never holds one. */
    return sbx_load_relaxed(&places->half[slot]) == (link | places->tag);
}

/* The index of that node if it is in that slot, else 0. */
SBX_SIGNAL_SAFE static inline uint32_t sbx_node_find(const struct sbx_node_places *places, uint32_t parent,
                                                     uint32_t frame_id)
{
    uint32_t slot;
    return SBX_LIKELY(sbx_node_is_first(places, parent, frame_id, &slot)) ? slot : 0;
}

/* The index of that node in `epoch`, in whatever slot, inserted if new. 0: the half is full, or the epoch is not in use
 * any more (counted in SBX_DROP_STACK_OVERFLOW). `frame_id` is not 0. */
SBX_SIGNAL_SAFE static inline uint32_t sbx_node_intern(struct sbx_callstack_table *table, uint32_t epoch,
                                                       uint32_t parent, uint32_t frame_id)
{
    struct sbx_node_places places = sbx_node_places(table, epoch);
    uint32_t slot = sbx_node_find(&places, parent, frame_id);
    return SBX_LIKELY(slot != 0) ? slot
                                 : sbx_node_intern_slowly(
                                       table, epoch, places.tag | (uint64_t)parent << SBX_NODE_PARENT_SHIFT | frame_id);
}

/* Callstack id of a leaf node. */
static inline uint32_t sbx_callstack_id(uint32_t epoch, uint32_t node)
{
    return (epoch & 0xff) << 24 | node;
}

/* Intern a whole stack given leaf first. Returns its callstack id, or SBX_STACK_OVERFLOW when a table was full. */
SBX_SIGNAL_SAFE uint32_t sbx_callstack_intern(struct sbx_callstack_table *table, uint32_t epoch,
                                              const uint32_t *frame_ids_leaf_first, uint32_t count);

/* Turn the epoch when the nodes or the frames of the current half are over 3/4 full. Records of the epoch before last
 * lose their stacks (the reader counts them). Watch thread only. Returns 1 when it turned. */
int sbx_callstack_table_turn_if_full(struct sbx_callstack_table *table);

/* The id in `to_epoch` of the stack that `stack` names in `from_epoch`, the epoch before: its frames and nodes are
 * interned again. A stack of `to_epoch`, SBX_STACK_NONE and SBX_STACK_OVERFLOW are returned unchanged. A stack of any
 * other epoch, or one that leads nowhere, becomes SBX_STACK_NONE; one without room becomes SBX_STACK_OVERFLOW. Watch
 * thread only, directly after a turn. */
uint32_t sbx_callstack_carry(struct sbx_callstack_table *table, uint32_t from_epoch, uint32_t to_epoch, uint32_t stack);

#endif
