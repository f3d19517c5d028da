/* SPDX-License-Identifier: Apache-2.0 */
/* capture.c - what every capture point does: a sample when one is due, a record around a call that blocked.
 *
 * How a record is made lies in handler/, because the sample handler takes the same way. Nothing here allocates or
 * locks. */
#include "capture.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "process_barrier.h"
#include "raw_syscall.h"
#include "seat_turns.h"
#include "thread_seats.h"
#include "wake.h"

/* What the gate is before the start: shut, so that an interface of ours costs one branch. */
static uint32_t shut_gate[2];

struct sbx_capture sbx_the_capture = {.gate = shut_gate};

void sbx_capture_attach(struct sbx_recording_header *header)
{
    uint8_t *base = (uint8_t *)header;
    sbx_the_capture.header = header;
    sbx_the_capture.control = (struct sbx_control_page *)(base + SBX_CONTROL_AT);
    sbx_the_capture.modules = (struct sbx_module_entry *)(base + header->modules.at);
    sbx_the_capture.threads = (struct sbx_thread_entry *)(base + header->threads.at);
    sbx_the_capture.watches = (struct sbx_watch_entry *)(base + header->watches.at);
    sbx_callstack_table_init(&sbx_the_capture.table, header);
    sbx_ring_init(&sbx_the_capture.ring, header);
    sbx_providers_publish();
}

void sbx_capture_apply(const struct sbx_capture_settings *settings)
{
    /* relaxed: each is a number of its own; a record made under the old one is as good */
    sbx_store_relaxed(&sbx_the_capture.interval_ns, (uint64_t)settings->interval_us * 1000u);
    for (uint32_t group = 0; group < SBX_POINT_GROUPS_MAX; group++) {
        const struct sbx_point_limits *limits = &settings->limits[group];
        uint32_t interval_us =
            limits->interval_us > settings->interval_us ? limits->interval_us : settings->interval_us;
        uint32_t threshold_us = limits->threshold_us != 0 ? limits->threshold_us : settings->wait_min_us;
        sbx_store_relaxed(&sbx_the_capture.leaf_interval_ns[group], (uint64_t)interval_us * 1000u);
        sbx_store_relaxed(&sbx_the_capture.threshold_ns[group], (uint64_t)threshold_us * 1000u);
    }
}

