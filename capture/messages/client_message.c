/* SPDX-License-Identifier: Apache-2.0 */
/* client_message.c - what a thread does for a client, from the client's question to the answer. */
#include "client_message.h"

#include <errno.h>

#include "blocking_call.h"
#include "capture_sample.h"
#include "lone_call.h"
#include "message.h"
#include "the_capture.h"

/* A read that took longer has waited for the client. */
enum {
    WAITED_NS = 1000000
};

/* Does the main thread serve one client at a time? It does if its loop comes back to accept(), either at its place or
 * at another place where it polls for a request. */
static bool serves_one(const struct sbx_thread *thread)
{
    const struct sbx_message_loop *loop = &thread->loop;
    bool accepts = false;
    for (uint32_t i = 0; i < SBX_POLL_PLACES && loop->site_pc != 0; i++) {
        accepts |= loop->places[i].accepts && (i == loop->place || loop->places[i].passes >= 2);
    }
    return accepts;
}

/* Is no loop of the thread known? A forked worker may read its first question before it polls. */
static bool is_without_loop(const struct sbx_thread *thread)
{
    return !thread->has_loop || thread->loop.site_pc == 0;
}

/* Do reads and writes of clients decide what a message of this thread is, during this call? */
static bool is_ours(const struct sbx_blocking *call)
{
    const struct sbx_thread *thread = call->thread;
    return thread != NULL && call->depth == 0 && thread->loop.entered == 0 &&
           (is_without_loop(thread) || serves_one(thread));
}

/* Can only a client's reads and writes begin or end a message of the thread? */
static inline bool follows_clients(const struct sbx_thread *thread)
{
    return SBX_LIKELY(!thread->has_loop && thread->loop.entered == 0);
}

static bool is_same(const struct sbx_work_place *a, const struct sbx_work_place *b)
{
    return a->pc == b->pc && a->sp == b->sp;
}

/* The thread has read from a client, so the place where it waited before is a place where it waits for work. */
static void learn_place(struct sbx_client_work *work)
{
    struct sbx_work_place last = work->last;
    for (uint32_t i = 0; i < SBX_WORK_PLACES; i++) {
        if (is_same(&work->places[i], &last)) {
            work->places[i].epoll_fd = last.epoll_fd;
            return;
        }
    }
    work->places[work->learned++ % SBX_WORK_PLACES] = last;
}

/* A client has asked a question of a thread whose messages are judged. Keeps errno. */
__attribute__((always_inline)) static inline void begin_for_client(struct sbx_thread *thread, bool serves,
                                                                   uint64_t now_ns)
{
    if (thread->loop.has_waited) {
        sbx_store_relaxed(&thread->loop.has_waited, false); /* relaxed: the watch thread only looks, here and below */
        learn_place(&thread->work);
    }
    if (serves) {
        sbx_serves_clients();
    }
    if (SBX_UNLIKELY(sbx_load_relaxed(&sbx_the_capture.has_clients) == 0)) { /* relaxed: this is only shown to users */
        sbx_store_relaxed(&sbx_the_capture.has_clients, 1);
    }
    sbx_message_open_at(thread, now_ns);
}

/* The main thread's loop has led to a client, if the thread waited for nothing else since. The client with the first
 * question waits as well, so a loop that was met only once is judged from here on. */
SBX_HOOK_SAFE void sbx_client_asked(struct sbx_thread *thread)
{
    struct sbx_message_loop *loop = &thread->loop;
    if (loop->site_pc != 0 && loop->elsewhere_run == 0) {
        loop->places[loop->place].is_clients = true;
        loop->leads_to_clients = loop->hits > 1;
        if (loop->hits == 1 && thread->entry->message_begin_ns == 0) {
            int saved_errno = errno;
            sbx_message_open(thread, sbx_thread_wall_ns(thread));
            errno = saved_errno;
        }
    }
    sbx_store_relaxed(&loop->question_in, thread->entry->message); /* relaxed: the watch thread only looks */
}

