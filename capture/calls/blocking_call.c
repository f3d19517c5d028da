/* SPDX-License-Identifier: Apache-2.0 */
/* blocking_call.c - what happens around a call that may block: seen from outside while it lasts, recorded when it lasted.
 *
 * Nothing here allocates or locks. */
#include "blocking_call.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "capture_record.h"
#include "capture_sample.h"
#include "clock.h"
#include "fd_class.h"
#include "fork_path.h"
#include "former_seat.h"
#include "left_code.h"
#include "logical_points.h"
#include "lone_call.h"
#include "process_barrier.h"
#include "registers.h"
#include "seat_turns.h"
#include "the_capture.h"
#include "thread_registry.h"
#include "thread_seats.h"
#include "thread_stack.h"

/* A call begins that a signal could interrupt. Where signals of timers are made in calls, ours is not asked for from here on,
 * and a timer that is out is taken back: its signal has either come or never will, because the kernel delivers what it made
 * before it goes back to us. The sender stores sample_timer before it looks at `blocking` once more (Dekker's pattern), so
 * either it sees us and does not arm it, or we see it here. Where they are made outside of calls the timer stays: taken back at
 * each wait, it would hardly ever meet a thread that waits often. What is cut short then nevertheless is made once more. */
static inline void keep_signal_away(struct sbx_thread *thread, uint32_t how)
{
    /* relaxed: 1 once it is known, for good */
    if (SBX_LIKELY(how != SBX_BLOCKING_ALWAYS && sbx_load_relaxed(&sbx_the_capture.calls_are_safe) != 0)) {
        return;
    }
    sbx_store_before_look(&thread->blocking, how); /* order: barrier blocking - Dekker with sample_timer */
    sbx_sample_take_back(thread);
}

SBX_HOOK_SAFE struct sbx_thread *sbx_shield_begin(bool always)
{
    struct sbx_thread *thread = sbx_self;
    if (SBX_UNLIKELY(thread == NULL) && sbx_capture_is_open()) {
        thread = sbx_thread_register_self();
    }
    if (!sbx_thread_is_registered(thread) || !sbx_capture_is_open()) {
        return NULL;
    }
    sbx_thread_clock_disarm(&thread->clock);
    keep_signal_away(thread, always ? SBX_BLOCKING_ALWAYS : SBX_BLOCKING_CALL);
    return thread;
}

SBX_FORK_CODE SBX_HOOK_SAFE void sbx_shield_end(struct sbx_thread *thread)
{
    if (thread != NULL && thread == sbx_self && sbx_capture_is_ours()) { /* not another's, where a coroutine moved */
        /* relaxed: a late look only spares us one signal */
        sbx_store_relaxed(&thread->blocking, thread->call_depth != 0 ? SBX_BLOCKING_CALL : SBX_BLOCKING_NOT);
    }
}

/* A wait begins while seats are short. True: the thread has no seat for it, given back just now or none before, and takes none. */
SBX_NOINLINE static bool begins_without_seat(struct sbx_blocking *call, uint32_t what, uint64_t object, uint32_t peer)
{
    uint8_t group = sbx_call_group_of(what);
    struct sbx_thread *thread = sbx_self;
    uint64_t now_ns;
    if ((SBX_GROUPS_THAT_WAIT & SBX_POINT_BIT(group)) == 0 || !sbx_capture_is_open() || thread == SBX_THREAD_GONE) {
        return false;
    }
    if (thread == NULL) {
        now_ns = sbx_now_ns();
        if (!sbx_is_seatless(sbx_own_entry) && sbx_former_seat.life == 0) {
            return false;
        }
    } else {
        now_ns = sbx_thread_wall_ns(thread);
        if (!sbx_seat_give(thread, (uint64_t)(uintptr_t)call, now_ns)) {
            return false;
        }
    }
    *call = (struct sbx_blocking){.shield = SBX_WITHOUT_SEAT,
                                  .begin_ns = now_ns,
                                  .object = object,
                                  .peer = peer,
                                  .kind = (uint8_t)what,
                                  .op = sbx_call_op_of(what),
                                  .group = group};
    return true;
}

