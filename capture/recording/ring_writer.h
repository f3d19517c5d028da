/* SPDX-License-Identifier: Apache-2.0 */
/* ring_writer.h - one thread's open chunk of the ring: reserve nothing, append, release.
 *
 * The ring is an array of chunks recycled oldest first. A writer takes the next ticket, claims that chunk by
 * compare-and-swap on its state word, and from then on appends with plain stores and one release of `committed` a
 * record; other threads never write to it. A chunk that is still open is passed over, so no thread waits for another;
 * when SBX_CHUNK_TRIES in a row are open the record is dropped and counted. A thread that ends closes its chunk; from
 * one that is silent while chunks are scarce it is taken back in two steps (revoke, seal), without asking it.
 *
 * Synchronization:         [1] [2] [3] [4]    [1] put, close (the owning thread, not its handler while inside put)
 *     [1] put, close        X   -   -   -     [2] put of another writer
 *     [2] other writer      -   -   -   -     [3] read (snapshot, any process)
 *     [3] read              -   -   -   -     [4] revoke, seal (watch thread only)
 *     [4] revoke, seal      -   -   -   X     X: the caller excludes (the `inside` flag of the thread); -: nothing needed
 *                                             but what sbx_ring_seal() wants
 */
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
    struct sbx_chunk *claimed; /* being opened, with that turn; NULL: none. See sbx_ring_was_left() */
    uint64_t claimed_turn;
    uint32_t used; /* bytes of chunk->bytes written */
    struct sbx_codec_state state;
};

void sbx_ring_init(struct sbx_ring *ring, struct sbx_recording_header *header);

/* Take the whole ring away from its writers, who then drop what they have, uncounted, because recording has not begun; and
 * give it to them once its memory is reserved. The first before any writer, the second from any thread. */
void sbx_ring_close_whole(struct sbx_ring *ring);
void sbx_ring_open_whole(struct sbx_ring *ring, const struct sbx_recording_header *header);

/* Is it the writers'? */
static inline bool sbx_ring_is_open(const struct sbx_ring *ring)
{
    return sbx_load_acquire(&ring->chunk_count) != 0; /* order: acquire ring.chunk_count */
}

/* Append one record for the thread entry (index, generation, tid). Returns 1, or 0 when it was dropped (counted). */
SBX_SIGNAL_SAFE int sbx_ring_put(struct sbx_ring *ring, struct sbx_ring_writer *writer, uint32_t thread,
                                 uint32_t generation, uint32_t tid, const struct sbx_record *record);

/* Close the writer's chunk, if one is open. */
SBX_SIGNAL_SAFE void sbx_ring_close(struct sbx_ring_writer *writer);

/* Its thread has left sbx_ring_put() somewhere in the middle, by a jump or for good: close what is open, or half open. What is
 * committed stays. For the thread itself, or who buries it. */
SBX_SIGNAL_SAFE void sbx_ring_was_left(struct sbx_ring_writer *writer);

/* Take an open chunk back: first step. `opened` is the state word seen, of a chunk that is OPEN. The owner finds it out at
 * its next record and opens another; a record it is in the middle of goes on to its end. Returns false when the chunk is
 * not in that state any more. Watch thread. */
bool sbx_ring_revoke(struct sbx_chunk *chunk, uint64_t opened);

/* Second step: give a revoked chunk to the next who claims it. The caller knows that the owner is not in the middle of a
 * record that it began before the chunk was revoked, and that its stores have arrived (capture/recording_upkeep.c says
 * how it knows). Nothing happens unless the chunk is still REVOKED with the turn of `opened`. Watch thread; and sbx_ring_close(), of the owner itself. */
SBX_SIGNAL_SAFE void sbx_ring_seal(struct sbx_chunk *chunk, uint64_t opened);

#endif
