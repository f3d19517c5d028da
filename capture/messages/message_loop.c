/* SPDX-License-Identifier: Apache-2.0 */
/* message_loop.c - where a message of the loop begins and ends, and where one begins and ends that a thread reports
 * itself. */
#include "message_loop.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>

#include "blocking_call.h"
#include "capture_record.h"
#include "client_message.h"
#include "clock.h"
#include "fd_class.h"
#include "fork_path.h"
#include "frame_pace.h"
#include "left_code.h"
#include "lone_call.h"
#include "loop_call.h"
#include "message.h"
#include "open_calls.h"
#include "process_barrier.h"
#include "raw_syscall.h"
#include "registers.h"
#include "rest_place.h"
#include "seen_work.h"
#include "stack_copy.h"
#include "task.h"
#include "the_capture.h"
#include "thread_block.h"
#include "thread_registry.h"
#include "thread_stack.h"

/* While the thread is in a call that may be the first of another loop, it is not known whether the message goes on.
 *
 * Otherwise the watch thread asks, and it does not walk the stack. It looks at the stack slot of the return address.
 * The function with the loop has been left when that slot lies beyond the stack pointer of the thread's present call,
 * or holds another value. */
SBX_HOOK_SAFE bool sbx_message_loop_was_left(const struct sbx_thread *thread)
{
    const struct sbx_message_loop *loop = &thread->loop;
    uint32_t kind = sbx_load_relaxed(&thread->entry->call_kind); /* relaxed: it may be wrong by one look */
    if (sbx_load_relaxed(&loop->maybe_pc) != 0 && (kind == SBX_RECORD_POLL || kind == SBX_RECORD_SOCKET)) {
        return true;
    }
    if (loop->slot_count == 0 || loop->poller_returns || loop->is_entered ||
        sbx_load_relaxed(&loop->poller_kept) < SBX_POLLER_KEPT_ENOUGH) {
        return false;
    }
    if (sbx_load_relaxed(&loop->poller_gone_in) == thread->entry->message) {
        return true;
    }
    /* order: acquire entry.call - the call's place is that of this call or of a later one */
    bool is_in_call = sbx_load_acquire(&thread->entry->call_kind) != SBX_RECORD_NONE;
    uint64_t sp = sbx_load_relaxed(&thread->call_sp), slot = loop->slots[0], word = 0;
    if (!is_in_call || sp < thread->stack_low || sp >= thread->stack_high) {
        return false;
    }
    return slot < sp || (sbx_copy_stack(slot, sizeof word, (uint8_t *)&word) == sizeof word &&
                         sbx_plain_address(word) != loop->callers[0]);
}

/* Between two such calls a look could take the turn of another loop for a hang, because a turn is shorter than the
 * limit. */
SBX_HOOK_SAFE bool sbx_message_may_have_turned(const struct sbx_thread *thread, uint64_t now_ns, uint64_t limit_ns)
{
    const struct sbx_message_loop *loop = &thread->loop;
    return sbx_load_relaxed(&loop->maybe_pc) != 0 && now_ns < sbx_load_relaxed(&loop->maybe_ns) + limit_ns;
}

SBX_HOOK_SAFE uint64_t sbx_message_awaited_ns(const struct sbx_thread *thread, uint64_t now_ns)
{
    const struct sbx_thread_entry *entry = thread->entry;
    const struct sbx_message_loop *loop = &thread->loop;
    uint64_t sum_ns = sbx_load_relaxed(&loop->key_in) == entry->message ? sbx_load_relaxed(&loop->key_ns) : 0;
    uint64_t message_ns = sbx_load_relaxed(&entry->message_begin_ns);
    if (sum_ns == 0 && loop->seen_key_in == entry->message && now_ns > message_ns) {
        return now_ns - message_ns; /* the thread waited for a key, and it is not known for how long */
    }
    sum_ns += sbx_rest_awaited_ns(thread, now_ns);
    /* order: acquire entry.call - the fields of that call or of a later one */
    uint32_t kind = sbx_load_acquire(&entry->call_kind);
    bool is_read = kind == SBX_RECORD_FILE && entry->call_op == SBX_OP_READ;
    uint64_t begin_ns = entry->call_begin_ns;
    if (kind == SBX_RECORD_SOCKET && entry->call_op == SBX_OP_ACCEPT && now_ns > begin_ns) {
        sum_ns += now_ns - begin_ns; /* it waits for a client to connect, and no client waits for it */
    }
    if (is_read && now_ns > begin_ns && entry->call_object != 0 &&
        sbx_is_terminal_of(thread->tid, (int)(entry->call_object - 1))) {
        sum_ns += now_ns - begin_ns;
    }
    return sum_ns;
}