/* A call that is not recorded, or by a thread that is not registered yet. Returns the thread when it is by now, else NULL. */
SBX_NOINLINE static struct sbx_thread *begin_unrecorded(struct sbx_blocking *call, uint32_t what)
{
    struct sbx_thread *thread = sbx_self;
    call->shield = NULL;
    if (thread == NULL && sbx_capture_is_open()) {
        thread = sbx_thread_register_self();
    }
    if (!sbx_thread_is_registered(thread) || !sbx_capture_is_open()) {
        call->thread = NULL;
        sbx_capture_ask_late(sbx_call_group_of(what), sbx_call_op_of(what));
        return NULL;
    }
    /* Also when a handler of the host's has interrupted our own code. relaxed: a call that begins meanwhile is recorded once
     * more or less, and shielded either way */
    if ((sbx_load_relaxed(&sbx_the_capture.quiet_groups) & SBX_POINT_BIT(sbx_call_group_of(what))) != 0 ||
        sbx_thread_is_inside(thread)) {
        call->thread = NULL;
        call->shield = thread;
        sbx_thread_clock_disarm(&thread->clock);
        keep_signal_away(thread, sbx_call_how_of(sbx_call_op_of(what)));
        return NULL;
    }
    return thread;
}

/* A call that begins in any way. */
SBX_NOINLINE static void enter_otherwise(struct sbx_blocking *call, uint32_t what, uint64_t object, uint32_t peer,
                                         uint64_t pc, uint64_t sp)
{
    if (SBX_UNLIKELY(sbx_load_relaxed(&sbx_the_capture.seats_are_short) != 0) && /* relaxed: a hint */
        begins_without_seat(call, what, object, peer)) {
        return;
    }
    struct sbx_thread *thread = begin_unrecorded(call, what);
    if (thread == NULL) {
        return;
    }
    if (thread->call_depth != 0 && !sbx_calls_make_room(thread, (uint64_t)(uintptr_t)call)) {
        call->thread = NULL;
        call->shield = NULL;
        return;
    }
    uint64_t begin_ns = sbx_thread_wall_ns(thread);
    sbx_call_begin_at(thread, call, what, object, peer, begin_ns, thread->call_depth, pc, sp);
    if (SBX_UNLIKELY(sbx_logical_note_is_due(thread, begin_ns))) {
        sbx_logical_note_call(thread, call);
    }
    sbx_call_show(thread->entry, what, object, peer, begin_ns);
    keep_signal_away(thread, sbx_call_how_of(sbx_call_op_of(what)));
}

/* Most calls begin with none around them on a thread that is registered, and nothing is out of the ordinary: that way calls no
 * function, so it saves no register. */
SBX_HOOK_SAFE SBX_NOINLINE void sbx_blocking_enter(struct sbx_blocking *call, uint32_t what, uint64_t object,
                                                   uint32_t peer)
{
    struct sbx_thread *thread = sbx_self;
    uint64_t pc = (uint64_t)__builtin_return_address(0), sp = (uint64_t)__builtin_dwarf_cfa(), begin_ns;
    if (sbx_call_how_of(sbx_call_op_of(what)) != SBX_BLOCKING_ALWAYS &&
        sbx_lone_call_may_begin(thread, what, &begin_ns)) {
        sbx_lone_call_begin(thread, call, what, object, peer, begin_ns, pc, sp);
    } else {
        enter_otherwise(call, what, object, peer, pc, sp);
    }
}

/* The main thread paused, or a key or a connection was awaited: what that says of its message loop says message_loop.h. The watch
 * thread reads it, and may be wrong by one look. It is there before the call is seen to be over: between the two the message would be
 * judged, and nobody knew of its pause. */
