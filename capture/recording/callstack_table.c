/* SPDX-License-Identifier: Apache-2.0 */
/* callstack_table.c - frames and parent links interned lock-free in the recording.
 *
 * Both tables are probed in the same way. A word's product gives a slot (the functions in the header look there first).
 * The cache line of eight slots around it is searched from there. When that line holds only other words, a stride from
 * lower bits of the product gives the next line. So a lookup usually touches one cache line, which is what a capture
 * pays for. Clusters do not grow together as with plain linear probing: at the load of 3/4 at which an epoch is turned,
 * all of the PROBE_LINES lines are full for about one word in 10^5.
 *
 * Why equal words get equal ids without a lock: every writer of a word visits the same slots in the same order, and
 * stops at the first slot that is empty or holds the word. Within an epoch a slot changes once, from empty to a word.
 * The compare-and-swap picks one writer, and the others read what it wrote.
 *
 * Why relaxed loads suffice: a slot is one 64-bit word that is complete in itself. A reader gets an id only through a
 * later release (of a node word, of chunk.committed, or of entry.last_stack), so it sees the slot's value of that time
 * or a newer one.
 *
 * What a late writer can do. It works in epoch W while E is current. Epochs of equal parity share a half. E = W + 1:
 * only epoch W uses its half, so nothing changes. E >= W + 2: the writer gives up at its next insertion, because it
 * looks at header.epoch first. It may still do the one compare-and-swap before which it was stopped.
 *   - That succeeds only if the slot still holds what the writer saw: nothing, or a word older than W. It never takes
 *     the place of a word of E, because a word of E is neither.
 *   - The word it leaves has W's tag. Writers of E count it as empty while E - W is below half of the tag's range, the
 *     sweep of the next turn removes it, and no reader follows it, because a reader checks for the tag of its epoch.
 *   - With half of the range or more between them (128 epochs for a frame: the thread was stopped for minutes, or for
 *     hours) writers of E take the word for a newer one and give up there: their stacks are lost, and counted, until
 *     the sweep. With the whole range between them: a frame word means the same in each epoch, so it is only a second
 *     slot of a correct frame. A node word could name a wrong frame, but only if the thread was stopped for exactly a
 *     multiple of 65,536 epochs between two instructions.
 *
 * Why the sweep: a word that is not overwritten grows old in its slot. From half the range of its tag on it would look
 * newer than the current epoch, and writers would give up there without need. A frame's tag has 8 bits. When the nodes
 * fill up first, frames are few, and some slots are not used again for long. The sweep removes only words older than
 * the epoch before last, because a snapshot that is made while the epoch turns can still read those of the epoch before
 * last. So the half of epoch E has words of E, of E - 2 and of late writers, and no older ones.
 *
 * tests/model/epoch.pml searches these cases. */
#include "callstack_table.h"

enum {
    LINE_SLOTS = 8,
    PROBE_LINES = 8,
    FRAME_TAG_BITS = 8,
    NODE_TAG_BITS = 16
};

static uint32_t shift_of(uint32_t slots)
{
    uint32_t shift = 64;
    while (slots > 1) {
        slots /= 2;
        shift--;
    }
    return shift;
}

void sbx_callstack_table_init(struct sbx_callstack_table *table, struct sbx_recording_header *header)
{
    uint8_t *base = (uint8_t *)header;
    table->frames = (uint64_t *)(void *)(base + header->frames.at);
    table->nodes = (uint64_t *)(void *)(base + header->nodes.at);
    table->epoch = &header->epoch;
    table->heartbeat_ns = &header->heartbeat_ns;
    table->epoch_begun_ns = header->epoch_begun_ns;
    table->drops = header->drops;
    table->frame_mask = header->frames.count / 2 - 1;
    table->node_mask = header->nodes.count / 2 - 1;
    table->frame_shift = shift_of(header->frames.count / 2);
    table->node_shift = shift_of(header->nodes.count / 2);
    for (uint32_t half = 0; half < 2; half++) {
        table->frame_used[half] = 0;
        table->node_used[half] = 0;
    }
}

/* One half of one of the tables. */
struct half {
    uint64_t *words;
    uint32_t *used;
    uint32_t mask, shift;
    uint32_t tag_shift, tag_bits;
};

static inline struct half frames_of(struct sbx_callstack_table *table, uint32_t epoch)
{
    uint32_t at = epoch & 1;
    return (struct half){table->frames + at * ((size_t)table->frame_mask + 1),
                         &table->frame_used[at],
                         table->frame_mask,
                         table->frame_shift,
                         SBX_FRAME_TAG_SHIFT,
                         FRAME_TAG_BITS};
}

static inline struct half nodes_of(struct sbx_callstack_table *table, uint32_t epoch)
{
    uint32_t at = epoch & 1;
    return (struct half){table->nodes + at * ((size_t)table->node_mask + 1),
                         &table->node_used[at],
                         table->node_mask,
                         table->node_shift,
                         SBX_NODE_TAG_SHIFT,
                         NODE_TAG_BITS};
}

