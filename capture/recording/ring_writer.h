/* SPDX-License-Identifier: Apache-2.0 */
/* ring_writer.h - one thread's open chunk of the ring: append and release, without a reservation.
 *
 * The ring is an array of chunks recycled oldest first. A writer takes the next ticket and claims that chunk by
 * compare-and-swap on its state word. From then on it appends with plain stores and one release of `committed` for each
 * record. Other threads never write to the chunk. A chunk that is still open is skipped, so no thread waits for
 * another. When SBX_CHUNK_TRIES chunks in a row are open, the record is dropped and counted. A thread that ends closes
 * its chunk. When chunks are scarce, the chunk of a silent thread is taken back in two steps (revoke, seal), without
 * the help of that thread.
 *
 * Synchronization:         [1] [2] [3] [4]    [1] put, close (the owning thread, not its handler while inside put)
 *     [1] put, close        X   -   -   -     [2] put of another writer
 *     [2] other writer      -   -   -   -     [3] read (snapshot, any process)
 *     [3] read              -   -   -   -     [4] revoke, seal (watch thread only)
 *     [4] revoke, seal      -   -   -   X     X: the caller excludes (the `inside` flag of the thread); -: nothing needed
 *                                             except the condition of sbx_ring_seal() */
#ifndef SBX_RING_WRITER_H
#define SBX_RING_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "marks.h"
#include "order.h"
#include "record_codec.h"
#include "recording_format.h"

enum {
    SBX_CHUNK_TRIES = 16
};

struct sbx_ring {
    struct sbx_chunk *chunks; /* in the recording */
    uint32_t chunk_count;
    uint64_t *ticket; /* header.ring_ticket */
    uint64_t *drops;  /* header.drops */
};

struct sbx_ring_writer {
    struct sbx_chunk *chunk;   /* NULL: none open */
    uint64_t opened;           /* the chunk's state word while it is this writer's */
    struct sbx_chunk *claimed; /* chunk that is being opened, with that turn; NULL: none. See sbx_ring_was_left() */
    uint64_t claimed_turn;
    uint32_t used; /* bytes of chunk->bytes written */
    struct sbx_codec_state state;
};

void sbx_ring_init(struct sbx_ring *ring, struct sbx_recording_header *header);

/* Take the whole ring away from its writers, or give it to them once its memory is reserved. Without the ring, writers
 * drop their records uncounted, because recording has not begun. The first is called before any writer runs, the second
 * on any thread. */
void sbx_ring_close_whole(struct sbx_ring *ring);
void sbx_ring_open_whole(struct sbx_ring *ring, const struct sbx_recording_header *header);

/* May writers use the ring? */
static inline bool sbx_ring_is_open(const struct sbx_ring *ring)
{
    return sbx_load_acquire(&ring->chunk_count) != 0; /* order: acquire ring.chunk_count */
}

/* Append one record for the thread entry (index, generation, tid). Returns 1, or 0 when the record was dropped
 * (counted). */
SBX_SIGNAL_SAFE int sbx_ring_put(struct sbx_ring *ring, struct sbx_ring_writer *writer, uint32_t thread,
                                 uint32_t generation, uint32_t tid, const struct sbx_record *record);

/* Close the writer's chunk, if one is open. */
SBX_SIGNAL_SAFE void sbx_ring_close(struct sbx_ring_writer *writer);

/* The thread has left sbx_ring_put() somewhere in the middle, by a jump or for ever: close the open or half-open chunk.
 * Committed records stay. Called by the thread itself, or by the thread that retires it. */
SBX_SIGNAL_SAFE void sbx_ring_was_left(struct sbx_ring_writer *writer);

/* Take an open chunk back: first step. `opened` is the state word seen, of a chunk that is OPEN. The owner sees it at
 * its next record and opens another chunk; it completes a record that it is writing now. Returns false when the chunk
 * is not in that state any more. Watch thread. */
bool sbx_ring_revoke(struct sbx_chunk *chunk, uint64_t opened);

/* Second step: give a revoked chunk free for the next claim. The caller knows two things: the owner is not in the
 * middle of a record that it began before the revocation, and the owner's stores have arrived
 * (capture/recording_upkeep.c says how it knows). Does nothing unless the chunk is still REVOKED with the turn of
 * `opened`. Called by the watch thread, and by sbx_ring_close() of the owner itself. */
SBX_SIGNAL_SAFE void sbx_ring_seal(struct sbx_chunk *chunk, uint64_t opened);

#endif
