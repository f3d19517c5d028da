/* SPDX-License-Identifier: Apache-2.0 */
/* recording_upkeep.c - epochs turned, last stacks carried over, silent threads' chunks taken back, all of it wiped.
 *
 * Taking a chunk back from a thread that is not asked. The owner of an open chunk works in this order, without any fence,
 * because it does so for each record:
 *
 *     O1  inside = 1                                       W1  state: OPEN -> REVOKED
 *     O2  is chunk.state what I opened?                    W2  membarrier
 *     O3  yes: write bytes, committed                      W3  is inside 0?
 *     O4  inside = 0                                       W4  yes: membarrier
 *                                                          W5  state: REVOKED -> CLOSED; the next owner may write
 *
 * Claim: after W5 the owner writes no more to the chunk, and what it wrote has arrived. membarrier(2) makes each thread of
 * the process that runs pass a full fence at some point P between W2's begin and its end (one that does not run passed
 * one when it was switched out). Either O2 lies behind P: then it sees W1, and there is no O3. Or O2 lies before P, and
 * so does O1: then W3 sees inside = 1, unless O4 has been done. If W3 saw O4's 0, the owner had issued all of O3, and
 * passes the fence of W4 behind O4: the bytes have arrived before W5. A record that begins after W3 has its O2 behind P.
 * On x86-64, whose stores do not pass each other, W4 is not needed; it costs microseconds on a way that is hardly ever
 * taken. tests/model/chunk.pml tries the orders, and finds the mixed chunk when W2 or W3 is left out.
 *
 * "At its end" instead of "in the middle" is all that is asked: a thread preempted inside keeps its chunk until a later
 * tick sees it outside. */
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

#define SILENT_NS         UINT64_C(5000000000) /* long against any interval between samples of a thread that works */
#define SILENT_IN_NEED_NS UINT64_C(200000000)  /* records are being lost: whoever comes back gets another chunk */
#define LOOK_EVERY_NS     UINT64_C(1000000000) /* 1,024 chunks are 1,024 cache lines: some 50 us a look */

enum {
    BATCH = 256,
    CARRIES =
        2, /* ticks after a turn with a carry: the second finds what a capture stored that was under way at the first */
};

struct taken {
    struct sbx_chunk *chunk;
    uint64_t word; /* its state as it was seen */
    bool is_out;   /* the owner is in no record that began before the chunk was revoked */
};

static struct {
    uint32_t carries_left;
    uint64_t looked_ns, seen_drops;
    bool is_taking; /* there were more to take back than one look takes */
    struct taken batch[BATCH];
} upkeep; /* the watch thread's */
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
    for (uint32_t i = 0; i < 2 * count; i++) { /* those of the dead as well: an id left there would come round */
        struct sbx_thread_entry *entry = &sbx_the_capture.threads[i / 2];
        uint32_t *stack = i % 2 == 0 ? &entry->last_stack : &entry->starter_stack;
        uint32_t seen = sbx_load_acquire(stack); /* order: acquire entry.last_stack - its nodes are there */
        uint32_t carried = sbx_callstack_carry(table, epoch - 1, epoch, seen);
        /* order: release entry.last_stack - the new nodes. When the owner has stored a newer one, that stands. */
        (void)(carried == seen || sbx_cas_acq_rel(stack, &seen, carried));
    }
    for (uint32_t i = 0; i < sbx_the_capture.header->tasks.count; i++) { /* who queued what has not ended */
        struct sbx_task_entry *task = &sbx_the_capture.tasks[i];
        enum sbx_task_state state = sbx_task_state_of(sbx_load_acquire(&task->word)); /* order: acquire task.word */
        if (state == SBX_TASK_QUEUED || state == SBX_TASK_RUNNING) {
            uint32_t seen = sbx_load_acquire(&task->stack); /* order: acquire task.stack - its nodes are there */
            uint32_t carried = sbx_callstack_carry(table, epoch - 1, epoch, seen);
            /* order: release task.stack - the new nodes. When it is another task by now, that one's stands. */
            (void)(carried == seen || sbx_cas_acq_rel(&task->stack, &seen, carried));
        }
    }
    if (sbx_load_relaxed(&sbx_the_capture.has_runs) != 0) { /* relaxed: for good, once it is set */
        sbx_work_notes_carry(epoch);
    }
}

/* ---- chunks ---- */

/* The entry of the thread that a chunk names, while that thread lives; NULL when its life is over. */
static const struct sbx_thread_entry *owner_of(const struct sbx_chunk *chunk)
{
    /* relaxed: a chunk that changes hands under our eyes is judged wrongly, and then not sealed: its turn is another */
    uint32_t index = sbx_load_relaxed(&chunk->thread);
    struct sbx_thread_entry *entry =
        index < sbx_the_capture.header->threads.count ? &sbx_the_capture.threads[index] : NULL;
    bool lives = entry != NULL && sbx_load_acquire(&entry->state) == SBX_THREAD_LIVE && /* order: acquire entry.state */
                 /* order: acquire entry.generation - a later life: the one that wrote the chunk is over */
                 sbx_load_acquire(&entry->generation) == sbx_load_relaxed(&chunk->thread_generation);
    return lives ? entry : NULL;
}

