/* SPDX-License-Identifier: Apache-2.0 */
/* recording_upkeep.c - turns epochs, carries last stacks over, takes chunks back from silent threads, wipes the
 * recording.
 *
 * How a chunk is taken back without the help of its thread. The owner of an open chunk works in this order. It uses no
 * fence, because it does this for each record:
 *
 *     O1  inside = 1                                       W1  state: OPEN -> REVOKED
 *     O2  is chunk.state still mine?                       W2  membarrier
 *     O3  yes: write bytes, committed                      W3  is inside 0?
 *     O4  inside = 0                                       W4  yes: membarrier
 *                                                          W5  state: REVOKED -> CLOSED; the next owner may write
 *
 * Claim: after W5 the owner does not write to the chunk any more, and its earlier writes have arrived. membarrier(2)
 * makes each running thread of the process pass a full fence at some point P between the begin and the end of W2. (A
 * thread that does not run passed a fence when it was switched out.) Case 1: O2 is after P. Then O2 sees W1, and there
 * is no O3. Case 2: O2 is before P, and so is O1. Then W3 sees inside = 1, unless O4 is done. If W3 sees the 0 of O4,
 * the owner has issued all of O3, and passes the fence of W4 after O4. So the bytes have arrived before W5. A record
 * that begins after W3 has its O2 after P. On x86-64, where stores are not reordered, W4 is not needed; it costs
 * microseconds on a rare path. tests/model/chunk.pml tries the orders, and finds a mixed chunk when W2 or W3 is left
 * out.
 *
 * The owner only has to be at the end of a record, not in the middle: a thread preempted inside keeps its chunk until a
 * later tick sees it outside. */
#include "recording_upkeep.h"

#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "process_barrier.h"
#include "process_state.h"
#include "work_notes.h"
#include "the_capture.h"
#include "thread_block.h"
#include "thread_registry.h"
#include "watch_writer.h"

#define SILENT_NS         UINT64_C(5000000000) /* long compared with the interval between samples of a working thread */
#define SILENT_IN_NEED_NS UINT64_C(200000000)  /* when records are lost: a returning thread gets another chunk */
#define LOOK_EVERY_NS     UINT64_C(1000000000) /* 1,024 chunks are 1,024 cache lines: a look takes some 50 us */

enum {
    /* Carries in this many ticks after a turn: the second finds stacks of captures that were under way at the first. */
    BATCH = 256,
    CARRIES = 2,
};

struct taken {
    struct sbx_chunk *chunk;
    uint64_t word; /* its state as it was seen */
    bool is_out;   /* the owner is not in a record that it began before the revocation */
};

static struct {
    uint32_t carries_left;
    uint64_t looked_ns, seen_drops;
    bool is_taking; /* the last look found more chunks than it could take back */
    struct taken batch[BATCH];
} upkeep; /* used by the watch thread only */
SBX_OF_ONE_PROCESS(upkeep);

/* ---- callstacks ---- */

void sbx_upkeep_callstacks(void)
{
    struct sbx_callstack_table *table = &sbx_the_capture.table;
    if (sbx_callstack_table_turn_if_full(table) != 0) {
        upkeep.carries_left = CARRIES;
    }
    if (upkeep.carries_left == 0) {
        return;
    }
    upkeep.carries_left--;
    uint32_t epoch = sbx_callstack_epoch(table), count = sbx_thread_count();
    for (uint32_t i = 0; i < 2 * count; i++) { /* dead threads too, because an old id's epoch byte wraps around */
        struct sbx_thread_entry *entry = &sbx_the_capture.threads[i / 2];
        uint32_t *stack = i % 2 == 0 ? &entry->last_stack : &entry->starter_stack;
        uint32_t seen = sbx_load_acquire(stack); /* order: acquire entry.last_stack - its nodes are there */
        uint32_t carried = sbx_callstack_carry(table, epoch - 1, epoch, seen);
        /* order: release entry.last_stack - the new nodes. A newer stack that the owner has stored stays. */
        (void)(carried == seen || sbx_cas_acq_rel(stack, &seen, carried));
    }
    for (uint32_t i = 0; i < sbx_the_capture.header->tasks.count; i++) { /* tasks whose queuing stack is still needed */
        struct sbx_task_entry *task = &sbx_the_capture.tasks[i];
        enum sbx_task_state state = sbx_task_state_of(sbx_load_acquire(&task->word)); /* order: acquire task.word */
        if (state == SBX_TASK_QUEUED || state == SBX_TASK_RUNNING) {
            uint32_t seen = sbx_load_acquire(&task->stack); /* order: acquire task.stack - its nodes are there */
            uint32_t carried = sbx_callstack_carry(table, epoch - 1, epoch, seen);
            /* order: release task.stack - the new nodes. If the entry has another task by now, that task's stack
             * stays. */
            (void)(carried == seen || sbx_cas_acq_rel(&task->stack, &seen, carried));
        }
    }
    if (sbx_load_relaxed(&sbx_the_capture.has_runs) != 0) { /* relaxed: once set, it stays set */
        sbx_work_notes_carry(epoch);
    }
}