static void note_pause(struct sbx_thread *thread, const struct sbx_blocking *call, uint64_t end_ns)
{
    enum {
        LONG_PAUSE_NS = 100000000 /* a handler may nap in each message, and one that sleeps for seconds hangs */
    };
    struct sbx_message_loop *loop = &thread->loop;
    uint64_t took_ns = end_ns - call->begin_ns, message = thread->entry->message;
    if (sbx_is_pause(call->kind, call->op)) {
        loop->pauses = true;
        if (took_ns < LONG_PAUSE_NS) {
            return;
        }
        loop->paused += loop->paused_in != message;
        sbx_store_relaxed(&loop->paused_in, message);
        sbx_store_relaxed(&loop->paused_ns, loop->paused_ns + took_ns);
    } else if ((call->kind == SBX_RECORD_FILE && call->op == SBX_OP_READ && call->object != 0 &&
                sbx_is_terminal((int)(call->object - 1))) ||
               (call->op == SBX_OP_ACCEPT && call->kind == SBX_RECORD_SOCKET)) {
        sbx_store_relaxed(&loop->key_ns, (loop->key_in == message ? loop->key_ns : 0) + took_ns);
        sbx_store_relaxed(&loop->key_in, message);
    }
}

/* The call took long enough to be told: what it says of the thread's messages. */
static void note_messages(struct sbx_thread *thread, const struct sbx_blocking *call, uint64_t end_ns)
{
    if (thread->has_loop && sbx_capture_is_open()) {
        int saved_errno = errno;
        sbx_thread_enter(thread);
        note_pause(thread, call, end_ns);
        sbx_thread_leave(thread);
        errno = saved_errno;
    }
}

/* Record a call that took long enough to be told. */
SBX_NOINLINE static void record_call(struct sbx_thread *thread, const struct sbx_blocking *call, uint64_t amount,
                                     bool failed, int fd)
{
    int saved_errno = errno;
    sbx_thread_enter(thread);
    if (thread->stack_high == 0) {
        sbx_thread_find_stack(thread);
    }
    struct sbx_times now = sbx_thread_times(thread);
    struct sbx_record record = {
        .kind = call->kind, .op = call->op, .begin_ns = call->begin_ns, .end_ns = now.wall_ns, .cpu_ns = now.cpu_ns};
    struct sbx_walk_registers here;
    sbx_registers_here(&here);
    record.stack = sbx_capture_stack(thread, &here);
    record.object = call->object;
    record.peer = call->peer;
    record.wait = call->wait;
    record.amount = amount;
    record.fd_class = sbx_classify_fd(fd);
    record.flags = failed ? SBX_FLAG_FAILED : 0;
    sbx_capture_read_usage(&record);
    sbx_capture_put(thread, &record);
    sbx_leaf_charge(thread, call->group);
    thread->entry->countdown = thread->counted_from = 0; /* what follows a wait is asked about at once */
    sbx_store_relaxed(&thread->cost.group[call->group].captures, thread->cost.group[call->group].captures + 1);
    if (SBX_UNLIKELY(sbx_cost_capture(&thread->cost, SBX_COST_CALL))) {
        sbx_cost_timed(&thread->cost, SBX_COST_CALL, sbx_thread_times(thread).cpu_ns - now.cpu_ns);
    }
    sbx_thread_leave(thread);
    if (sbx_load_relaxed(&sbx_the_capture.resting) == SBX_RESTS) {
        sbx_capture_ring_bell();
    }
    errno = saved_errno;
}

/* The call was left behind and came back, or came to another thread: how long the thread waited nobody knows. That it is here
 * now is true, and that the calls which are in the list and do not lie around this place are over. */
SBX_NOINLINE static void end_moved(struct sbx_thread *thread, const struct sbx_blocking *call)
{
    sbx_count_drop(SBX_DROP_CALL_MOVED);
    if (sbx_thread_is_registered(thread) && !sbx_thread_is_inside(thread)) {
        if (thread->call_depth != 0) {
            sbx_calls_forget(thread, (uint64_t)(uintptr_t)call);
        }
        sbx_leaf(thread, SBX_RECORD_LEAF, call->op, call->group);
    }
}

