/* SPDX-License-Identifier: Apache-2.0 */
/* sampler.c - decides which threads are looked at and which are signalled, and reads the stacks of blocked threads. */
#include "sampler.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "call_number.h"
#include "client_sockets.h"
#include "clock.h"
#include "fd_class.h"
#include "frame_walker.h"
#include "kernel_counts.h"
#include "logical_points.h"
#include "look_turns.h"
#include "pages.h"
#include "sample_run.h"
#include "sample_signal.h"
#include "stack_copy.h"
#include "the_capture.h"
#include "thread_registry.h"
#include "thread_where.h"
#include "watch_writer.h"

enum {
    ANSWER_WAIT_US = 12000, /* wait for a running thread at a trigger: a little more than a tick of 100 Hz */
    /* A thread's samples of itself are all at its calls, so they say little about the time between two calls. So after
     * this many gaps it is also asked by signal, which samples any instruction and takes 2 us. */
    UNBIASED_GAPS = 4,
    /* The same limit as a time, however large the governor has made the gaps. With it, a message that may become a
     * stall of some hundred milliseconds has enough such looks to be judged (SBX_UNBIASED_ENOUGH in triage/verdict), at
     * 10 us each. At most SBX_LOOKS_A_TICK of them in a tick. */
    UNBIASED_IN_LONG_NS = 30000000,
    /* A sleeping thread that serves no message is looked at after this many gaps. The workers of a pool sleep and wake
     * all the time, their points record each sleep at its end, and a trigger looks at all threads. */
    SLEEP_GAPS = 20,
    FAR_TICK_NS = 50000000, /* ticks this far apart miss messages of that length: threads get standing questions */
    CPU_NOISE_NS = 10000,   /* less CPU time since the last look: it does not run (as in btrace, async-profiler) */
};
#define READY_NS UINT64_C(10000000000) /* a thread that was not seen for this long counts as sleeping */

static struct sbx_look_turns look_turns;

static struct {
    struct sbx_walk walk;
    struct sbx_walk_cache cache;
    uint8_t stack_copy[SBX_STACK_COPY_BYTES];
} * observer;

int sbx_sampler_start(void)
{
    sbx_copy_stack_start();
    sbx_kernel_counts_start();
    if (observer == NULL) {
        observer = sbx_pages_map(sizeof *observer);
    }
    return observer != NULL ? sbx_sample_signal_start() : 0;
}

/* Is this a possible place? The stack pointer is in the known stack, or the code is in a module (a coroutine has
 * another stack, but runs some code). Other values come from an emulator (qemu-user shows its own stack) or a
 * namespace. */
static bool is_believable(const struct sbx_thread *thread, const struct sbx_where *where)
{
    if (sbx_thread_is_on_own_stack(thread, where->sp)) {
        return true;
    }
    sbx_store_relaxed(&sbx_watch_inside, 1); /* keeps the map in use: see module_map.h */
    sbx_order_with_handler();
    const struct sbx_code_map *map = sbx_load_acquire(&sbx_the_capture.map); /* order: acquire code_map */
    bool is_code = map != NULL && sbx_code_map_find(map, where->pc) != NULL;
    sbx_store_release(&sbx_watch_inside, 0); /* order: release inside */
    return is_code;
}

/* Copy the thread's stack from sp up. The kernel makes the copy, so when the thread ends meanwhile this is an error,
 * not a fault. */
static size_t copy_stack(const struct sbx_thread *thread, uint64_t sp)
{
    uint64_t most = SBX_STACK_COPY_BYTES;
    if (sp >= thread->stack_low && sp < thread->stack_high && thread->stack_high - sp < most) {
        most = thread->stack_high - sp;
    }
    return sbx_copy_stack(sp, most, observer->stack_copy);
}

/* The copied stack of a blocked thread, and up to two places where a walk may begin: where the kernel says that it
 * sleeps, and the hook of its call. pc 0: not known. */
struct sleeper {
    struct sbx_stack_window window;
    uint64_t pc, sp;
    uint64_t hook_pc, hook_sp;
    uint64_t call_begin_ns; /* begin of its hooked call; 0: none, or another call by now */
};

