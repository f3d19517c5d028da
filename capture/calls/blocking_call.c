/* SPDX-License-Identifier: Apache-2.0 */
/* blocking_call.c - around a call that may block: other threads can see the call while it lasts, and it is recorded
 * when it lasted long.
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

/* A call begins that a signal could interrupt.
 *
 * Where the kernel makes timer signals inside calls, the watch thread does not arm a sample timer for this thread from
 * here on, and a timer that is already armed is taken back. After that the signal has either arrived or never will,
 * because the kernel delivers the signals it made before it returns to user code. The sender stores sample_timer before
 * it looks at `blocking` once more (Dekker's pattern). So either the sender sees this call and does not arm the timer,
 * or this thread sees the timer here.
 *
 * Where the kernel makes timer signals outside of calls, the timer stays armed: if each wait took it back, it would
 * hardly ever reach a thread that waits often. A call that is cut short nevertheless is made once more. */
static inline void keep_signal_away(struct sbx_thread *thread, uint32_t how)
{
    /* relaxed: once it is 1 it stays 1 */
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
    if (thread != NULL && thread == sbx_self && sbx_capture_is_ours()) { /* not after a coroutine moved */
        /* relaxed: a late look only spares us one signal */
        sbx_store_relaxed(&thread->blocking, thread->call_depth != 0 ? SBX_BLOCKING_CALL : SBX_BLOCKING_NOT);
    }
}

/* A wait begins while seats are short. Returns true when the thread waits without a seat: it gave its seat back just
 * now, or it had none and takes none. */
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

/* A call that is not recorded, or the first call of a thread that is not registered yet. Returns the thread if it is
 * registered by now and the call is to be recorded, else NULL. */