SBX_HOOK_SAFE void sbx_capture_ring_bell(void)
{
    uint32_t *bell = &sbx_the_capture.control->bell;
    int saved_errno = errno;
    sbx_add_acq_rel(bell, 1); /* order: release bell - what the ringer stored before is seen by the woken */
    syscall(SYS_futex, bell, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    errno = saved_errno;
}

enum {
    ASKS_AN_INTERVAL = 8, /* how often the clock is asked: a sample is late by an eighth of the interval at most */
    STRIDE_MAX = 4096,    /* leaf calls between two looks: at 10 ns each, 40 us */
    STRIDE_CLOSED = 1000, /* while nothing is recorded */
};

/* The next count: twice or half the last, towards ASKS_AN_INTERVAL looks an interval. No division on this way. */
static void count_anew(struct sbx_thread *thread, uint64_t now_ns, uint64_t interval_ns)
{
    uint64_t elapsed_ns = now_ns - thread->asked_ns;
    uint32_t stride = thread->stride;
    if (elapsed_ns * (2 * ASKS_AN_INTERVAL) < interval_ns) {
        stride = stride < STRIDE_MAX / 2 ? stride * 2 : STRIDE_MAX;
    } else if (elapsed_ns > interval_ns) {
        stride = 0; /* the calls have become rare */
    } else if (elapsed_ns * ASKS_AN_INTERVAL > interval_ns * 2) {
        stride /= 2;
    }
    thread->asked_ns = now_ns;
    thread->stride = stride != 0 ? stride : 1;
    thread->entry->countdown = thread->counted_from = (int32_t)stride;
}

/* The count is out, or taken back: so many calls went by since it was set. */
static void charge_passes(struct sbx_thread *thread, uint8_t group)
{
    sbx_cost_passes(&thread->cost, group, thread->counted_from - thread->entry->countdown);
}

/* Record the calling thread's stack. Returns whether the watch thread must be woken. */
static bool take_sample(struct sbx_thread *thread, uint8_t kind, uint8_t op, const struct sbx_times *now)
{
    if (SBX_UNLIKELY(thread->stack_high == 0)) {
        sbx_thread_find_stack(thread);
    }
    struct sbx_walk_registers here;
    sbx_registers_here(&here);
    struct sbx_record record = {
        .kind = kind, .op = op, .begin_ns = now->wall_ns, .end_ns = now->wall_ns, .cpu_ns = now->cpu_ns};
    record.stack = sbx_capture_stack(thread, &here);
    if (SBX_UNLIKELY(sbx_load_relaxed(&sbx_the_capture.provider_count) != 0) && /* relaxed: a hint */
        sbx_provider_is_entered() && thread->logical.not_now && sbx_logical_defer(thread, kind, op, 0)) {
        thread->sampled_ns = now->wall_ns; /* it comes in a moment */
    } else {
        sbx_capture_put(thread, &record);
    }
    return sbx_load_relaxed(&sbx_the_capture.resting) == SBX_RESTS;
}

SBX_HOOK_SAFE SBX_NOINLINE void sbx_leaf_ask(struct sbx_thread *thread, uint8_t kind, uint8_t op, uint8_t group)
{
    if (sbx_thread_is_inside(thread) || !sbx_capture_is_open()) {
        if (SBX_UNLIKELY(!sbx_capture_is_ours())) {
            sbx_thread_become(SBX_THREAD_GONE); /* a child that no fork() made: the entry is its parent's */
            return;
        }
        thread->entry->countdown = thread->counted_from = STRIDE_CLOSED;
        return;
    }
    int saved_errno = errno;
    bool was_resting = false;
    if (SBX_UNLIKELY(thread->call_depth != 0)) {
        sbx_calls_forget(thread, (uint64_t)__builtin_dwarf_cfa()); /* we are in none that does not lie around us */
    }
    sbx_thread_enter(thread);
    charge_passes(thread, group);
    sbx_store_relaxed(&thread->cost.asks, thread->cost.asks + 1); /* relaxed: statistics */
    uint64_t interval_ns = sbx_load_relaxed(&sbx_the_capture.leaf_interval_ns[group]);
    struct sbx_times now = {.wall_ns = sbx_thread_wall_ns(thread)};
    if (now.wall_ns - thread->sampled_ns >= interval_ns) {
        now = sbx_thread_times(thread);
        was_resting = take_sample(thread, kind, op, &now);
        sbx_store_relaxed(&thread->cost.group[group].captures, thread->cost.group[group].captures + 1);
        if (SBX_UNLIKELY(sbx_cost_capture(&thread->cost, SBX_COST_LEAF))) {
            sbx_cost_timed(&thread->cost, SBX_COST_LEAF, sbx_thread_times(thread).cpu_ns - now.cpu_ns);
        }
    }
    count_anew(thread, now.wall_ns, interval_ns);
    sbx_thread_leave(thread);
    if (SBX_UNLIKELY(was_resting)) {
        sbx_capture_ring_bell();
    }
    errno = saved_errno;
}

SBX_HOOK_SAFE SBX_NOINLINE void sbx_leaf_of_anybody(uint8_t kind, uint8_t op, uint8_t group)
{
    struct sbx_thread *thread = sbx_self;
    if (SBX_LIKELY(sbx_thread_is_registered(thread))) {
        sbx_leaf_ask(thread, kind, op, group);
    } else if (thread == NULL && sbx_capture_is_open()) {
        if (sbx_thread_register_self() == NULL && sbx_is_seatless(sbx_own_entry)) {
            sbx_own_entry->countdown = SBX_SEATLESS_STRIDE;
        }
    }
}

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

SBX_HOOK_SAFE void sbx_shield_end(struct sbx_thread *thread)
{
    if (thread != NULL && thread == sbx_self && sbx_capture_is_ours()) { /* not another's, where a coroutine moved */
        /* relaxed: a late look only spares us one signal */
        sbx_store_relaxed(&thread->blocking, thread->call_depth != 0 ? SBX_BLOCKING_CALL : SBX_BLOCKING_NOT);
    }
}

/* A wait begins while seats are short. True: the thread has no seat for it, given back just now or none before, and takes none. */
SBX_NOINLINE static bool begins_without_seat(struct sbx_blocking *call, uint8_t group, uint8_t kind, uint8_t op,
                                             uint64_t object, uint32_t peer)
{
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
                                  .kind = kind,
                                  .op = op,
                                  .group = group};
    return true;
}

/* What waits for a handler to be called, and cannot be made once more when ours was (sbx_call_was_cut()). */
static inline uint32_t how_of(uint8_t op)
{
    return op == SBX_OP_PAUSE || op == SBX_OP_SIGSUSPEND ? SBX_BLOCKING_ALWAYS : SBX_BLOCKING_CALL;
}