/* A call that began without a seat. If it lasted, and there is one now, it is told as any other; in between nobody saw it. */
SBX_NOINLINE static void end_without_seat(const struct sbx_blocking *call, uint64_t amount, bool failed, int fd)
{
    struct sbx_thread *thread = sbx_self;
    uint64_t end_ns = sbx_now_ns();
    if (thread == SBX_THREAD_GONE || !sbx_capture_is_open() ||
        (sbx_load_relaxed(&sbx_the_capture.quiet_groups) & SBX_POINT_BIT(call->group)) != 0 || /* relaxed: a hint */
        end_ns - call->begin_ns < sbx_load_relaxed(&sbx_the_capture.threshold_ns[call->group])) {
        return;
    }
    if (thread == NULL) {
        thread = sbx_thread_register_self();
    }
    if (thread == NULL) {
        sbx_count_drop(SBX_DROP_NO_THREAD);
    } else if (!sbx_thread_is_inside(thread)) {
        note_messages(thread, call, end_ns);
        record_call(thread, call, amount, failed, fd);
    }
}

/* A call that was not recorded, or lies in another, or waited for another thread, or was left and came back. */
SBX_FORK_CODE SBX_NOINLINE static void end_otherwise(struct sbx_blocking *call, uint64_t amount, bool failed, int fd)
{
    if (call->thread == NULL || SBX_UNLIKELY(!sbx_capture_is_ours())) { /* a child that was forked in the call */
        if (SBX_UNLIKELY(call->shield == SBX_WITHOUT_SEAT)) {
            end_without_seat(call, amount, failed, fd);
            return;
        }
        sbx_shield_end(call->shield);
        return;
    }
    struct sbx_thread *thread = sbx_self;
    if (SBX_UNLIKELY(sbx_call_entry(call) == NULL)) {
        end_moved(thread, call);
        return;
    }
    uint64_t end_ns = sbx_thread_wall_ns(thread);
    if (call->wait != 0) {
        sbx_call_end_wait(call);
    }
    bool is_told = end_ns - call->begin_ns >= sbx_load_relaxed(&sbx_the_capture.threshold_ns[call->group]);
    if (is_told) {
        note_messages(thread, call, end_ns);
    }
    sbx_calls_pop(thread, call);
    if (!is_told) {
        sbx_leaf(thread, SBX_RECORD_LEAF, call->op, call->group);
    } else if (sbx_capture_is_open()) {
        record_call(thread, call, amount, failed, fd);
    }
}

/* The only call that is open took long enough to be told. */
SBX_NOINLINE static void end_alone(struct sbx_blocking *call, uint64_t amount, bool failed, int fd, uint64_t end_ns)
{
    struct sbx_thread *thread = call->thread;
    note_messages(thread, call, end_ns);
    sbx_lone_call_end(thread);
    if (sbx_capture_is_open()) {
        record_call(thread, call, amount, failed, fd);
    }
}

/* Most calls do not block for as long as their group's threshold: those cost two clocks and a few stores. errno is the
 * call's own; what changes it lies behind the calls that keep it. */
SBX_FORK_CODE SBX_HOOK_SAFE void sbx_blocking_end(struct sbx_blocking *call, uint64_t amount, bool failed, int fd)
{
    struct sbx_thread *thread = sbx_call_thread(call);
    uint64_t end_ns;
    if (!sbx_lone_call_may_end(call, thread, &end_ns)) {
        end_otherwise(call, amount, failed, fd);
    } else if (!sbx_call_was_short(call, end_ns)) {
        end_alone(call, amount, failed, fd, end_ns);
    } else {
        sbx_lone_call_end(thread);
        sbx_leaf(thread, SBX_RECORD_LEAF, call->op, call->group);
    }
}