/* A thread without a known loop is back where it polls for work. The task that it got there is over, and it must be
 * ended before the thread may give its seat back. */
static void end_turn(uint64_t pc, uint64_t sp)
{
    struct sbx_thread *thread = sbx_self;
    if (sbx_thread_is_registered(thread) && SBX_UNLIKELY(thread->has_turns) && !thread->has_loop &&
        thread->tasks.polled_sp == sp && thread->tasks.polled_pc == pc && !sbx_thread_is_inside(thread) &&
        sbx_capture_is_ours()) {
        sbx_tasks_end_turn(thread, SBX_EVERY_TURN);
    }
}

/* The piece of a runtime's work that the thread was seen to run is over when the thread polls, unless that piece itself
 * polls. */
SBX_NOINLINE static void end_seen_work(struct sbx_thread *thread, uint64_t now_ns)
{
    if (!sbx_thread_is_inside(thread) && sbx_capture_is_ours()) {
        sbx_thread_enter(thread);
        if (!sbx_seen_work_goes_on(thread)) {
            sbx_capture_end_seen_work(thread, now_ns);
        }
        sbx_thread_leave(thread);
    }
}

SBX_FORK_CODE SBX_HOOK_SAFE SBX_NOINLINE void sbx_poll_begin(struct sbx_blocking *call, uint8_t op, uint64_t pc,
                                                             uint64_t sp, const struct sbx_polled *polled)
{
    uint8_t kind = sbx_polled_has_fds(polled) ? SBX_RECORD_POLL : SBX_RECORD_SLEEP;
    end_turn(pc, sp);
    if (SBX_UNLIKELY(sbx_load_relaxed(&sbx_the_capture.lets_polls_pass) != 0) && /* relaxed: this thread's own */
        !sbx_capture_is_ours() && !polled->waits) {
        *call = (struct sbx_blocking){.thread = NULL};
        sbx_capture_ask_late(SBX_GROUP_POLL, SBX_OP_NONE, NULL);
        return;
    }
    if (polled->form == SBX_POLLED_ACCEPT) {
        sbx_blocking_enter(call, SBX_CALL_WHAT(SBX_RECORD_SOCKET, op, SBX_GROUP_SOCKET), (uint64_t)polled->count + 1);
    } else {
        sbx_blocking_enter(call, SBX_CALL_WHAT(kind, op, SBX_GROUP_POLL), 0);
    }
    struct sbx_thread *thread = call->thread;
    if (thread != NULL && SBX_UNLIKELY(sbx_load_relaxed(&sbx_the_capture.has_runs) != 0) && /* relaxed: a hint */
        thread->seen_work.key != 0) {
        end_seen_work(thread, call->begin_ns);
    }
    if (thread != NULL) { /* the hook is the direct caller here */
        sbx_call_is_at(thread, (uint64_t)__builtin_return_address(0), (uint64_t)__builtin_dwarf_cfa());
    }
    if (thread == NULL || call->depth != 0 || thread->loop.is_entered) {
        return;
    }
    if (!thread->has_loop) {
        sbx_client_poll(thread, call, pc, sp, polled);
        return;
    }
    int saved_errno = errno;
    bool was_open = thread->entry->message_begin_ns != 0;
    enum sbx_loop_call role = sbx_loop_call(thread, pc, sp, polled);
    if (was_open && thread->entry->message_begin_ns == 0) {
        sbx_message_tell_end(thread, call->begin_ns); /* the message belonged to a loop that has ended */
    }
    if (role != SBX_LOOP_CALL_NONE) {
        if (SBX_UNLIKELY(thread->has_turns)) {
            sbx_tasks_end_turn(thread, role == SBX_LOOP_CALL_NESTED ? sp : SBX_EVERY_TURN);
        }
        call->is_loop = true;
        call->is_nested = role == SBX_LOOP_CALL_NESTED;
        call->kind = SBX_RECORD_IDLE;
        sbx_store_release(&thread->entry->call_kind, SBX_RECORD_IDLE);
        if (SBX_UNLIKELY(role == SBX_LOOP_CALL_SITE && thread->loop.doubt_message != 0)) {
            sbx_message_tell_doubted(&thread->loop);
        }
        sbx_message_close(thread, call->begin_ns, role == SBX_LOOP_CALL_IN_DOUBT);
        sbx_store_relaxed(&thread->loop.hits, thread->loop.hits + 1); /* relaxed: a count */
        thread->entry->flags |= SBX_THREAD_FLAG_LOOP;
    } else {
        if (sbx_load_relaxed(&thread->loop.maybe_pc) == pc) {
            sbx_store_relaxed(&thread->loop.maybe_ns, call->begin_ns);
        }
        sbx_client_poll_of_loop(thread, call, polled);
    }
    errno = saved_errno;
}