SBX_HOOK_SAFE SBX_NOINLINE void sbx_blocking_begin(struct sbx_blocking *call, uint8_t group, uint8_t kind, uint8_t op,
                                                   uint64_t object, uint32_t peer)
{
    if (SBX_UNLIKELY(sbx_load_relaxed(&sbx_seats_are_short) != 0) && /* relaxed: a hint */
        begins_without_seat(call, group, kind, op, object, peer)) {
        return;
    }
    struct sbx_thread *thread = sbx_self;
    call->shield = NULL;
    if (SBX_UNLIKELY(thread == NULL) && sbx_capture_is_open()) {
        thread = sbx_thread_register_self();
    }
    if (!sbx_thread_is_registered(thread) || !sbx_capture_is_open()) {
        call->thread = NULL;
        sbx_capture_ask_late(group);
        return;
    }
    /* Also when a handler of the host's has interrupted our own code. relaxed: a call that begins meanwhile is recorded once
     * more or less, and shielded either way */
    if (SBX_UNLIKELY((sbx_load_relaxed(&sbx_the_capture.quiet_groups) & SBX_POINT_BIT(group)) != 0 ||
                     sbx_thread_is_inside(thread))) {
        call->thread = NULL;
        call->shield = thread;
        sbx_thread_clock_disarm(&thread->clock);
        keep_signal_away(thread, how_of(op));
        return;
    }
    struct sbx_thread_entry *entry = thread->entry;
    call->thread = thread;
    call->kind = kind;
    call->op = op;
    call->group = group;
    call->object = object;
    call->peer = peer;
    call->wait = 0;
    call->is_loop = false;
    call->begin_ns = sbx_thread_wall_ns(thread);
    if (SBX_UNLIKELY(!sbx_calls_push(thread, call))) {
        call->thread = NULL;
        return;
    }
    sbx_thread_clock_disarm(&thread->clock);
    sbx_call_is_at(thread, call, (uint64_t)__builtin_return_address(0), (uint64_t)__builtin_dwarf_cfa());
    if (SBX_UNLIKELY(sbx_load_relaxed(&sbx_the_capture.provider_count) != 0)) { /* relaxed: a hint */
        sbx_logical_note_call(thread, call);
    }
    entry->call_op = op;
    entry->call_object = object;
    entry->call_peer = peer;
    entry->call_begin_ns = call->begin_ns;
    entry->call_wait = 0;
    sbx_store_release(&entry->call_kind, kind); /* order: release entry.call - the fields above are whole */
    keep_signal_away(thread, how_of(op));
}

static bool is_local_socket(int fd)
{
    int domain = 0;
    socklen_t bytes = sizeof domain;
    return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &bytes) == 0 && domain == AF_UNIX;
}

SBX_HOOK_SAFE uint8_t sbx_class_of_mode(uint32_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFREG:
        return SBX_FD_REGULAR;
    case S_IFDIR:
        return SBX_FD_DIRECTORY;
    case S_IFIFO:
        return SBX_FD_PIPE;
    case S_IFSOCK:
        return SBX_FD_SOCKET;
    case S_IFCHR:
        return SBX_FD_TTY; /* terminals are what blocks among them; devices of other kinds rarely do */
    case S_IFBLK:
        return SBX_FD_DEVICE;
    default:
        return SBX_FD_OTHER;
    }
}

SBX_HOOK_SAFE uint8_t sbx_classify_fd(int fd)
{
    struct stat status;
    if (fd < 0 || fstat(fd, &status) != 0) {
        return SBX_FD_UNKNOWN;
    }
    uint8_t class_ = sbx_class_of_mode(status.st_mode);
    return class_ == SBX_FD_SOCKET && is_local_socket(fd) ? SBX_FD_UNIX : class_;
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
    charge_passes(thread, call->group);
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
    if (thread == SBX_THREAD_GONE || !sbx_capture_is_open() ||
        (sbx_load_relaxed(&sbx_the_capture.quiet_groups) & SBX_POINT_BIT(call->group)) != 0 || /* relaxed: a hint */
        sbx_now_ns() - call->begin_ns < sbx_load_relaxed(&sbx_the_capture.threshold_ns[call->group])) {
        return;
    }
    if (thread == NULL) {
        thread = sbx_thread_register_self();
    }
    if (thread == NULL) {
        sbx_count_drop(SBX_DROP_NO_THREAD);
    } else if (!sbx_thread_is_inside(thread)) {
        record_call(thread, call, amount, failed, fd);
    }
}

/* Most calls do not block for as long as their group's threshold: those cost two clocks and a few stores. errno is the
 * call's own; what changes it lies behind the calls that keep it. */
SBX_HOOK_SAFE void sbx_blocking_end(struct sbx_blocking *call, uint64_t amount, bool failed, int fd)
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
    if (SBX_UNLIKELY(call->wait != 0)) {
        sbx_wait_leave(call);
    }
    sbx_calls_pop(thread, call);
    if (SBX_LIKELY(end_ns - call->begin_ns < sbx_load_relaxed(&sbx_the_capture.threshold_ns[call->group]))) {
        sbx_leaf(thread, SBX_RECORD_LEAF, call->op, call->group);
    } else if (sbx_capture_is_open()) {
        record_call(thread, call, amount, failed, fd);
    }
}