static void walk_from(const struct sleeper *sleeper, uint64_t pc, uint64_t sp, bool is_exact, uint32_t epoch)
{
    struct sbx_walk_registers registers = {.pc = pc, .sp = sp, .pc_is_exact = is_exact};
    const struct sbx_code_map *map = sbx_load_acquire(&sbx_the_capture.map); /* order: acquire code_map */
    sbx_walk_stack(map, &observer->cache, &sbx_the_capture.table, epoch, &sleeper->window, &registers, &observer->walk);
}

/* Walk the copied stack and intern it, without our own frames. If the walk from the system call does not reach the root
 * but the walk from the hook does, the second one is used. If neither does, the longer one is used. */
static uint32_t walk_copy(const struct sbx_thread *thread, const struct sleeper *sleeper)
{
    sbx_store_relaxed(&sbx_watch_inside, 1); /* keeps the map in use: see module_map.h */
    sbx_order_with_handler();
    const struct sbx_walk *walk = &observer->walk;
    uint32_t epoch = sbx_callstack_epoch(&sbx_the_capture.table);
    uint32_t count = 0;
    if (sleeper->pc != 0) {
        walk_from(sleeper, sleeper->pc, sleeper->sp, true, epoch);
        count = walk->count;
    }
    if (sleeper->hook_pc != 0 && (sleeper->pc == 0 || walk->end != SBX_WALK_COMPLETE)) {
        walk_from(sleeper, sleeper->hook_pc, sleeper->hook_sp, false, epoch);
        if (walk->end != SBX_WALK_COMPLETE && walk->count < count) {
            walk_from(sleeper, sleeper->pc, sleeper->sp, true, epoch);
        }
    }
    sbx_store_release(&sbx_watch_inside, 0); /* order: release inside */
    if (walk->end != SBX_WALK_COMPLETE) {
        sbx_count_drop(SBX_DROP_TRUNCATED);
    }
    uint32_t stack = sbx_walk_intern(walk, &sbx_the_capture.table, epoch);
    return SBX_LIKELY(sbx_load_relaxed(&sbx_the_capture.provider_count) == 0) /* relaxed: a hint */
               ? stack
               : sbx_logical_append_noted(thread, sleeper->call_begin_ns, epoch, stack);
}

/* Put a record of the repeated looks at a thread. */
static void end_observed_run(const struct sbx_thread *thread)
{
    struct sbx_record record;
    if (sbx_run_tell(&thread->entry->observed, thread->index, &record)) {
        sbx_watch_put(&record);
    }
    sbx_run_end(&thread->entry->observed);
}

static void put_observed(struct sbx_thread *thread, struct sbx_record *record)
{
    struct sbx_thread_entry *entry = thread->entry;
    record->thread = thread->index;
    record->alloc_count = entry->alloc_count;
    record->alloc_bytes = entry->alloc_bytes;
    record->message = entry->message;
    record->cpu_ns = sbx_thread_cpu_ns(thread->tid);
    if (record->stack != SBX_STACK_NONE) {
        sbx_store_release(&entry->last_stack,
                          record->stack); /* order: release entry.last_stack - its nodes are there */
    }
    sbx_add_relaxed(&sbx_the_capture.header->captures_observed, 1);
    if (sbx_run_extend(&entry->observed, record)) {
        return; /* still the same */
    }
    end_observed_run(thread);
    sbx_watch_put(record);
    sbx_run_begin(&entry->observed, record);
}

/* Put a record of who awaits what the thread runs, as noted at the begin of the call. */
static void put_awaits(struct sbx_thread *thread, const struct sleeper *sleeper, uint64_t now_ns)
{
    struct sbx_record record;
    if (SBX_UNLIKELY(sbx_load_relaxed(&sbx_the_capture.has_awaits) != 0) && /* relaxed: a hint */
        sbx_awaits_tell_noted(thread, sleeper->call_begin_ns, now_ns, &record)) {
        record.thread = thread->index;
        record.alloc_count = thread->entry->alloc_count;
        record.alloc_bytes = thread->entry->alloc_bytes;
        sbx_watch_put(&record);
    }
}

/* Fill `sleeper` for a thread that is at `where` according to the kernel. When `where` is NULL, only the hook is known.
 * False: nothing can be read, or the copy mixes two moments. */