SBX_FORK_CODE SBX_HOOK_SAFE void sbx_poll_end(struct sbx_blocking *call, const struct sbx_polled *polled, bool failed,
                                              int fd)
{
    struct sbx_thread *thread = call->thread;
    if (thread == NULL || !call->is_loop || SBX_UNLIKELY(sbx_call_entry(call) == NULL)) {
        sbx_blocking_end(call, 0, failed, fd);
        return;
    }
    int saved_errno = errno;
    uint64_t now_ns = sbx_thread_wall_ns(thread);
    if (now_ns - thread->loop.idle_ns >= SBX_MESSAGES_MERGE_NS || now_ns - call->begin_ns >= SBX_SHORT_MESSAGE_NS) {
        /* Idle time is not a stall and needs no stack. Its record gives the CPU time at which the message began. */
        thread->loop.idle_ns = now_ns;
        sbx_thread_enter(thread);
        struct sbx_record record = {.kind = SBX_RECORD_IDLE,
                                    .op = call->op,
                                    .begin_ns = call->begin_ns,
                                    .end_ns = now_ns,
                                    .cpu_ns = sbx_thread_times(thread).cpu_ns};
        sbx_capture_put(thread, &record);
        sbx_thread_leave(thread);
    }
    sbx_loop_call_ended(thread, call, polled, now_ns - call->begin_ns, failed);
    sbx_calls_pop(thread, call);                           /* the record was made here, not by sbx_blocking_end() */
    if (now_ns - call->begin_ns >= SBX_SHORT_MESSAGE_NS) { /* a loop that only looks, as games do, did not rest */
        sbx_frame_rested(thread, now_ns);
    }
    if (sbx_capture_is_open()) {
        /* A loop is judged from its second pass on: a program that never loops is never judged. */
        sbx_message_open(thread, thread->loop.hits >= 2 ? now_ns : 0);
    }
    errno = saved_errno;
}

/* Nearly all calls of a server's loop begin here: the open message was short, and it is merged with those before it. */
SBX_HOOK_SAFE SBX_NOINLINE bool sbx_turn_begin(struct sbx_blocking *call, uint8_t op, uint64_t pc, uint64_t sp)
{
    struct sbx_thread *thread = sbx_self; /* registered and with a plain loop: sbx_turn_begins() */
    struct sbx_message_loop *loop = &thread->loop;
    struct sbx_thread_entry *entry = thread->entry;
    uint64_t message_begin_ns = entry->message_begin_ns, now_ns;
    uint32_t what = SBX_CALL_WHAT(SBX_RECORD_IDLE, op, SBX_GROUP_POLL);
    /* relaxed: a hint. order: acquire loop.anr_message - the end of another message is not overwritten any more */
    if (SBX_UNLIKELY(loop->site_pc != pc || loop->site_sp != sp || thread->has_turns ||
                     sbx_load_relaxed(&sbx_the_capture.has_runs) != 0 || message_begin_ns == 0 ||
                     sbx_load_acquire(&loop->anr_message) == entry->message ||
                     !sbx_lone_call_may_begin(thread, &now_ns) || now_ns - message_begin_ns >= SBX_SHORT_MESSAGE_NS ||
                     !sbx_messages_may_merge(&loop->merged, 0, message_begin_ns, now_ns))) {
        return false;
    }
    sbx_lone_call_begin(thread, call, what, 0, 0, now_ns, (uint64_t)__builtin_return_address(0),
                        (uint64_t)__builtin_dwarf_cfa());
    call->is_loop = true;
    sbx_store_release(&entry->message_begin_ns, 0); /* order: release entry.message_begin_ns */
    sbx_messages_merge(&loop->merged, entry, now_ns);
    sbx_store_relaxed(&loop->hits, loop->hits + 1); /* relaxed: a count */
    return true;
}

/* The loop has polled the epoll set that it always polls, and did not wait for long. The next message begins. */
SBX_HOOK_SAFE SBX_NOINLINE bool sbx_turn_end(const struct sbx_blocking *call, int epoll_fd)
{
    struct sbx_thread *thread = sbx_call_thread(call);
    uint64_t now_ns;
    if (SBX_UNLIKELY(!sbx_lone_call_may_end(call, thread, &now_ns) || !sbx_capture_is_open() ||
                     !sbx_loop_is_plain(&thread->loop) || thread->loop.plain_fd != epoll_fd || epoll_fd < 0 ||
                     thread->loop.hits < 2 || now_ns - call->begin_ns >= SBX_SHORT_MESSAGE_NS ||
                     now_ns - thread->loop.idle_ns >= SBX_MESSAGES_MERGE_NS)) {
        return false;
    }
    thread->loop.plain_turns++;
    sbx_lone_call_end(thread);
    sbx_message_open_at(thread, now_ns);
    return true;
}