/* How far the epoch of a word is ahead of `epoch`. Only the sign is meaningful, and whether it is 0. Tags wrap, so the
 * difference is taken in as many bits as a tag has. */
static inline int32_t epochs_ahead(const struct half *half, uint64_t word, uint32_t epoch)
{
    return (int32_t)(((uint32_t)(word >> half->tag_shift) - epoch) << (32 - half->tag_bits));
}

static inline bool is_free(const struct half *half, uint64_t word, uint32_t epoch)
{
    return word == 0 || epochs_ahead(half, word, epoch) < 0;
}

/* The slot for probe number `probe` of a word with this product. */
static inline uint32_t slot_of(const struct half *half, uint64_t product, uint32_t probe)
{
    uint32_t first = (uint32_t)(product >> half->shift);
    uint32_t line = first / LINE_SLOTS + probe / LINE_SLOTS * ((uint32_t)(product >> 8) | 1);
    uint32_t place = (first + probe) % LINE_SLOTS;
    return (line * LINE_SLOTS + place) & half->mask;
}

/* The slot of a word, inserted if new. 0: no room, or `epoch` is not in use any more. */
static inline uint32_t find_or_insert(const struct sbx_callstack_table *table, const struct half *half, uint32_t epoch,
                                      uint64_t word)
{
    uint64_t product = word * SBX_CALLSTACK_MULTIPLIER;
    for (uint32_t probe = 0; probe < LINE_SLOTS * PROBE_LINES && word != 0; probe++) {
        uint32_t slot = slot_of(half, product, probe);
        if (slot == 0) {
            continue; /* index 0 means "none" */
        }
        uint64_t found = sbx_load_relaxed(&half->words[slot]); /* relaxed: see the top */
        /* A word of an older epoch counts as empty. Each failed swap shows a word of a later epoch than the last one
         * seen there, usually of our own epoch. A late writer or the sweep may come between. So look again, but not
         * without end. */
        for (int tries = 0; tries < LINE_SLOTS && is_free(half, found, epoch); tries++) {
            if (sbx_load_relaxed(table->epoch) - epoch > 1) { /* relaxed: a late look does no harm; see the top */
                return 0;
            }
            /* order: release nodes, frames - a node's parent and frame were seen before; see the top */
            if (sbx_cas_acq_rel(&half->words[slot], &found, word)) {
                sbx_add_relaxed(half->used, 1); /* relaxed: a hint for the turn */
                return slot;
            }
        }
        if (found == word) {
            return slot;
        }
        if (epochs_ahead(half, found, epoch) != 0) {
            /* Our epoch is over, and its half is being filled again: do not overwrite newer words. */
            return 0;
        }
    }
    return 0;
}

static uint32_t drop(struct sbx_callstack_table *table, enum sbx_drop kind)
{
    sbx_add_relaxed(&table->drops[kind], 1); /* relaxed: statistics */
    return 0;
}

SBX_SIGNAL_SAFE uint32_t sbx_frame_intern_slowly(struct sbx_callstack_table *table, uint32_t epoch, uint64_t word)
{
    struct half half = frames_of(table, epoch);
    uint32_t slot = find_or_insert(table, &half, epoch, word);
    return slot != 0 ? slot + (uint32_t)(half.words - table->frames) : drop(table, SBX_DROP_FRAME_OVERFLOW);
}

SBX_SIGNAL_SAFE uint32_t sbx_node_intern_slowly(struct sbx_callstack_table *table, uint32_t epoch, uint64_t word)
{
    struct half half = nodes_of(table, epoch);
    uint32_t slot = find_or_insert(table, &half, epoch, word);
    return slot != 0 ? slot : drop(table, SBX_DROP_STACK_OVERFLOW);
}

SBX_SIGNAL_SAFE uint32_t sbx_callstack_intern(struct sbx_callstack_table *table, uint32_t epoch,
                                              const uint32_t *frame_ids_leaf_first, uint32_t count)
{
    if (count == 0) {
        return SBX_STACK_NONE;
    }
    uint32_t node = 0;
    for (uint32_t i = count; i > 0; i--) {
        uint32_t frame_id = frame_ids_leaf_first[i - 1];
        if (frame_id == 0) {
            return SBX_STACK_OVERFLOW; /* the frame table was full, and counted it */
        }
        node = sbx_node_intern(table, epoch, node, frame_id);
        if (node == 0) {
            return SBX_STACK_OVERFLOW;
        }
    }
    return sbx_callstack_id(epoch, node);
}

/* ---- turning ---- */

/* Remove words older than the epoch before last from the half that `next` will use. A half that was never written to is
 * not even read, so that its pages need not exist. */