static bool find_sleeper(const struct sbx_thread *thread, const struct sbx_where *where, uint64_t call_begin_ns,
                         struct sleeper *sleeper)
{
    const struct sbx_thread_entry *entry = thread->entry;
    struct sbx_where again;
    *sleeper = (struct sleeper){.call_begin_ns = call_begin_ns};
    if (call_begin_ns != 0) {
        sleeper->hook_pc = sbx_load_relaxed(&thread->call_pc);
        sleeper->hook_sp = sbx_load_relaxed(&thread->call_sp);
    }
    uint64_t low = where != NULL ? where->sp : sleeper->hook_sp;
    if (where == NULL && (low < thread->stack_low || low >= thread->stack_high)) {
        return false;
    }
    size_t copied = copy_stack(thread, low);
    if (copied < 16) {
        return false;
    }
    sleeper->window = (struct sbx_stack_window){
        .lo = low, .hi = low + copied, .delta = (int64_t)((uint64_t)observer->stack_copy - low)};
    /* The thread may have woken meanwhile. */
    if (where != NULL) {
        if (!sbx_where_read(thread->tid, &again) || !again.is_blocked || again.sp != where->sp ||
            again.pc != where->pc) {
            return false;
        }
        sleeper->pc = where->pc;
        sleeper->sp = where->sp;
    }
    /* order: acquire entry.call - still in the same call, so the copied frame is the hook's */
    if (sbx_load_acquire(&entry->call_kind) == SBX_RECORD_NONE ||
        sbx_load_relaxed(&entry->call_begin_ns) != call_begin_ns || sleeper->hook_sp < low ||
        sleeper->hook_sp >= sleeper->window.hi) {
        sleeper->hook_pc = 0;
        sleeper->call_begin_ns = 0;
    }
    return sleeper->pc != 0 || sleeper->hook_pc != 0;
}

/* The class of a descriptor of that thread; the watch thread may have a descriptor table of its own. */
static uint8_t classify_descriptor_of(uint32_t tid, int fd)
{
    char path[64], protocol[16] = "";
    struct stat status;
    snprintf(path, sizeof path, "/proc/self/task/%u/fd/%d", tid, fd);
    if (fd < 0 || stat(path, &status) != 0) {
        return SBX_FD_UNKNOWN;
    }
    bool is_local = S_ISSOCK(status.st_mode) &&
                    getxattr(path, "system.sockprotoname", protocol, sizeof protocol - 1) > 0 &&
                    strncmp(protocol, "UNIX", 4) == 0;
    return is_local ? SBX_FD_UNIX : sbx_class_of_mode(status.st_mode);
}

/* The class of the descriptor that a sleeping thread's call waits for, if it waits for one: the call's first argument,
 * or the first descriptor that it polls. */
static uint8_t class_of_descriptor(uint32_t tid, const struct sbx_where *where)
{
    struct pollfd polled;
    switch (where->call) {
    case SYS_read:
    case SYS_write:
    case SYS_pread64:
    case SYS_pwrite64:
    case SYS_readv:
    case SYS_writev:
    case SYS_preadv:
    case SYS_pwritev:
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_recvmmsg:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_sendmmsg:
    case SYS_connect:
    case SYS_accept:
    case SYS_accept4:
    case SYS_ioctl:
    case SYS_splice:
        return classify_descriptor_of(tid, (int)where->arguments[0]);
#ifdef SYS_poll
    case SYS_poll:
#endif
    case SYS_ppoll:
        return where->arguments[1] > 0 &&
                       sbx_copy_stack(where->arguments[0], sizeof polled, observer->stack_copy) == sizeof polled
                   ? classify_descriptor_of(tid, (memcpy(&polled, observer->stack_copy, sizeof polled), polled.fd))
                   : SBX_FD_UNKNOWN;
    default:
        return SBX_FD_UNKNOWN;
    }
}

/* The tid of a joined thread, which may have become known only after the wait had begun. */
static uint32_t joined_thread(uint64_t handle)
{
    uint32_t count = sbx_thread_count();
    for (uint32_t i = 0; i < count; i++) {
        const struct sbx_thread *thread = sbx_thread_at(i);
        if (thread != NULL && sbx_load_relaxed(&thread->handle) == handle) {
            return thread->tid;
        }
    }
    return 0;
}