/* ---- chunks ---- */

/* The entry of the thread that a chunk names, if that life of the thread goes on; else NULL. */
static const struct sbx_thread_entry *owner_of(const struct sbx_chunk *chunk)
{
    /* relaxed: a chunk that changes its owner meanwhile may be judged wrongly; it is then not sealed, because its turn
     * has changed */
    uint32_t index = sbx_load_relaxed(&chunk->thread);
    struct sbx_thread_entry *entry =
        index < sbx_the_capture.header->threads.count ? &sbx_the_capture.threads[index] : NULL;
    bool lives = entry != NULL && sbx_load_acquire(&entry->state) == SBX_THREAD_LIVE && /* order: acquire entry.state */
                 /* order: acquire entry.generation - a later life: the thread that wrote the chunk has ended */
                 sbx_load_acquire(&entry->generation) == sbx_load_relaxed(&chunk->thread_generation);
    return lives ? entry : NULL;
}

static bool is_silent(const struct sbx_chunk *chunk, uint64_t now_ns, uint64_t limit_ns)
{
    if (sbx_load_relaxed(&chunk->thread) >= sbx_the_capture.header->threads.count) {
        return false; /* the watch thread's own chunk */
    }
    const struct sbx_thread_entry *owner = owner_of(chunk);
    uint64_t last_ns = owner != NULL ? sbx_load_relaxed(&owner->last_record_ns) : 0; /* relaxed: a guess */
    return last_ns < now_ns && now_ns - last_ns > limit_ns;
}

/* Checked after W2: the owner is outside our code, or has ended. */
static bool is_outside(const struct sbx_chunk *chunk)
{
    const struct sbx_thread_entry *owner = owner_of(chunk);
    if (owner == NULL) {
        return true; /* retire() and claim() of thread_registry.c: its last store came before its end */
    }
    const struct sbx_thread *thread =
        sbx_load_acquire(&sbx_thread_blocks[owner - sbx_the_capture.threads]); /* order: acquire block */
    return thread != NULL && sbx_load_acquire(&thread->inside) == 0;           /* order: acquire inside */
}

/* Fill the batch with revoked chunks and with open chunks of silent threads, beginning where the next claims will be
 * made. *open_out: how many chunks cannot be claimed. */
static uint32_t collect(const struct sbx_ring *ring, uint64_t now_ns, uint64_t limit_ns, uint32_t *open_out)
{
    uint64_t ticket = sbx_load_relaxed(ring->ticket);
    /* Chunks without a ticket so far were never touched, and stay untouched. */
    uint32_t used = ticket < ring->chunk_count ? (uint32_t)ticket : ring->chunk_count;
    uint32_t count = 0, open = 0;
    for (uint32_t i = 0; i < used; i++) {
        struct sbx_chunk *chunk = &ring->chunks[(ticket + i) % used];
        uint64_t word = sbx_load_acquire(&chunk->state); /* order: acquire chunk.state - the fields of its owner */
        enum sbx_chunk_state state = sbx_chunk_state_of(word);
        if (state == SBX_CHUNK_FREE || state == SBX_CHUNK_CLOSED) {
            continue;
        }
        open++;
        if (count < BATCH &&
            (state == SBX_CHUNK_REVOKED || (state == SBX_CHUNK_OPEN && is_silent(chunk, now_ns, limit_ns)))) {
            upkeep.batch[count++] = (struct taken){.chunk = chunk, .word = word};
        }
    }
    *open_out = open;
    return count;
}