static void sweep(const struct half *half, uint32_t next)
{
    if (sbx_load_relaxed(half->used) == 0) { /* relaxed: a late writer's word waits for the next sweep */
        return;
    }
    for (uint32_t slot = 0; slot <= half->mask; slot++) {
        uint64_t found = sbx_load_relaxed(&half->words[slot]); /* relaxed: see the top */
        if (found != 0 && epochs_ahead(half, found, next - 2) != 0) {
            /* order: release nodes, frames - no reader depends on it. Not a plain store, which could remove a word of
             * the epoch before last that was just stored in place of this one. */
            (void)sbx_cas_acq_rel(&half->words[slot], &found, 0);
        }
    }
}

static bool is_full(const uint32_t *used, uint32_t mask)
{
    uint32_t slots = mask + 1;
    return sbx_load_relaxed(used) > slots - slots / 4; /* relaxed: a hint */
}

int sbx_callstack_table_turn_if_full(struct sbx_callstack_table *table)
{
    uint32_t epoch = sbx_load_relaxed(table->epoch); /* relaxed: only this thread stores it */
    if (!is_full(&table->node_used[epoch & 1], table->node_mask) &&
        !is_full(&table->frame_used[epoch & 1], table->frame_mask)) {
        return 0;
    }
    uint32_t next = epoch + 1;
    struct half frames = frames_of(table, next), nodes = nodes_of(table, next);
    sweep(&nodes, next);
    sweep(&frames, next);
    sbx_store_relaxed(nodes.used, 0);  /* relaxed: published by the release below */
    sbx_store_relaxed(frames.used, 0); /* relaxed: the same */
    sbx_store_relaxed(&table->epoch_begun_ns[next & 1], sbx_load_relaxed(table->heartbeat_ns)); /* relaxed: the same */
    /* order: release header.epoch - pairs with sbx_callstack_epoch() */
    sbx_store_release(table->epoch, next);
    return 1;
}

/* Two epochs on, because ids of the last epoch are still followed. */
void sbx_callstack_table_begin_anew(struct sbx_callstack_table *table)
{
    uint32_t next = sbx_load_relaxed(table->epoch) + 2; /* relaxed: only this thread stores it */
    for (uint32_t half = 0; half < 2; half++) {
        sbx_store_relaxed(&table->node_used[half], 0); /* relaxed: published by the release below */
        sbx_store_relaxed(&table->frame_used[half], 0);
        sbx_store_relaxed(&table->epoch_begun_ns[half], sbx_load_relaxed(table->heartbeat_ns));
    }
    sbx_store_release(table->epoch, next); /* order: release header.epoch - pairs with sbx_callstack_epoch() */
}

/* Get the frame words of a stack of `epoch`, leaf first and without their tags. Returns how many; 0: the id leads
 * nowhere. */
static uint32_t follow(struct sbx_callstack_table *table, uint32_t epoch, uint32_t node,
                       uint64_t frames_out[SBX_CALLSTACK_CARRY_MAX])
{
    struct half nodes = nodes_of(table, epoch), frames = frames_of(table, epoch);
    uint32_t count = 0;
    while (node != 0) {
        uint64_t word = node <= nodes.mask ? sbx_load_relaxed(&nodes.words[node]) : 0; /* relaxed: see the top */
        uint32_t frame = (uint32_t)(word & SBX_NODE_FRAME_MASK);
        if (word == 0 || epochs_ahead(&nodes, word, epoch) != 0 || frame > 2 * table->frame_mask + 1 ||
            count == SBX_CALLSTACK_CARRY_MAX) {
            return 0;
        }
        uint64_t frame_word = sbx_load_relaxed(&table->frames[frame]); /* relaxed: see the top */
        if (frame_word == 0 || epochs_ahead(&frames, frame_word, epoch) != 0) {
            return 0;
        }
        frames_out[count++] = frame_word & ~SBX_FRAME_TAG_MASK;
        node = (uint32_t)(word >> SBX_NODE_PARENT_SHIFT) & SBX_NODE_FRAME_MASK;
    }
    return count;
}

uint32_t sbx_callstack_carry(struct sbx_callstack_table *table, uint32_t from_epoch, uint32_t to_epoch, uint32_t stack)
{
    if (stack == SBX_STACK_NONE || stack == SBX_STACK_OVERFLOW || stack >> 24 == (to_epoch & 0xff)) {
        return stack;
    }
    uint64_t frames[SBX_CALLSTACK_CARRY_MAX];
    uint32_t count = stack >> 24 == (from_epoch & 0xff) ? follow(table, from_epoch, stack & 0xffffff, frames) : 0;
    uint32_t node = 0;
    for (uint32_t i = count; i > 0; i--) {
        uint32_t frame = sbx_frame_intern(table, to_epoch, frames[i - 1]);
        node = frame == 0 ? 0 : sbx_node_intern(table, to_epoch, node, frame);
        if (node == 0) {
            return SBX_STACK_OVERFLOW;
        }
    }
    return count == 0 ? SBX_STACK_NONE : sbx_callstack_id(to_epoch, node);
}