/* Fill in the call that the thread is in, as its point described it. */
static void describe_call(const struct sbx_thread *thread, struct sbx_record *record)
{
    const struct sbx_thread_entry *entry = thread->entry;
    record->op = (uint8_t)entry->call_op;
    record->object = entry->call_object;
    record->peer = entry->call_peer;
    record->wait = entry->call_wait;
    if (record->peer == 0 && (record->op == SBX_OP_JOIN || record->op == SBX_OP_TIMEDJOIN)) {
        record->peer = joined_thread(record->object);
    }
}

/* A thread runs inside a hooked call: it spins, or the kernel works for it. The frames of the hook's callers do not
 * move meanwhile, so the stack can be read from there on. A call that ends before it was read has no stack. The record
 * is still useful, because a thread is never interrupted there. */
static void observe_in_call(struct sbx_thread *thread, uint64_t now_ns, uint8_t flags)
{
    struct sbx_record record = {
        .kind = SBX_RECORD_BLOCKED, .flags = flags | SBX_FLAG_IN_CALL, .begin_ns = now_ns, .end_ns = now_ns};
    struct sleeper sleeper;
    uint64_t call_begin_ns = sbx_load_relaxed(&thread->entry->call_begin_ns);
    describe_call(thread, &record);
    if (record.op == SBX_OP_NONE) {
        return;
    }
    if (find_sleeper(thread, NULL, call_begin_ns, &sleeper)) {
        record.stack = walk_copy(thread, &sleeper);
    }
    put_observed(thread, &record);
    put_awaits(thread, &sleeper, now_ns);
}

/* Does the main thread read from a terminal, in a call that no point sees? Then its message waits for a key. */
static void note_key(struct sbx_thread *thread, const struct sbx_where *where)
{
    if (thread->has_loop && where->call == SYS_read && sbx_is_terminal_of(thread->tid, (int)where->arguments[0])) {
        sbx_store_relaxed(&thread->loop.seen_key_in, thread->entry->message); /* relaxed: late by one look */
    }
}

/* The operation of a call that writes to a client, of which the hook has seen no more than the begin (client_message.h).
 * SBX_OP_NONE: it is none. */
static uint8_t op_of_answer(const struct sbx_where *where)
{
    uint8_t op = where->call == SYS_write     ? SBX_OP_WRITE
                 : where->call == SYS_writev  ? SBX_OP_WRITEV
                 : where->call == SYS_sendto  ? SBX_OP_SEND
                 : where->call == SYS_sendmsg ? SBX_OP_SENDMSG
                                              : SBX_OP_NONE;
    return op != SBX_OP_NONE && sbx_is_client((int)where->arguments[0]) ? op : SBX_OP_NONE;
}

/* Fill in the call that the thread is in according to the kernel, and that no point has described. NULL: not known. */
static void describe_unseen_call(const struct sbx_where *where, struct sbx_record *record)
{
    uint8_t answer = where != NULL ? op_of_answer(where) : SBX_OP_NONE;
    record->op = SBX_OP_SYSCALL;
    if (where != NULL && where->call < 0) {
        record->op = SBX_OP_PAGE_FAULT;
    } else if (answer != SBX_OP_NONE) {
        record->op = answer;
        record->object = where->arguments[0] + 1;
    } else if (where != NULL) {
        record->amount = sbx_recorded_call_number((uint64_t)where->call);
    }
}