/* Open again the message that was open when the read began. */
static void go_on(struct sbx_thread *thread, uint64_t open_ns)
{
    sbx_store_release(&thread->entry->message_begin_ns, open_ns); /* order: release entry.message_begin_ns */
}

/* A read ends that is not the usual case of sbx_client_read_end(). */
SBX_NOINLINE static void read_ends_otherwise(struct sbx_blocking *call, int64_t result, int fd)
{
    struct sbx_thread *thread = call->thread;
    bool is_here = thread != NULL && thread == sbx_self && sbx_capture_is_ours() && sbx_call_entry(call) != NULL;
    bool is_judged = is_here && is_ours(call);
    uint64_t begin_ns = call->begin_ns, open_ns = call->open_ns;
    sbx_blocking_moved(call, result, fd);
    if (!is_here || !sbx_capture_is_open()) {
        return;
    }
    int saved_errno = errno;
    uint64_t now_ns = sbx_thread_clock_last_ns(&thread->clock); /* the time of the end above */
    bool has_waited = now_ns - begin_ns >= WAITED_NS;
    bool has_polled_for_it = thread->has_loop && is_without_loop(thread) && thread->loop.maybe_pc != 0;
    if (is_judged && open_ns != 0 && !(has_polled_for_it && result > 0)) {
        go_on(thread, open_ns);
        if (has_waited || result == 0 || (result > 0 && is_without_loop(thread))) {
            sbx_message_close(thread, begin_ns, false);
        }
    }
    if (is_judged && result > 0 && (has_waited || open_ns == 0 || is_without_loop(thread))) {
        sbx_store_relaxed(&thread->loop.maybe_pc, is_without_loop(thread) ? 0 : thread->loop.maybe_pc);
        begin_for_client(thread, !thread->has_loop || serves_one(thread), now_ns);
    }
    if (result > 0 && thread->has_loop && thread->loop.entered == 0) {
        sbx_client_asked(thread);
    }
    errno = saved_errno;
}

/* Most reads end with no other call around them and have no message to open again. The read is recorded before its
 * message begins. */
SBX_HOOK_SAFE SBX_NOINLINE void sbx_client_read_end(struct sbx_blocking *call, int64_t result, int fd)
{
    struct sbx_thread *thread = sbx_call_thread(call);
    uint64_t end_ns;
    if (SBX_UNLIKELY(!sbx_lone_call_may_end(call, thread, &end_ns) || !sbx_call_was_short(call, end_ns) ||
                     call->open_ns != 0 || !follows_clients(thread))) {
        read_ends_otherwise(call, result, fd);
        return;
    }
    sbx_lone_call_end(thread);
    sbx_leaf(thread, SBX_RECORD_LEAF, call->op, call->group);
    if (SBX_LIKELY(result > 0 && sbx_capture_is_open())) {
        begin_for_client(thread, true, end_ns);
    }
}

/* The main thread has answered in time. For what it does in the rest of its message, only the next client waits. */
SBX_HOOK_SAFE void sbx_client_answered(struct sbx_thread *thread, uint64_t now_ns)
{
    struct sbx_message_loop *loop = &thread->loop;
    uint32_t limit_ms = sbx_load_relaxed(&sbx_the_capture.control->in_force.slow_message_ms);
    if (loop->question_in == thread->entry->message &&
        now_ns - thread->entry->message_begin_ns < (uint64_t)limit_ms * 1000000u) {
        sbx_store_relaxed(&loop->question_in, 0); /* relaxed: the watch thread only looks */
    }
}

SBX_HOOK_SAFE SBX_NOINLINE void sbx_client_answer(const struct sbx_blocking *call)
{
    struct sbx_thread *thread = call->thread;
    if (is_ours(call) && is_without_loop(thread)) {
        int saved_errno = errno;
        sbx_message_close(thread, call->begin_ns, false);
        sbx_store_relaxed(&thread->loop.maybe_pc, 0); /* what was polled meanwhile was not a question */
        errno = saved_errno;
    } else if (thread != NULL && thread->has_loop && thread->entry->message_begin_ns != 0) {
        sbx_client_answered(thread, call->begin_ns);
    }
}