static bool is_silent(const struct sbx_chunk *chunk, uint64_t now_ns, uint64_t limit_ns)
{
    if (sbx_load_relaxed(&chunk->thread) >= sbx_the_capture.header->threads.count) {
        return false; /* the watch thread's own */
    }
    const struct sbx_thread_entry *owner = owner_of(chunk);
    uint64_t last_ns = owner != NULL ? sbx_load_relaxed(&owner->last_record_ns) : 0; /* relaxed: a guess */
    return last_ns < now_ns && now_ns - last_ns > limit_ns;
}

/* Seen after W2: the owner is outside our code, or it is no more. */
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

/* Fill the batch with chunks that were revoked before and with silent ones that are open, from where the next claims will
 * be made. *open_out: how many cannot be claimed. */
static uint32_t collect(const struct sbx_ring *ring, uint64_t now_ns, uint64_t limit_ns, uint32_t *open_out)
{
    uint64_t ticket = sbx_load_relaxed(ring->ticket);
    /* Chunks that no ticket was ever drawn for were never touched, and stay so. */
    uint32_t used = ticket < ring->chunk_count ? (uint32_t)ticket : ring->chunk_count;
    uint32_t count = 0, open = 0;
    for (uint32_t i = 0; i < used; i++) {
        struct sbx_chunk *chunk = &ring->chunks[(ticket + i) % used];
        uint64_t word = sbx_load_acquire(&chunk->state); /* order: acquire chunk.state - whose it is */
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
    /* Each thread has one chunk open at most. */
    if (!in_need && !upkeep.is_taking &&
        (sbx_thread_count() <= ring->chunk_count / 2 || now_ns - upkeep.looked_ns < LOOK_EVERY_NS)) {
        return 0;
    }
    upkeep.looked_ns = now_ns;
    uint32_t open;
    uint32_t count = collect(ring, now_ns, in_need ? SILENT_IN_NEED_NS : SILENT_NS, &open);
    /* Once begun, all that are silent: what they hold stays readable until its turn comes, and a writer that meets one
     * open chunk after the other gives up. */
    bool wants_room = in_need || upkeep.is_taking || open > ring->chunk_count / 2;
    upkeep.is_taking = wants_room && count == BATCH;
    if (count == 0 || !wants_room || !sbx_process_barrier_start()) {
        return 0;
    }
    for (uint32_t i = 0; i < count; i++) { /* W1; false where it is revoked already, or has been closed meanwhile */
        (void)sbx_ring_revoke(upkeep.batch[i].chunk, upkeep.batch[i].word);
    }
    if (!sbx_process_barrier()) { /* W2 */
        return 0;                 /* they stay revoked: read, not claimed, until their owners close them */
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
    bool is_known = sbx_process_barrier_start(); /* else time alone has to tell */
    for (int i = 0; i < TRIES; i++) {
        const struct timespec pause = {0, PAUSE_NS};
        uint32_t inside = 0;
        is_known = is_known && sbx_process_barrier(); /* W2: whoever began a record before is seen inside */
        for (uint32_t at = 0; at < used && is_known; at++) {
            uint64_t word = sbx_load_acquire(&ring->chunks[at].state); /* order: acquire chunk.state */
            inside += sbx_chunk_state_of(word) == SBX_CHUNK_REVOKED && !is_outside(&ring->chunks[at]);
        }
        if (is_known && inside == 0) {
            break;
        }
        nanosleep(&pause, NULL);
    }
    for (uint32_t i = 0; i < sbx_the_capture.header->tasks.count; i++) { /* an id of what lay there leads nowhere now */
        memset(&sbx_the_capture.tasks[i], 0, sizeof sbx_the_capture.tasks[i]);
    }
    memset(sbx_the_capture.queues, 0, sbx_the_capture.header->queues.count * sizeof *sbx_the_capture.queues);
    for (uint32_t at = 0; at < used; at++) {
        memset(ring->chunks[at].bytes, 0, sizeof ring->chunks[at].bytes);
    }
}

/* Who came in before the ring was closed is seen inside behind the barrier, and who comes in after it finds no chunk. Stacks are interned by who records
 * alone, so by nobody once the gate is closed. */
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
        if (thread != NULL) { /* also of one who has given it back, and whose chunk was left open */
            sbx_store_relaxed(&thread->writer.chunk, NULL); /* relaxed: its owner is outside */
        }
    }
    sbx_callstack_table_begin_anew(&sbx_the_capture.table);
    upkeep.carries_left = CARRIES; /* what entries point at leads nowhere, and is to say so */
    return true;
}