uint32_t sbx_upkeep_chunks(uint64_t now_ns)
{
    const struct sbx_ring *ring = &sbx_the_capture.ring;
    uint64_t drops = sbx_load_relaxed(&ring->drops[SBX_DROP_NO_CHUNK]); /* relaxed: statistics */
    bool in_need = drops != upkeep.seen_drops;
    upkeep.seen_drops = drops;
    /* Each thread has at most one open chunk. */
    if (!in_need && !upkeep.is_taking &&
        (sbx_thread_count() <= ring->chunk_count / 2 || now_ns - upkeep.looked_ns < LOOK_EVERY_NS)) {
        return 0;
    }
    upkeep.looked_ns = now_ns;
    uint32_t open;
    uint32_t count = collect(ring, now_ns, in_need ? SILENT_IN_NEED_NS : SILENT_NS, &open);
    /* Once begun, take back all silent chunks: their records stay readable until they are claimed, and a writer gives
     * up after meeting many open chunks in a row. */
    bool wants_room = in_need || upkeep.is_taking || open > ring->chunk_count / 2;
    upkeep.is_taking = wants_room && count == BATCH;
    if (count == 0 || !wants_room || !sbx_process_barrier_start()) {
        return 0;
    }
    for (uint32_t i = 0; i < count; i++) { /* W1; false when it is revoked already, or was closed meanwhile */
        (void)sbx_ring_revoke(upkeep.batch[i].chunk, upkeep.batch[i].word);
    }
    if (!sbx_process_barrier()) { /* W2 */
        return 0;                 /* they stay revoked: readable, but not claimable until their owners close them */
    }
    for (uint32_t i = 0; i < count; i++) { /* W3 */
        upkeep.batch[i].is_out = is_outside(upkeep.batch[i].chunk);
    }
    if (!sbx_process_barrier()) { /* W4 */
        return 0;
    }
    uint32_t freed = 0;
    for (uint32_t i = 0; i < count; i++) { /* W5 */
        if (upkeep.batch[i].is_out) {
            sbx_ring_seal(upkeep.batch[i].chunk, upkeep.batch[i].word);
            freed++;
        }
    }
    return freed;
}

void sbx_upkeep_begin_anew(void)
{
    const struct sbx_ring *ring = &sbx_the_capture.ring;
    uint64_t ticket = sbx_load_relaxed(ring->ticket);
    uint32_t used = ticket < ring->chunk_count ? (uint32_t)ticket : ring->chunk_count;
    for (uint32_t i = 0; i < used; i++) {
        uint64_t word = sbx_load_acquire(&ring->chunks[i].state); /* order: acquire chunk.state */
        if (sbx_chunk_state_of(word) == SBX_CHUNK_OPEN) {
            (void)sbx_ring_revoke(&ring->chunks[i], word); /* its owner closes it, or the next look takes it back */
        }
    }
}

void sbx_upkeep_wipe(void)
{
    enum {
        TRIES = 20,
        PAUSE_NS = 1000000
    };
    const struct sbx_ring *ring = &sbx_the_capture.ring;
    uint64_t ticket = sbx_load_relaxed(ring->ticket);
    uint32_t used = ticket < ring->chunk_count ? (uint32_t)ticket : ring->chunk_count;
    sbx_upkeep_begin_anew();
    bool is_known = sbx_process_barrier_start(); /* without it only time can tell */
    for (int i = 0; i < TRIES; i++) {
        const struct timespec pause = {0, PAUSE_NS};
        uint32_t inside = 0;
        is_known = is_known && sbx_process_barrier(); /* W2: a thread that began a record before is seen inside */
        for (uint32_t at = 0; at < used && is_known; at++) {
            uint64_t word = sbx_load_acquire(&ring->chunks[at].state); /* order: acquire chunk.state */
            inside += sbx_chunk_state_of(word) == SBX_CHUNK_REVOKED && !is_outside(&ring->chunks[at]);
        }
        if (is_known && inside == 0) {
            break;
        }
        nanosleep(&pause, NULL);
    }
    for (uint32_t i = 0; i < sbx_the_capture.header->tasks.count; i++) { /* ids in there lead nowhere now */
        memset(&sbx_the_capture.tasks[i], 0, sizeof sbx_the_capture.tasks[i]);
    }
    memset(sbx_the_capture.queues, 0, sbx_the_capture.header->queues.count * sizeof *sbx_the_capture.queues);
    for (uint32_t at = 0; at < used; at++) {
        memset(ring->chunks[at].bytes, 0, sizeof ring->chunks[at].bytes);
    }
}

/* A thread that entered before the ring was closed is seen inside after the barrier. A thread that enters later finds
 * no chunk. Only recording threads intern stacks, so nobody interns once the gate is closed. */
bool sbx_upkeep_close(void)
{
    struct sbx_ring *ring = &sbx_the_capture.ring;
    sbx_ring_close_whole(ring);
    if (!sbx_process_barrier_start() || !sbx_process_barrier() || !sbx_thread_registry_is_quiet()) {
        sbx_ring_open_whole(ring, sbx_the_capture.header);
        return false;
    }
    sbx_watch_writer_forget();
    for (uint32_t i = 0; i < sbx_thread_count(); i++) {
        struct sbx_thread *thread = sbx_load_acquire(&sbx_thread_blocks[i]); /* order: acquire block */
        if (thread != NULL) { /* also if the thread has given its seat back, and left its chunk open */
            sbx_store_relaxed(&thread->writer.chunk, NULL); /* relaxed: its owner is outside */
        }
    }
    sbx_callstack_table_begin_anew(&sbx_the_capture.table);
    upkeep.carries_left = CARRIES; /* the stacks of entries lead nowhere, and the entries must say so */
    return true;
}