/* The message, if one is open, is over. Most messages take less than a millisecond; those are not recorded. */
static inline void end_for_client(struct sbx_thread *thread, uint64_t now_ns)
{
    uint64_t begin_ns = sbx_own_entry->message_begin_ns;
    if (begin_ns == 0) {
        return;
    }
    if (SBX_LIKELY(now_ns - begin_ns < SBX_SHORT_MESSAGE_NS)) {
        sbx_message_close_short(thread, now_ns);
    } else {
        int saved_errno = errno;
        sbx_message_close(thread, now_ns, false);
        errno = saved_errno;
    }
}

/* A call on a client begins that is not the usual case of sbx_client_begin(). `pc` and `sp` are those at which its hook
 * continues. */
SBX_NOINLINE static void begin_otherwise(struct sbx_blocking *call, uint32_t what, int fd, bool is_answer, uint64_t pc,
                                         uint64_t sp)
{
    sbx_blocking_enter(call, what, (uint64_t)fd + 1);
    if (call->thread != NULL) { /* the hook is the caller of the caller */
        sbx_call_is_at(call->thread, pc, sp);
    }
    call->open_ns = 0;
    if (is_answer) {
        sbx_client_answer(call);
    } else if (is_ours(call)) {
        struct sbx_thread_entry *entry = call->thread->entry;
        call->open_ns = entry->message_begin_ns;
        if (call->open_ns != 0) { /* the thread must not look hung while it waits for the client */
            sbx_store_release(&entry->message_begin_ns, 0); /* order: release entry.message_begin_ns */
        }
    }
}

/* One function for reads and writes, so that after either of them the code of both is in the caches. */
SBX_HOOK_SAFE SBX_NOINLINE void sbx_client_begin(struct sbx_blocking *call, uint32_t what, int fd, bool is_answer)
{
    struct sbx_thread *thread = sbx_self;
    uint64_t pc = (uint64_t)__builtin_return_address(0), sp = (uint64_t)__builtin_dwarf_cfa(), begin_ns;
    if (SBX_UNLIKELY(!sbx_lone_call_may_begin(thread, &begin_ns) || !follows_clients(thread) ||
                     (!is_answer && sbx_own_entry->message_begin_ns != 0))) {
        begin_otherwise(call, what, fd, is_answer, pc, sp);
        return;
    }
    if (is_answer) {
        end_for_client(thread, begin_ns);
    }
    call->open_ns = 0;
    sbx_lone_call_begin(thread, call, what, (uint64_t)fd + 1, 0, begin_ns, pc, sp);
}

SBX_HOOK_SAFE SBX_NOINLINE bool sbx_client_may_hand_on(uint32_t what)
{
    struct sbx_thread *thread = sbx_self;
    const struct sbx_thread_entry *entry = sbx_own_entry;
    uint64_t now_ns;
    if (SBX_UNLIKELY(!sbx_call_may_be_alone(thread) || !follows_clients(thread))) {
        return false;
    }
    if (entry->message_begin_ns == 0) { /* the rest of an answer: nothing needs the time */
        sbx_leaf(thread, SBX_RECORD_LEAF, sbx_call_op_of(what), sbx_call_group_of(what));
        return true;
    }
    if (SBX_UNLIKELY(!sbx_thread_clock_wall_at_once(&thread->clock, &now_ns) ||
                     sbx_logical_note_is_due(thread, now_ns))) {
        return false;
    }
    sbx_leaf(thread, SBX_RECORD_LEAF, sbx_call_op_of(what), sbx_call_group_of(what));
    end_for_client(thread, now_ns);
    return true;
}

/* Does the epoll set that the thread polls lead to work? Not if the thread knows a set that does, and polls another set
 * further in. */
