/* SPDX-License-Identifier: Apache-2.0 */
/* wake.c - the two sides of a wait, joined by the wait's id.
 *
 * This code runs inside the program's own locks and unlocks. Work that is done here while a lock is still held delays
 * the waiters of that lock. So it is done only for waiters that have already waited much longer than it takes. */
#include "wake.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "capture_record.h"
#include "clock.h"
#include "left_code.h"
#include "open_calls.h"
#include "providers.h"
#include "registers.h"
#include "the_capture.h"
#include "thread_block.h"
#include "thread_seats.h"

/* The holder of a lock is read from another thread's memory, so earlier answers about its pages are dropped. */
static void forget_pages(void)
{
    struct sbx_thread *thread = sbx_self;
    if (sbx_thread_is_registered(thread)) {
        sbx_page_probe_begin(&thread->probe);
    }
}

/* A read has no holder to wait for. */
static bool may_be_lock(uint8_t kind)
{
    return kind != SBX_RECORD_FILE;
}

SBX_HOOK_SAFE void sbx_wait_begin(struct sbx_blocking *call, uint8_t group, uint8_t kind, uint8_t op, uint64_t object,
                                  uint32_t peer)
{
    /* A runtime builds its own locks from conditions and knows which thread holds them. relaxed: a hint */
    if (SBX_UNLIKELY(sbx_load_relaxed(&sbx_the_capture.provider_count) != 0) && peer == 0 && may_be_lock(kind)) {
        forget_pages();
        int holder = kind == SBX_RECORD_COND ? sbx_provider_lock_holder(object) : -1;
        if (holder >= 0) { /* it is a lock, although the thread waits on a condition */
            kind = SBX_RECORD_LOCK;
            op = SBX_OP_RUNTIME_LOCK;
            peer = (uint32_t)holder;
        } else {
            peer = sbx_provider_holder();
        }
    }
    sbx_blocking_enter_with_peer(call, SBX_CALL_WHAT(kind, op, group), object, peer);
    struct sbx_thread *thread = call->thread;
    if (thread == NULL) {
        return;
    }
    if (SBX_UNLIKELY(sbx_waiter_is_in(thread->index))) {
        /* Either a signal handler waits inside a wait, or a handler jumped out of a wait and the program waits again
         * further in. From here the two look alike. The newer wait gets the seat. This is right in the second case; in
         * the first case the outer wait will not know which thread ended it. */
        sbx_waiter_leave(thread->index);
        sbx_count_drop(SBX_DROP_NO_WAITER_SEAT);
    }
    call->wait = sbx_waiter_new_id();
    thread->wait_depth = call->depth + 1u;
    sbx_store_relaxed(&thread->entry->call_wait, call->wait); /* relaxed: other threads see 0 or the id */
    struct sbx_waiter waiter = {.object = object,
                                .begin_ns = call->begin_ns,
                                .seat = thread->index,
                                .wait = call->wait,
                                .tid = thread->tid,
                                .group = group};
    sbx_waiter_enter(&waiter);
}

/* The block of the calling thread. NULL: it has none, or the agent's own code is running. A thread that the watch
 * thread has adopted and that no signal has reached yet does not know its block, so the block is found by its tid. */
static struct sbx_thread *find_self(uint32_t *tid_out)
{
    struct sbx_thread *thread = sbx_self;
    *tid_out = 0;
    if (thread == SBX_THREAD_GONE || !sbx_capture_is_open()) {
        return NULL;
    }
    if (SBX_UNLIKELY(thread == NULL)) {
        *tid_out = (uint32_t)syscall(SYS_gettid);
        thread = sbx_seat_of(*tid_out);
        thread = thread != NULL ? sbx_thread_adopted_self(thread->index, *tid_out) : NULL;
        if (thread == NULL) {
            return NULL;
        }
    }
    bool is_inside = sbx_thread_is_inside(thread);
    *tid_out = !is_inside ? thread->tid : 0;
    return !is_inside ? thread : NULL;
}

static bool is_wanted(void)
{
    const struct sbx_capture_settings *settings = &sbx_the_capture.control->in_force;
    return (sbx_load_relaxed(&settings->points) & SBX_POINT_BIT(SBX_GROUP_WAKE)) != 0; /* relaxed: a hint */
}

/* How long a wait must have lasted for its end to be recorded: the longer of its own group's threshold and that of the
 * releases. */
static uint64_t threshold_ns(const struct sbx_waiter *waiter)
{
    uint64_t own = sbx_load_relaxed(&sbx_the_capture.threshold_ns[waiter->group]);
    uint64_t wake = sbx_load_relaxed(&sbx_the_capture.threshold_ns[SBX_GROUP_WAKE]);
    return own > wake ? own : wake;
}

/* True when this release need not be recorded. This is so when the thread recorded the end of the same wait a moment
 * ago: a lock is released and taken again in a loop while another thread starves. When the interval of releases is
 * longer than that of all groups, a thread records one release in that time. */
static bool is_told(struct sbx_thread *thread, uint32_t wait, uint64_t now_ns)
{
    uint64_t everybodys = sbx_load_relaxed(&sbx_the_capture.interval_ns);
    uint64_t interval_ns = sbx_load_relaxed(&sbx_the_capture.leaf_interval_ns[SBX_GROUP_WAKE]);
    return now_ns - thread->told_ns < interval_ns && (thread->told_wait == wait || interval_ns > everybodys);
}

