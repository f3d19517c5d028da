/* SPDX-License-Identifier: Apache-2.0 */
/* ring_writer.c - one thread's open chunk of the ring: append, release, and take the next chunk when it is full.
 *
 * The life of a chunk, seen through its state word:
 *
 *     FREE or CLOSED, older turn --compare-and-swap--> OPENING, own turn --fill--> OPEN --full or thread ends--> CLOSED
 *                                                                                   |                              ^
 *                                                           owner silent, chunks scarce --> REVOKED --owner is out--+
 *
 * Each ticket is given out once, so a turn belongs to one owner for ever. A writer that claims its chunk only after a
 * whole lap finds a newer turn there, or loses the compare-and-swap, and takes another ticket: the turn of a chunk only
 * grows. The watch thread stores REVOKED. A REVOKED chunk is closed by the watch thread, when it has seen the owner
 * outside, or by the owner itself, at its next record. */
#include "ring_writer.h"

#include <stdbool.h>
#include <stddef.h>

#include "order.h"

void sbx_ring_init(struct sbx_ring *ring, struct sbx_recording_header *header)
{
    ring->chunks = (struct sbx_chunk *)(void *)((uint8_t *)header + header->chunks.at);
    ring->chunk_count = header->chunks.count;
    ring->ticket = &header->ring_ticket;
    ring->drops = header->drops;
}

void sbx_ring_close_whole(struct sbx_ring *ring)
{
    /* relaxed: no writer has seen another number yet, or the caller waits until every writer has (sbx_upkeep_close()) */
    sbx_store_relaxed(&ring->chunk_count, 0);
}

void sbx_ring_open_whole(struct sbx_ring *ring, const struct sbx_recording_header *header)
{
    /* order: release ring.chunk_count - the memory is reserved */
    sbx_store_release(&ring->chunk_count, (uint32_t)header->chunks.count);
}

/* Claim the chunk of one ticket: it becomes OPENING with our turn. False when its owner still has it, or when a writer
 * with a later ticket has claimed it already. */
static bool claim_chunk(struct sbx_chunk *chunk, uint64_t turn)
{
    uint64_t seen = sbx_load_relaxed(&chunk->state); /* relaxed: the compare-and-swap checks it again */
    enum sbx_chunk_state state = sbx_chunk_state_of(seen);
    if ((state != SBX_CHUNK_FREE && state != SBX_CHUNK_CLOSED) || sbx_chunk_turn_of(seen) >= turn) {
        return false;
    }
    /* order: acquire and release chunk.state - pairs with change_if(): the last owner's stores come before ours */
    if (!sbx_cas_acq_rel(&chunk->state, &seen, sbx_chunk_word(turn, SBX_CHUNK_OPENING))) {
        return false;
    }
    /* order: fence after chunk.state - a reader that sees any of our stores below also sees that the turn has changed;
     * pairs with the acquire fence of copy_chunk() in snapshot_copy.c. A swap alone does not hold back later stores on
     * every machine. */
    sbx_fence_seq_cst();
    return true;
}

/* Open the next chunk that is not in use. Its base values come from the record that will be its first. */
static bool open_chunk(struct sbx_ring *ring, struct sbx_ring_writer *writer, uint32_t thread, uint32_t generation,
                       uint32_t tid, const struct sbx_record *first)
{
    uint32_t chunk_count = sbx_load_acquire(&ring->chunk_count); /* order: acquire ring.chunk_count */
    writer->chunk = NULL;
    if (SBX_UNLIKELY(chunk_count == 0)) {
        return false; /* recording has not begun: nothing is lost */
    }
    for (int tries = 0; tries < SBX_CHUNK_TRIES; tries++) {
        uint64_t ticket = sbx_add_relaxed(ring->ticket, 1); /* relaxed: only uniqueness matters */
        struct sbx_chunk *chunk = &ring->chunks[ticket % chunk_count];
        uint64_t turn = ticket + 1;
        writer->claimed_turn = turn;
        writer->claimed = chunk;
        sbx_order_with_handler();
        if (!claim_chunk(chunk, turn)) {
            continue;
        }
        sbx_store_relaxed(&chunk->committed, 0); /* relaxed: the release of OPEN below publishes it */
        /* relaxed: likewise; atomic because the watch thread may look for the last owner at this moment */
        sbx_store_relaxed(&chunk->thread, thread);
        sbx_store_relaxed(&chunk->thread_generation, generation);
        chunk->tid = tid;
        chunk->base_ns = first->end_ns;
        chunk->base_cpu_ns = first->cpu_ns;
        chunk->base_alloc_count = first->alloc_count;
        chunk->base_alloc_bytes = first->alloc_bytes;
        chunk->base_message = first->message;
        writer->state = sbx_codec_begin(chunk);
        writer->chunk = chunk;
        writer->used = 0;
        writer->opened = sbx_chunk_word(turn, SBX_CHUNK_OPEN);
        /* order: release chunk.state - the base values and committed = 0 become readable; pairs with copy_chunk() */
        sbx_store_release(&chunk->state, writer->opened);
        writer->claimed = NULL;
        return true;
    }
    writer->claimed = NULL;
    sbx_add_relaxed(&ring->drops[SBX_DROP_NO_CHUNK], 1); /* relaxed: statistics */
    return false;
}