SBX_HOOK_SAFE bool sbx_accept_waits(int fd)
{
    const struct sbx_thread *thread = sbx_self;
    if (!sbx_thread_is_registered(thread) || !thread->has_loop) {
        return true;
    }
    const struct sbx_poll_place *place = &thread->loop.places[thread->loop.place];
    if (thread->loop.site_pc != 0 && !place->accepts && (place->ready >> ((unsigned)fd % 64) & 1) != 0) {
        return false;
    }
    long flags = sbx_raw_syscall(SYS_fcntl, fd, F_GETFL, 0, 0, 0, 0);
    return flags >= 0 && (flags & O_NONBLOCK) == 0;
}

SBX_HOOK_SAFE SBX_NOINLINE void sbx_signal_wait_begin(struct sbx_blocking *call, uint8_t op)
{
    sbx_blocking_begin(call, SBX_GROUP_SLEEP, SBX_RECORD_SLEEP, op, 0, 0);
    struct sbx_thread *thread = call->thread;
    if (thread == NULL) {
        return;
    }
    sbx_call_is_at(thread, (uint64_t)__builtin_return_address(0), (uint64_t)__builtin_dwarf_cfa());
    if (!thread->has_loop || call->depth != 0 || thread->loop.is_entered || thread->entry->message_begin_ns == 0) {
        return;
    }
    int saved_errno = errno;
    if (!sbx_loop_is_around(thread)) {
        sbx_message_close(thread, call->begin_ns, false);
    }
    errno = saved_errno;
}

SBX_HOOK_SAFE SBX_NOINLINE void sbx_message_enter(uint32_t kind)
{
    struct sbx_thread *thread = sbx_self;
    if (SBX_UNLIKELY(thread == NULL)) {
        thread = sbx_thread_register_self();
    }
    if (!sbx_thread_is_registered(thread) || sbx_thread_is_inside(thread)) {
        return;
    }
    struct sbx_message_loop *loop = &thread->loop;
    if (loop->entered++ != 0) {
        return;
    }
    uint8_t known_kind = kind <= SBX_MESSAGE_KIND_MAX ? (uint8_t)kind : 0;
    if (sbx_load_relaxed(&thread->entry->message_begin_ns) != 0) {
        if (loop->kind == 0) {
            sbx_store_relaxed(&loop->kind, known_kind); /* inside the message that a poll call began: name it */
        }
        return;
    }
    int saved_errno = errno;
    sbx_store_relaxed(&loop->kind, known_kind);
    loop->is_entered = true;
    thread->entry->flags |= 2;
    sbx_message_open(thread, sbx_thread_wall_ns(thread));
    errno = saved_errno;
}

SBX_HOOK_SAFE SBX_NOINLINE void sbx_message_leave(void)
{
    struct sbx_thread *thread = sbx_self;
    if (!sbx_thread_is_registered(thread) || sbx_thread_is_inside(thread) || SBX_UNLIKELY(!sbx_capture_is_ours())) {
        return;
    }
    struct sbx_message_loop *loop = &thread->loop;
    if (loop->entered == 0 || --loop->entered != 0 || !loop->is_entered) {
        return;
    }
    int saved_errno = errno;
    sbx_message_close(thread, sbx_thread_wall_ns(thread), false);
    loop->is_entered = false;
    errno = saved_errno;
}

SBX_HOOK_SAFE void sbx_message_exit(void)
{
    struct sbx_thread *thread = sbx_self;
    if (!sbx_thread_is_registered(thread) || sbx_load_relaxed(&thread->entry->message_begin_ns) == 0) {
        return;
    }
    if (sbx_load_relaxed(&thread->loop.question_in) == thread->entry->message) {
        /* A client waits for an answer, so this message is judged like any other that ends. gunicorn's workers exit in
         * this way when their master ends them. */
        sbx_message_close(thread, sbx_thread_wall_ns(thread), false);
    } else if (sbx_load_relaxed(&thread->loop.anr_message) == thread->entry->message) {
        sbx_store_release(&thread->entry->message_begin_ns, 0); /* order: release entry.message_begin_ns */
        sbx_message_tell_end(thread, sbx_thread_wall_ns(thread));
    }
}
