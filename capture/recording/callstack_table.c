/* SPDX-License-Identifier: Apache-2.0 */
/* callstack_table.c - frames and parent links interned lock-free in the recording.
 *
 * Both tables are probed alike: a word's hash names a cache line of eight slots and where to begin in it; when the line
 * holds only others, a stride from the same hash names the next line. So a lookup mostly touches one cache line, which
 * is what a capture pays for, and clusters do not grow together as they would with plain linear probing: at the load of
 * 3/4 at which an epoch is turned, all of the SBX_PROBE_LINES lines are full for about one word in 10^5.
 *
 * Why equal words get equal ids without a lock: every writer of a word visits the same slots in the same order and
 * stops at the first that is empty or holds the word; within an epoch a slot goes from empty to one word and stays. The
 * compare-and-swap picks one writer, the others read what it wrote.
 *
 * Why relaxed loads suffice: a slot is one 64-bit word that is complete in itself; whoever learns of an id learns of it
 * through a later release (of a node word, or of chunk.committed), and so sees the slot at least as new. */
#include "callstack_table.h"

#include <stddef.h>

#include "order.h"

enum { LINE_SLOTS = 8, PROBE_LINES = 8 };

void sbx_callstack_table_init(struct sbx_callstack_table *table, struct sbx_recording_header *header)
{
    uint8_t *base = (uint8_t *)header;
    table->frames = (uint64_t *)(void *)(base + header->frames.at);
    table->nodes = (uint64_t *)(void *)(base + header->nodes.at);
    table->epoch = &header->epoch;
    table->heartbeat_ns = &header->heartbeat_ns;
    table->epoch_begun_ns = header->epoch_begun_ns;
    table->drops = header->drops;
    table->frame_mask = header->frames.count - 1;
    table->node_mask = header->nodes.count / 2 - 1;
    table->node_used[0] = 0;
    table->node_used[1] = 0;
}

/* Multiply to 128 bits and fold (the step of wyhash, public domain): every bit of the word reaches the low bits, which
 * differ for words that differ only by a small offset. */
static inline uint64_t hash_of(uint64_t word)
{
    unsigned __int128 product = (unsigned __int128)(word ^ UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xd6e8feb86659fd93);
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* The slot to look at in probe number `probe` of a word with this hash. */
static inline uint32_t slot_of(uint64_t hash, uint32_t probe, uint32_t mask)
{
    uint32_t line = (uint32_t)(hash >> 3) + probe / LINE_SLOTS * ((uint32_t)(hash >> 35) | 1);
    uint32_t place = ((uint32_t)hash + probe) % LINE_SLOTS;
    return (line * LINE_SLOTS + place) & mask;
}

static uint32_t drop(struct sbx_callstack_table *table, enum sbx_drop kind)
{
    sbx_add_relaxed(&table->drops[kind], 1); /* relaxed: statistics */
    return 0;
}

SBX_SIGNAL_SAFE uint32_t sbx_frame_intern(struct sbx_callstack_table *table, uint32_t epoch, uint64_t frame_word)
{
    (void)epoch;
    uint64_t hash = hash_of(frame_word);
    for (uint32_t probe = 0; probe < LINE_SLOTS * PROBE_LINES && frame_word != 0; probe++) {
        uint32_t slot = slot_of(hash, probe, table->frame_mask);
        if (slot == 0) {
            continue; /* id 0 means "none" */
        }
        uint64_t found = sbx_load_relaxed(&table->frames[slot]); /* relaxed: see the top */
        if (found == 0) {
            /* order: release frames[] - nothing hangs on it but the word itself; see the top */
            if (sbx_cas_acq_rel(&table->frames[slot], &found, frame_word)) {
                return slot;
            }
        }
        if (found == frame_word) {
            return slot;
        }
    }
    return drop(table, SBX_DROP_FRAME_OVERFLOW);
}

SBX_SIGNAL_SAFE uint32_t sbx_callstack_epoch(const struct sbx_callstack_table *table)
{
    /* order: acquire header.epoch - pairs with sbx_callstack_table_turn_if_full(): node_used of the half is 0 by now */
    return sbx_load_acquire(table->epoch);
}

/* How far the epoch of a slot lies ahead of ours; tags wrap, so the difference is taken in 16 bits. */
static inline int epochs_ahead(uint64_t word, uint32_t epoch)
{
    return (int16_t)((uint16_t)(word >> SBX_NODE_TAG_SHIFT) - (uint16_t)epoch);
}

SBX_SIGNAL_SAFE uint32_t sbx_node_intern(struct sbx_callstack_table *table, uint32_t epoch, uint32_t parent,
                                         uint32_t frame_id)
{
    uint64_t *half = table->nodes + (size_t)(epoch & 1) * ((size_t)table->node_mask + 1);
    uint64_t word =
        (uint64_t)(epoch & 0xffff) << SBX_NODE_TAG_SHIFT | (uint64_t)parent << SBX_NODE_PARENT_SHIFT | frame_id;
    uint64_t hash = hash_of(word);
    for (uint32_t probe = 0; probe < LINE_SLOTS * PROBE_LINES; probe++) {
        uint32_t slot = slot_of(hash, probe, table->node_mask);
        if (slot == 0) {
            continue; /* node 0 means "no parent" */
        }
        uint64_t found = sbx_load_relaxed(&half[slot]); /* relaxed: see the top */
        /* An older epoch's word counts as empty. Each failed swap shows a word of a later epoch than the last one seen
         * there, mostly our own: a writer that still lives in a left epoch may come between, so look again, but not
         * for ever. */
        for (int tries = 0; tries < LINE_SLOTS && (found == 0 || epochs_ahead(found, epoch) < 0); tries++) {
            /* order: release nodes[] - the parent and the frame it names were seen before; see the top */
            if (sbx_cas_acq_rel(&half[slot], &found, word)) {
                sbx_add_relaxed(&table->node_used[epoch & 1], 1); /* relaxed: a hint when to turn */
                return slot;
            }
        }
        if (found == word) {
            return slot;
        }
        if (epochs_ahead(found, epoch) != 0) {
            break; /* our epoch has been left, and its half is being filled anew: do not overwrite what is newer */
        }
    }
    return drop(table, SBX_DROP_STACK_OVERFLOW);
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
            return SBX_STACK_OVERFLOW; /* the frame table was full: counted there */
        }
        node = sbx_node_intern(table, epoch, node, frame_id);
        if (node == 0) {
            return SBX_STACK_OVERFLOW;
        }
    }
    return sbx_callstack_id(epoch, node);
}

int sbx_callstack_table_turn_if_full(struct sbx_callstack_table *table)
{
    uint32_t epoch = sbx_load_relaxed(table->epoch); /* relaxed: only this thread stores it */
    uint32_t slots = table->node_mask + 1;
    if (sbx_load_relaxed(&table->node_used[epoch & 1]) <= slots - slots / 4) { /* relaxed: a hint */
        return 0;
    }
    uint32_t next = epoch + 1;
    sbx_store_relaxed(&table->node_used[next & 1], 0); /* relaxed: published by the release below */
    sbx_store_relaxed(&table->epoch_begun_ns[next & 1], sbx_load_relaxed(table->heartbeat_ns)); /* likewise */
    /* order: release header.epoch - pairs with sbx_callstack_epoch() */
    sbx_store_release(table->epoch, next);
    return 1;
}