/* Look at one thread that seems to be blocked. Returns false when it runs. */
static bool observe(struct sbx_thread *thread, uint64_t now_ns, uint8_t flags)
{
    struct sbx_where where;
    uint32_t call_kind = sbx_load_acquire(&thread->entry->call_kind); /* order: acquire entry.call */
    uint64_t call_begin_ns = call_kind != SBX_RECORD_NONE ? sbx_load_relaxed(&thread->entry->call_begin_ns) : 0;
    bool is_told = sbx_where_read(thread->tid, &where);
    if (is_told && !where.is_blocked) {
        if (call_kind != SBX_RECORD_NONE) {
            observe_in_call(thread, now_ns, flags);
        }
        return false;
    }
    is_told = is_told && is_believable(thread, &where);
    struct sbx_record record = {.kind = SBX_RECORD_BLOCKED, .flags = flags, .begin_ns = now_ns, .end_ns = now_ns};
    if (call_kind != SBX_RECORD_NONE) {
        describe_call(thread, &record);
    } else {
        describe_unseen_call(is_told ? &where : NULL, &record);
        if (is_told) {
            note_key(thread, &where);
        }
    }
    record.fd_class = is_told ? class_of_descriptor(thread->tid, &where) : SBX_FD_UNKNOWN;
    struct sleeper sleeper;
    if (!find_sleeper(thread, is_told ? &where : NULL, call_begin_ns, &sleeper)) {
        sbx_count_drop(SBX_DROP_OBSERVE_FAILED);
        return true;
    }
    record.stack = walk_copy(thread, &sleeper);
    put_observed(thread, &record);
    put_awaits(thread, &sleeper, now_ns);
    return true;
}

/* Is a look at this call due? Each call gets one look. It gets another one every `blocked_refresh_ms` if its length
 * matters (`is_lasting`): while the thread's message is open, because that may become a stall, and while an answer to a
 * client may hang of which only the begin was followed. */
static bool wants_look(const struct sbx_thread *thread, uint64_t key, const struct sbx_capture_settings *settings,
                       bool is_lasting, uint64_t now_ns)
{
    if (key != thread->seen_call_begin_ns) {
        return true;
    }
    return is_lasting && now_ns - thread->seen_ns >= (uint64_t)settings->blocked_refresh_ms * 750000u;
}

/* Has the thread's message been open for so long that it may be judged? */
static bool is_long_at_it(const struct sbx_thread *thread, uint64_t now_ns)
{
    enum {
        LONG_NS = 50000000
    };
    uint64_t begin_ns = sbx_load_relaxed(&thread->entry->message_begin_ns); /* relaxed: a late look is good enough */
    return begin_ns != 0 && now_ns > begin_ns && now_ns - begin_ns >= LONG_NS;
}

/* May answers to clients be followed lightly until the next tick? musl has no rows: of an answer that hangs, and that its
 * hook has handed on, no stack could be walked there. */
static bool may_follow_lightly(const struct sbx_capture_settings *settings)
{
    enum {
        WIDE_US = 32000 /* an interval that only the governor sets, when calls cost too much */
    };
#ifdef __GLIBC__
    const bool has_rows = true;
#else
    const bool has_rows = false;
#endif
    return has_rows && sbx_budget_of(settings) != 0 && settings->interval_us >= WIDE_US;
}

void sbx_sampler_lies_down(void)
{
    sbx_store_relaxed(&sbx_the_capture.follows_lightly, 0); /* relaxed: late by a call or two */
}