static void put_wakes(struct sbx_thread *thread, const struct sbx_waiter *waiters, uint32_t count, uint32_t seen,
                      uint8_t op)
{
    sbx_thread_enter(thread);
    struct sbx_times now = sbx_thread_times(thread);
    struct sbx_walk_registers here;
    sbx_registers_here(&here);
    /* One stack for all records. If the bounds of the thread's stack are not known yet, they are not looked up here,
     * because that allocates. */
    uint32_t stack = sbx_capture_stack(thread, &here);
    for (uint32_t i = 0; i < count; i++) {
        struct sbx_record record = {.kind = SBX_RECORD_WAKE,
                                    .op = op,
                                    .begin_ns = now.wall_ns,
                                    .end_ns = now.wall_ns,
                                    .cpu_ns = now.cpu_ns,
                                    .stack = stack,
                                    .object = waiters[i].object,
                                    .wait = waiters[i].wait,
                                    .peer = waiters[i].tid,
                                    .amount = seen};
        sbx_capture_put(thread, &record);
    }
    thread->told_wait = waiters[0].wait;
    thread->told_ns = now.wall_ns;
    sbx_store_relaxed(&thread->cost.group[SBX_GROUP_WAKE].captures, thread->cost.group[SBX_GROUP_WAKE].captures + 1);
    if (SBX_UNLIKELY(sbx_cost_capture(&thread->cost, SBX_COST_CALL))) {
        sbx_cost_timed(&thread->cost, SBX_COST_CALL, sbx_thread_times(thread).cpu_ns - now.cpu_ns);
    }
    sbx_thread_leave(thread);
    if (sbx_load_relaxed(&sbx_the_capture.resting) == SBX_RESTS) {
        sbx_capture_ring_bell();
    }
}

/* The waiters that have waited long enough come first. How many are there? */
static uint32_t count_long(const struct sbx_waiter *waiters, uint32_t count, uint64_t now_ns)
{
    uint32_t longs = 0;
    while (longs < count && now_ns - waiters[longs].begin_ns >= threshold_ns(&waiters[longs]) &&
           now_ns > waiters[longs].begin_ns) {
        longs++;
    }
    return longs;
}

SBX_HOOK_SAFE SBX_NOINLINE void sbx_wake_look(uint64_t object, uint8_t op, enum sbx_wake_width width)
{
    struct sbx_waiter waiters[SBX_WAKE_RECORDS_MOST];
    uint32_t seen, count = sbx_waiter_find(object, waiters, SBX_WAKE_RECORDS_MOST, &seen);
    if (count == 0) {
        return; /* a thread waits for another object of this bucket */
    }
    int saved_errno = errno;
    uint32_t tid;
    struct sbx_thread *thread = find_self(&tid);
    uint64_t now_ns = tid == 0 || !is_wanted() ? 0 : thread != NULL ? sbx_thread_wall_ns(thread) : sbx_now_ns();
    uint32_t longs = count_long(waiters, count, now_ns);
    for (uint32_t i = 0; i < longs; i++) {
        sbx_waiter_stamp(&waiters[i], tid);
    }
    if (width == SBX_WAKE_ALL && longs == SBX_WAKE_RECORDS_MOST && seen > count) {
        sbx_waiter_stamp_all(object, tid, now_ns - threshold_ns(&waiters[0]));
    }
    if (longs != 0 && thread != NULL && !is_told(thread, waiters[0].wait, now_ns)) {
        /* SBX_WAKE_ONE releases one waiter: the one that waited longest, because the kernel's queue is in order. The
         * stack is the same for any of them. */
        put_wakes(thread, waiters, width == SBX_WAKE_ALL ? longs : 1, seen, op);
    }
    errno = saved_errno;
}

SBX_HOOK_SAFE uint32_t sbx_wake_prepare(uint64_t object, struct sbx_waiter *waiters, uint32_t *seen_out)
{
    uint32_t tid, count = sbx_waiter_find(object, waiters, SBX_WAKE_RECORDS_MOST, seen_out);
    if (count == 0) {
        return 0;
    }
    int saved_errno = errno;
    struct sbx_thread *thread = find_self(&tid);
    uint64_t now_ns = thread != NULL && is_wanted() ? sbx_thread_wall_ns(thread) : 0;
    uint32_t longs = count_long(waiters, count, now_ns);
    for (uint32_t i = 0; i < longs; i++) {
        sbx_waiter_stamp(&waiters[i], tid);
    }
    if (longs == SBX_WAKE_RECORDS_MOST && *seen_out > count) {
        sbx_waiter_stamp_all(object, tid, now_ns - threshold_ns(&waiters[0]));
    }
    errno = saved_errno;
    return longs;
}

SBX_HOOK_SAFE void sbx_wake_record(const struct sbx_waiter *waiters, uint32_t count, uint32_t seen, uint8_t op)
{
    int saved_errno = errno;
    uint32_t tid;
    struct sbx_thread *thread = find_self(&tid);
    if (thread != NULL && count != 0) {
        put_wakes(thread, waiters, count, seen, op);
    }
    errno = saved_errno;
}