/* Move a chunk from one state to another, unless it has another owner meanwhile. */
static bool change_if(struct sbx_chunk *chunk, uint64_t from, uint64_t to)
{
    /* order: release chunk.state - all of the owner's stores come before the next owner's; pairs with claim_chunk() */
    return sbx_cas_acq_rel(&chunk->state, &from, to);
}

static inline uint64_t in_state(uint64_t word, enum sbx_chunk_state state)
{
    return sbx_chunk_word(sbx_chunk_turn_of(word), state);
}

/* Is the writer's chunk still its own, and does it belong to this life of the thread entry? The state word shows when
 * the chunk was revoked: then nothing is written to it. */
static inline bool chunk_is_usable(const struct sbx_ring_writer *writer, uint32_t thread, uint32_t generation)
{
    const struct sbx_chunk *chunk = writer->chunk;
    /* relaxed: usually our own store; the revoking thread ensures with membarrier that a revocation is seen in time */
    return chunk != NULL && sbx_load_relaxed(&chunk->state) == writer->opened && chunk->thread == thread &&
           chunk->thread_generation == generation;
}

/* Encode to the end of the open chunk. False when the record does not fit: then nothing has changed. */
static inline bool append(struct sbx_ring_writer *writer, const struct sbx_record *record)
{
    struct sbx_chunk *chunk = writer->chunk;
    uint32_t left = (uint32_t)sizeof chunk->bytes - writer->used;
    if (SBX_LIKELY(left >= SBX_RECORD_BYTES_MAX)) {
        writer->used += (uint32_t)sbx_record_encode(&writer->state, record, chunk->bytes + writer->used);
    } else {
        uint8_t tail[SBX_RECORD_BYTES_MAX];
        struct sbx_codec_state next = writer->state;
        uint32_t bytes = (uint32_t)sbx_record_encode(&next, record, tail);
        if (bytes > left) {
            return false;
        }
        for (uint32_t i = 0; i < bytes; i++) {
            chunk->bytes[writer->used + i] = tail[i];
        }
        writer->used += bytes;
        writer->state = next;
    }
    /* order: release chunk.committed - the record's bytes become readable; pairs with copy_chunk() */
    sbx_store_release(&chunk->committed, writer->used);
    return true;
}

SBX_SIGNAL_SAFE int sbx_ring_put(struct sbx_ring *ring, struct sbx_ring_writer *writer, uint32_t thread,
                                 uint32_t generation, uint32_t tid, const struct sbx_record *record)
{
    if (SBX_LIKELY(chunk_is_usable(writer, thread, generation)) && SBX_LIKELY(append(writer, record))) {
        return 1;
    }
    sbx_ring_close(writer);
    /* A fresh chunk has room for any record. Its base values are this record's, so the differences start at zero. */
    return open_chunk(ring, writer, thread, generation, tid, record) && append(writer, record);
}

SBX_SIGNAL_SAFE void sbx_ring_close(struct sbx_ring_writer *writer)
{
    struct sbx_chunk *chunk = writer->chunk;
    if (chunk != NULL) {
        if (!change_if(chunk, writer->opened, in_state(writer->opened, SBX_CHUNK_CLOSED))) {
            sbx_ring_seal(chunk, writer->opened); /* revoked: but this thread is certainly not writing to it now */
        }
        writer->chunk = NULL;
    }
}

SBX_SIGNAL_SAFE void sbx_ring_was_left(struct sbx_ring_writer *writer)
{
    struct sbx_chunk *claimed = writer->claimed;
    uint64_t opening = sbx_chunk_word(writer->claimed_turn, SBX_CHUNK_OPENING);
    /* relaxed: OPENING with our turn is our own store, and no other thread changes it */
    if (claimed != NULL && sbx_load_relaxed(&claimed->state) == opening) {
        sbx_store_relaxed(&claimed->committed, 0); /* the records of its last owner are not valid any more */
        (void)change_if(claimed, opening, in_state(opening, SBX_CHUNK_CLOSED));
        writer->chunk = NULL;
    }
    writer->claimed = NULL;
    sbx_ring_close(writer);
}

bool sbx_ring_revoke(struct sbx_chunk *chunk, uint64_t opened)
{
    return change_if(chunk, opened, in_state(opened, SBX_CHUNK_REVOKED));
}

SBX_SIGNAL_SAFE void sbx_ring_seal(struct sbx_chunk *chunk, uint64_t opened)
{
    (void)change_if(chunk, in_state(opened, SBX_CHUNK_REVOKED), in_state(opened, SBX_CHUNK_CLOSED));
}