/* Look at one thread. Returns the CPU time that it has used since the last look, if known. */
static uint64_t step_thread(struct sbx_thread *thread, const struct sbx_capture_settings *settings, bool is_far,
                            uint64_t now_ns)
{
    uint32_t call_kind = sbx_load_acquire(&thread->entry->call_kind);             /* order: acquire entry.call */
    bool is_in_message = sbx_load_relaxed(&thread->entry->message_begin_ns) != 0; /* relaxed: wrong by one look */
    sbx_sample_review(thread, now_ns);
    if (is_far && (thread->has_loop || is_in_message)) {
        sbx_sample_ask_ahead(thread, now_ns);
    }
    if (call_kind == SBX_RECORD_IDLE) {
        return 0; /* the loop waits for work: nothing is wrong, and no look is needed */
    }
    bool is_long = is_long_at_it(thread, now_ns);
    if (thread->has_loop || is_long) {
        sbx_kernel_counts_look(thread, now_ns);
    }
    uint64_t gap_ns = (uint64_t)settings->gap_us * 750u; /* 3/4 of it: ticks have that much jitter (watch.c) */
    uint64_t sleep_ns = is_in_message ? gap_ns : SLEEP_GAPS * gap_ns;
    uint64_t unbiased_ns = UNBIASED_GAPS * gap_ns;
    if (is_long && look_turns.looks > 0 && unbiased_ns > UNBIASED_IN_LONG_NS) {
        unbiased_ns = UNBIASED_IN_LONG_NS;
    }
    if (call_kind != SBX_RECORD_NONE) {
        uint64_t begin_ns = sbx_load_relaxed(&thread->entry->call_begin_ns);
        if (now_ns > begin_ns && now_ns - begin_ns >= sleep_ns &&
            wants_look(thread, begin_ns, settings, is_in_message, now_ns)) {
            if (!is_in_message && !sbx_look_turns_take_sleeper(&look_turns, thread->index)) {
                return 0;
            }
            thread->seen_call_begin_ns = begin_ns;
            thread->seen_ns = now_ns;
            observe(thread, now_ns, 0);
        } else if ((is_in_message || look_turns.looks > 0) && now_ns > begin_ns && now_ns - begin_ns < gap_ns &&
                   now_ns - sbx_load_relaxed(&thread->signal_sent_ns) >= unbiased_ns &&
                   thread->seen_call_begin_ns != begin_ns) {
            /* Perhaps one of many short calls: the share of looks that find the thread in a call is the share of its
             * time in calls. */
            look_turns.looks -= look_turns.looks > 0 ? 1 : 0;
            thread->seen_call_begin_ns = begin_ns;
            sbx_store_relaxed(&thread->signal_sent_ns, now_ns);
            observe_in_call(thread, now_ns, 0);
        }
        return 0;
    }
    uint64_t cpu_ns = sbx_thread_cpu_ns(thread->tid);
    uint64_t ran_ns = cpu_ns - thread->seen_cpu_ns;
    bool is_early = sbx_is_of_pool(thread) && !is_long && settings->interval_us > settings->gap_us &&
                    cpu_ns - sbx_load_relaxed(&thread->sampled_cpu_ns) < (uint64_t)settings->interval_us * 1000u;
    if (ran_ns > CPU_NOISE_NS && cpu_ns > thread->seen_cpu_ns) {
        thread->seen_cpu_ns = cpu_ns;
        sbx_kernel_counts_look(thread, now_ns);
        thread->stirred_ns = now_ns;
        uint64_t last_ns = sbx_load_relaxed(&thread->entry->last_record_ns);
        bool is_due = (now_ns > last_ns && now_ns - last_ns >= gap_ns) ||
                      now_ns - sbx_load_relaxed(&thread->signal_sent_ns) >= unbiased_ns;
        if ((settings->points & SBX_POINT_BIT(SBX_GROUP_ASYNC)) != 0 && is_due && !is_early && look_turns.looks > 0) {
            struct sbx_where where;
            /* Where signals are made in calls: the thread may sleep in a call without a point, which the kernel would
             * not restart. So look first. */
            bool is_safe = sbx_load_relaxed(&sbx_the_capture.calls_are_safe) != 0;
            if ((is_safe || (sbx_where_read(thread->tid, &where) && !where.is_blocked)) &&
                sbx_sample_ask(thread, now_ns, cpu_ns, 0)) {
                look_turns.looks--;
            }
        }
        return ran_ns;
    }
    /* No CPU time, and not in a hooked call: asleep in another call, or starved. The call may be an answer that was
     * handed on, of which nobody else will tell how long it hung. */
    bool may_answer = sbx_load_relaxed(&sbx_the_capture.follows_lightly) != 0 && sbx_is_of_pool(thread) &&
                      !sbx_load_relaxed(&thread->loop.has_waited); /* relaxed: hints, all */
    bool is_lasting = is_in_message || may_answer;
    if (now_ns - thread->stirred_ns >= (is_lasting ? gap_ns : sleep_ns) &&
        wants_look(thread, cpu_ns | 1, settings, is_lasting, now_ns) &&
        (is_in_message || sbx_look_turns_take_sleeper(&look_turns, thread->index))) {
        thread->seen_call_begin_ns = cpu_ns | 1; /* the CPU time identifies the sleep */
        thread->seen_ns = now_ns;
        if (!observe(thread, now_ns, 0)) {
            thread->seen_call_begin_ns = 0;
        }
    }
    return 0;
}