static bool leads_to_work(const struct sbx_client_work *work, const struct sbx_work_place *here)
{
    bool knows_one = false;
    for (uint32_t i = 0; i < SBX_WORK_PLACES; i++) {
        const struct sbx_work_place *place = &work->places[i];
        if (place->pc == 0 || place->epoll_fd < 0) {
            continue;
        }
        if (place->epoll_fd == here->epoll_fd || here->sp >= place->sp) {
            return true;
        }
        knows_one = true;
    }
    return !knows_one;
}

static bool is_known(const struct sbx_client_work *work, const struct sbx_work_place *here)
{
    bool is_one = false;
    for (uint32_t i = 0; i < SBX_WORK_PLACES; i++) {
        is_one |= is_same(&work->places[i], here);
    }
    return is_one;
}

SBX_HOOK_SAFE void sbx_client_poll(struct sbx_thread *thread, const struct sbx_blocking *call, uint64_t pc, uint64_t sp,
                                   const struct sbx_polled *polled)
{
    struct sbx_client_work *work = &thread->work;
    struct sbx_work_place here = {
        .pc = pc, .sp = sp, .epoll_fd = polled->form == SBX_POLLED_EPOLL ? (int32_t)polled->count : -1};
    bool is_boundary = thread->entry->message_begin_ns == 0;
    if (!is_boundary && polled->waits) {
        int saved_errno = errno;
        is_boundary = polled->form == SBX_POLLED_ACCEPT || is_known(work, &here) ||
                      (polled->form == SBX_POLLED_EPOLL ? leads_to_work(work, &here) : sbx_polled_has_client(polled));
        if (is_boundary) {
            sbx_message_close(thread, call->begin_ns, false);
        }
        errno = saved_errno;
    }
    if (is_boundary) {
        sbx_store_relaxed(&thread->loop.has_waited, true);
        work->last = here;
    }
}

SBX_HOOK_SAFE void sbx_client_poll_of_loop(struct sbx_thread *thread, const struct sbx_blocking *call,
                                           const struct sbx_polled *polled)
{
    if (serves_one(thread) && polled->waits && thread->entry->message_begin_ns != 0 && sbx_polled_has_client(polled)) {
        sbx_message_close(thread, call->begin_ns, false);
    }
}

SBX_HOOK_SAFE SBX_NOINLINE void sbx_client_wait_at(struct sbx_thread *thread, uint64_t begin_ns, uint64_t pc,
                                                   uint64_t sp)
{
    struct sbx_work_place here = {.pc = pc, .sp = sp, .epoll_fd = -1};
    if (thread->loop.entered == 0 && is_known(&thread->work, &here)) {
        int saved_errno = errno;
        sbx_message_close(thread, begin_ns, false);
        sbx_store_relaxed(&thread->loop.has_waited, true);
        thread->work.last = here;
        errno = saved_errno;
    }
}

SBX_HOOK_SAFE SBX_NOINLINE bool sbx_client_wait_may_hand_on(uint8_t op, uint64_t pc, uint64_t sp)
{
    struct sbx_thread *thread = sbx_self;
    const struct sbx_work_place here = {.pc = pc, .sp = sp, .epoll_fd = -1};
    uint64_t now_ns;
    if (!sbx_call_may_be_alone(thread) || !follows_clients(thread) || sbx_own_entry->message_begin_ns != 0 ||
        !sbx_thread_clock_wall_at_once(&thread->clock, &now_ns)) {
        return false;
    }
    struct sbx_client_work *work = &thread->work;
    uint32_t since = SBX_WAITED_AT(now_ns) - work->waited_at;
    work->waited_at = SBX_WAITED_AT(now_ns);
    if (since >= SBX_WAITED_AT(sbx_load_relaxed(&sbx_the_capture.threshold_ns[SBX_GROUP_COND])) ||
        thread->loop.has_waited || !is_same(&work->last, &here) || sbx_logical_note_is_due(thread, now_ns)) {
        return false;
    }
    sbx_store_relaxed(&thread->loop.has_waited, true);
    sbx_leaf(thread, SBX_RECORD_LEAF, op, SBX_GROUP_COND);
    sbx_thread_clock_disarm(&thread->clock);
    return true;
}