SBX_NOINLINE static struct sbx_thread *begin_unrecorded(struct sbx_blocking *call, uint32_t what)
{
    struct sbx_thread *thread = sbx_self;
    call->shield = NULL;
    if (thread == NULL && sbx_capture_is_open()) {
        thread = sbx_thread_register_self();
    }
    if (!sbx_thread_is_registered(thread) || !sbx_capture_is_open()) {
        call->thread = NULL;
        sbx_capture_ask_late(sbx_call_group_of(what), sbx_call_op_of(what), NULL);
        return NULL;
    }
    /* The call is not recorded either when a signal handler of the program has interrupted the agent's own code.
     * relaxed: a call that begins while the setting changes may be recorded or not, and is shielded either way */
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

/* A call that is not a simple lone call (lone_call.h). */
SBX_NOINLINE static void enter_otherwise(struct sbx_blocking *call, uint32_t what, uint64_t object, uint32_t peer,
                                         uint64_t pc, uint64_t sp)
{
    if (SBX_UNLIKELY(sbx_capture_is_short_of_seats()) && begins_without_seat(call, what, object, peer)) {
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

SBX_HOOK_SAFE SBX_NOINLINE void sbx_blocking_enter_always(struct sbx_blocking *call, uint32_t what, uint64_t object,
                                                          uint32_t peer)
{
    enter_otherwise(call, what, object, peer, (uint64_t)__builtin_return_address(0), (uint64_t)__builtin_dwarf_cfa());
}

/* Most calls begin with no other call around them, on a registered thread with nothing unusual. That path calls no
 * function, so it saves no register. */
__attribute__((always_inline)) static inline void enter(struct sbx_blocking *call, uint32_t what, uint64_t object,
                                                        uint32_t peer, uint64_t pc, uint64_t sp)
{
    struct sbx_thread *thread = sbx_self;
    uint64_t begin_ns;
    if (sbx_lone_call_may_begin(thread, &begin_ns)) {
        sbx_lone_call_begin(thread, call, what, object, peer, begin_ns, pc, sp);
    } else {
        enter_otherwise(call, what, object, peer, pc, sp);
    }
}

SBX_HOOK_SAFE SBX_NOINLINE void sbx_blocking_enter(struct sbx_blocking *call, uint32_t what, uint64_t object)
{
    enter(call, what, object, 0, (uint64_t)__builtin_return_address(0), (uint64_t)__builtin_dwarf_cfa());
}

SBX_HOOK_SAFE SBX_NOINLINE void sbx_blocking_enter_with_peer(struct sbx_blocking *call, uint32_t what, uint64_t object,
                                                             uint32_t peer)
{
    enter(call, what, object, peer, (uint64_t)__builtin_return_address(0), (uint64_t)__builtin_dwarf_cfa());
}

/* The main thread paused, or waited for a key or a connection. message_loop.h explains what that says about the
 * thread's message loop.
 *
 * The watch thread reads these words and may be wrong by one look. They are stored before the call is shown as over:
 * otherwise the watch thread could judge the message in between, without knowing of the pause. */
static void note_pause(struct sbx_thread *thread, const struct sbx_blocking *call, uint64_t end_ns)
{
    enum {
        LONG_PAUSE_NS = 100000000 /* a message handler may nap each time; one that sleeps for seconds hangs */
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

/* The call took long enough to be recorded: note what it says about the thread's messages. */
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

/* Record a call that took long enough. */
SBX_NOINLINE static void record_call(struct sbx_thread *thread, const struct sbx_blocking *call, int64_t moved, int fd)
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
    record.amount = (uint64_t)(moved < 0 ? ~moved : moved);
    record.fd_class = sbx_classify_fd(fd);
    record.flags = moved < 0 ? SBX_FLAG_FAILED : 0;
    sbx_capture_read_usage(&record);
    sbx_capture_put(thread, &record);
    sbx_leaf_charge(thread, call->group);
    thread->entry->countdown = thread->counted_from = 0; /* after a wait, the next leaf call asks the clock */
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

/* The hook's frame was left and resumed later, or it moved to another thread. So the length of the wait is not known.
 * Two facts are known: the thread is here now, and the calls in the list that do not lie around this place are over. */
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

/* A call that began without a seat. If it lasted long enough and the thread has a seat now, the call is recorded like
 * any other. No other thread saw it while it lasted. */
SBX_NOINLINE static void end_without_seat(const struct sbx_blocking *call, int64_t moved, int fd)
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
        record_call(thread, call, moved, fd);
    }
}

/* A call that was not recorded, lies inside another call, waited for another thread, or was left and resumed later. */
SBX_FORK_CODE SBX_NOINLINE static void end_otherwise(struct sbx_blocking *call, int64_t moved, int fd)
{
    if (call->thread == NULL || SBX_UNLIKELY(!sbx_capture_is_ours())) { /* a child that was forked in the call */
        struct sbx_thread *shield = call->thread == NULL ? call->shield : NULL;
        if (SBX_UNLIKELY(shield == SBX_WITHOUT_SEAT)) {
            end_without_seat(call, moved, fd);
        } else {
            sbx_shield_end(shield);
        }
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
        record_call(thread, call, moved, fd);
    }
}

/* The only open call took long enough to be recorded. */
SBX_NOINLINE static void end_alone(struct sbx_blocking *call, int64_t moved, int fd, uint64_t end_ns)
{
    struct sbx_thread *thread = call->thread;
    note_messages(thread, call, end_ns);
    sbx_lone_call_end(thread);
    if (sbx_capture_is_open()) {
        record_call(thread, call, moved, fd);
    }
}

/* Most calls are shorter than their group's threshold. Those cost two clock reads and a few stores. errno stays as the
 * call left it: all code here that may change errno is in functions that save and restore it. */
SBX_FORK_CODE SBX_HOOK_SAFE void sbx_blocking_moved(struct sbx_blocking *call, int64_t moved, int fd)
{
    struct sbx_thread *thread = sbx_call_thread(call);
    uint64_t end_ns;
    if (!sbx_lone_call_may_end(call, thread, &end_ns)) {
        end_otherwise(call, moved, fd);
    } else if (!sbx_call_was_short(call, end_ns)) {
        end_alone(call, moved, fd, end_ns);
    } else {
        sbx_lone_call_end(thread);
        sbx_leaf(thread, SBX_RECORD_LEAF, call->op, call->group);
    }
}