uint64_t sbx_sampler_step(const struct sbx_capture_settings *settings, uint64_t tick_ns, uint64_t now_ns)
{
    uint32_t count = sbx_thread_count();
    uint64_t ran_ns = 0;
    bool asks = (settings->points & SBX_POINT_BIT(SBX_GROUP_ASYNC)) != 0, is_far = asks && tick_ns >= FAR_TICK_NS;
    if (!sbx_ring_is_open(&sbx_the_capture.ring)) {
        return 0; /* recording has not begun */
    }
    sbx_store_relaxed(&sbx_the_capture.follows_lightly,
                      may_follow_lightly(settings)); /* relaxed: late by a call or two */
    sbx_sample_begin_tick(now_ns, tick_ns);
    if (!asks) {
        sbx_sample_withdraw_ahead();
    }
    sbx_look_turns_begin(&look_turns);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t index = (look_turns.first + i) % count;
        struct sbx_thread *thread = sbx_thread_at(index);
        if (thread != NULL) {
            ran_ns += step_thread(thread, settings, is_far, now_ns);
        }
    }
    sbx_sample_arm();
    sbx_look_turns_end(&look_turns, count);
    return ran_ns;
}

static bool was_seen_lately(const struct sbx_thread *thread, uint64_t now_ns)
{
    uint64_t last_ns = sbx_load_relaxed(&thread->entry->last_record_ns); /* relaxed: a hint */
    last_ns = last_ns > thread->stirred_ns ? last_ns : thread->stirred_ns;
    return last_ns != 0 && (now_ns < last_ns || now_ns - last_ns < READY_NS);
}

bool sbx_sampler_finds_ready(const struct sbx_capture_settings *settings, uint64_t now_ns)
{
    bool asks = (settings->points & SBX_POINT_BIT(SBX_GROUP_ASYNC)) != 0;
    uint32_t count = asks && sbx_ring_is_open(&sbx_the_capture.ring) ? sbx_thread_count() : 0;
    unsigned looks = SBX_LOOKS_A_TICK;
    for (uint32_t i = 0; i < count && looks > 0; i++) {
        const struct sbx_thread *thread = sbx_thread_at(i);
        struct sbx_where where;
        /* relaxed: a thread that has just left a call passes a point soon, or is found the next time */
        if (thread == NULL || sbx_load_relaxed(&thread->entry->call_kind) != SBX_RECORD_NONE ||
            !was_seen_lately(thread, now_ns)) {
            continue;
        }
        looks--;
        if (sbx_where_read(thread->tid, &where) && !where.is_blocked) {
            return true;
        }
    }
    return false;
}

void sbx_sampler_capture_sleepers(uint64_t now_ns)
{
    uint32_t count = sbx_ring_is_open(&sbx_the_capture.ring) ? sbx_thread_count() : 0;
    for (uint32_t i = 0; i < count; i++) {
        struct sbx_thread *thread = sbx_thread_at(i);
        if (thread != NULL) {
            (void)observe(thread, now_ns, SBX_FLAG_AT_TRIGGER);
        }
    }
}

void sbx_sampler_capture_all(uint64_t now_ns)
{
    uint32_t count = sbx_thread_count();
    bool any_asked = false;
    sbx_sample_begin_all(); /* only questions asked from here on count */
    for (uint32_t i = 0; i < count; i++) {
        struct sbx_thread *thread = sbx_thread_at(i);
        if (thread == NULL) {
            continue;
        }
        if (!observe(thread, now_ns, SBX_FLAG_AT_TRIGGER)) {
            any_asked |= sbx_sample_ask(thread, now_ns, 0, SBX_FLAG_AT_TRIGGER);
        }
    }
    sbx_sample_arm();
    for (uint32_t i = 0; i < count; i++) { /* after the stacks, because these numbers change more slowly */
        struct sbx_thread *thread = sbx_thread_at(i);
        if (thread != NULL) {
            sbx_kernel_counts_at_trigger(thread, now_ns);
        }
    }
    sbx_thread_registry_refresh_names(now_ns);
    for (int waited_us = 0; any_asked && waited_us < ANSWER_WAIT_US; waited_us += 200) {
        const struct timespec pause = {0, 200000};
        nanosleep(&pause, NULL);
        any_asked = false;
        for (uint32_t i = 0; i < count; i++) {
            struct sbx_thread *thread = sbx_thread_at(i);
            any_asked |= thread != NULL && sbx_sample_is_awaited(thread);
        }
    }
}
