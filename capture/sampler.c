/* SPDX-License-Identifier: Apache-2.0 */
/* sampler.c - who is looked at, who is signalled, and what a blocked thread's stack says. */
#include "sampler.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "call_number.h"
#include "capture.h"
#include "clock.h"
#include "pages.h"
#include "sample_handler.h"
#include "sample_run.h"

enum {
    SIGNAL = SIGURG,
    SIGNALS_A_TICK = 8,    /* 200 threads do not cost 200 signals a tick (async-profiler takes 8 as well) */
    ANSWER_WAIT_US = 5000, /* for a running thread at a trigger */
    /* A thread's samples of itself all lie at its calls, so they say little about what it does between two of them. So many
     * gaps apart it is asked by signal all the same: at any instruction, for 2 us. */
    UNBIASED_GAPS = 4,
    CPU_NOISE_NS = 10000,  /* less CPU time than this since the last look: it does not run (btrace, async-profiler) */
};

static bool has_signal;
static uint32_t first_thread; /* rotates, so that the cap does not favour low indexes */

static struct {
    struct sbx_ring_writer writer; /* the watch thread's own chunk: records about others */
    struct sbx_walk walk;
    struct sbx_walk_cache cache;
    uint8_t stack_copy[SBX_STACK_COPY_BYTES];
} * observer;

int sbx_sampler_start(void)
{
    struct sigaction now;
    sbx_copy_stack_start();
    if (observer == NULL) {
        observer = sbx_pages_map(sizeof *observer);
    }
    if (observer == NULL || sigaction(SIGNAL, NULL, &now) != 0 || now.sa_handler != SIG_DFL ||
        (now.sa_flags & SA_SIGINFO) != 0) {
        has_signal = observer != NULL && now.sa_sigaction == sbx_on_sample_signal;
        return has_signal ? SIGNAL : 0;
    }
    struct sigaction ours = {.sa_sigaction = sbx_on_sample_signal, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    sigemptyset(&ours.sa_mask);
    has_signal = sigaction(SIGNAL, &ours, NULL) == 0;
    return has_signal ? SIGNAL : 0;
}

/* Is it still ours? A host that installed its own handler since has it for good (counted). */
static void check_signal(void)
{
    struct sigaction now;
    if (has_signal && (sigaction(SIGNAL, NULL, &now) != 0 || now.sa_sigaction != sbx_on_sample_signal)) {
        has_signal = false;
        sbx_count_drop(SBX_DROP_SIGNAL_TAKEN);
    }
}

/* What the kernel says of a thread: the call it sleeps in, its stack pointer and program counter. */
struct where {
    bool is_blocked;
    int64_t call; /* system call number; -1: blocked outside a call (a page fault) */
    uint64_t sp, pc;
};

static bool read_where(uint32_t tid, struct where *where)
{
    char path[48], text[256];
    snprintf(path, sizeof path, "/proc/self/task/%u/syscall", tid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return false;
    }
    ssize_t got = read(file, text, sizeof text - 1);
    close(file);
    if (got <= 0) {
        return false;
    }
    text[got] = 0;
    memset(where, 0, sizeof *where);
    if (strncmp(text, "running", 7) == 0) {
        return true;
    }
    where->is_blocked = true;
    where->call = strtoll(text, NULL, 10);
    /* "NR a1 a2 a3 a4 a5 a6 SP PC", or "-1 SP PC": the last two words. */
    char *last = strrchr(text, ' ');
    if (last == NULL) {
        return false;
    }
    where->pc = strtoull(last + 1, NULL, 16);
    *last = 0;
    char *before = strrchr(text, ' ');
    if (before == NULL) {
        return false;
    }
    where->sp = strtoull(before + 1, NULL, 16);
    return where->sp != 0;
}

/* Is this a place of ours? A stack pointer in the stack we know, or else code of a module: a coroutine runs elsewhere, but
 * it runs something. What neither is, an emulator made up (qemu-user shows its own stack), or a namespace. */
static bool is_believable(const struct sbx_thread *thread, const struct where *where)
{
    if (where->sp >= thread->stack_low && where->sp < thread->stack_high) {
        return true;
    }
    sbx_store_relaxed(&sbx_watch_inside, 1); /* holds the map: see module_map.h */
    sbx_order_with_handler();
    const struct sbx_code_map *map = sbx_load_acquire(&sbx_the_capture.map); /* order: acquire code_map */
    bool is_code = map != NULL && sbx_code_map_find(map, where->pc) != NULL;
    sbx_store_release(&sbx_watch_inside, 0); /* order: release inside */
    return is_code;
}

/* Copy the thread's stack from sp up. The kernel copies, so a thread that ends meanwhile is an error and not a fault.
 */
static size_t copy_stack(const struct sbx_thread *thread, uint64_t sp)
{
    uint64_t most = SBX_STACK_COPY_BYTES;
    if (sp >= thread->stack_low && sp < thread->stack_high && thread->stack_high - sp < most) {
        most = thread->stack_high - sp;
    }
    return sbx_copy_stack(sp, most, observer->stack_copy);
}

/* A blocked thread's stack, copied, and up to two places in it where a walk may begin: where the kernel says it sleeps,
 * and the hook it went through. pc 0: not known. */
struct sleeper {
    struct sbx_stack_window window;
    uint64_t pc, sp;
    uint64_t hook_pc, hook_sp;
};

static void walk_from(const struct sleeper *sleeper, uint64_t pc, uint64_t sp, bool is_exact, uint32_t epoch)
{
    struct sbx_walk_registers registers = {.pc = pc, .sp = sp, .pc_is_exact = is_exact};
    const struct sbx_code_map *map = sbx_load_acquire(&sbx_the_capture.map); /* order: acquire code_map */
    sbx_walk_stack(map, &observer->cache, &sbx_the_capture.table, epoch, &sleeper->window, &registers, &observer->walk);
}

/* Walk the copied stack and intern it, our own frames left out. A walk that does not get from the system call to the root
 * gives way to one that does from the hook; of two that do not, the longer tells more. */
static uint32_t walk_copy(const struct sleeper *sleeper)
{
    sbx_store_relaxed(&sbx_watch_inside, 1); /* holds the map: see module_map.h */
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
    return sbx_walk_intern(walk, &sbx_the_capture.table, epoch);
}

static void put_record(const struct sbx_record *record)
{
    sbx_ring_put(&sbx_the_capture.ring, &observer->writer, UINT32_MAX, 0, 0, record);
}

/* Put what the looks at a thread so far have to tell. */
static void end_observed_run(const struct sbx_thread *thread)
{
    struct sbx_record record;
    if (sbx_run_tell(&thread->entry->observed, thread->index, &record)) {
        put_record(&record);
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
        sbx_store_release(&entry->last_stack, record->stack); /* order: release entry.last_stack - its nodes are there */
    }
    sbx_add_relaxed(&sbx_the_capture.header->captures_observed, 1);
    if (sbx_run_extend(&entry->observed, record)) {
        return; /* still here */
    }
    end_observed_run(thread);
    put_record(record);
    sbx_run_begin(&entry->observed, record);
}

/* Fill `sleeper` for a thread that the kernel says is at `where`, or, where NULL, of which only the hook is known. False:
 * nothing can be read, or what can be is a mixture of before and after. */
static bool find_sleeper(const struct sbx_thread *thread, const struct where *where, uint64_t call_begin_ns,
                         struct sleeper *sleeper)
{
    const struct sbx_thread_entry *entry = thread->entry;
    struct where again;
    *sleeper = (struct sleeper){.pc = 0};
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
    /* It may have woken meanwhile. */
    if (where != NULL) {
        if (!read_where(thread->tid, &again) || !again.is_blocked || again.sp != where->sp || again.pc != where->pc) {
            return false;
        }
        sleeper->pc = where->pc;
        sleeper->sp = where->sp;
    }
    /* order: acquire entry.call - still in the call of before, so the hook's frame is the one that was copied */
    if (sbx_load_acquire(&entry->call_kind) == SBX_RECORD_NONE ||
        sbx_load_relaxed(&entry->call_begin_ns) != call_begin_ns || sleeper->hook_sp < low ||
        sleeper->hook_sp >= sleeper->window.hi) {
        sleeper->hook_pc = 0;
    }
    return sleeper->pc != 0 || sleeper->hook_pc != 0;
}

/* Look at one thread that seems blocked. Returns false when it runs. */
static bool observe(struct sbx_thread *thread, uint64_t now_ns, uint8_t flags)
{
    struct where where;
    uint32_t call_kind = sbx_load_acquire(&thread->entry->call_kind); /* order: acquire entry.call */
    uint64_t call_begin_ns = call_kind != SBX_RECORD_NONE ? sbx_load_relaxed(&thread->entry->call_begin_ns) : 0;
    bool is_told = read_where(thread->tid, &where);
    if (is_told && !where.is_blocked) {
        return false;
    }
    is_told = is_told && is_believable(thread, &where);
    struct sbx_record record = {.kind = SBX_RECORD_BLOCKED, .flags = flags, .begin_ns = now_ns, .end_ns = now_ns};
    if (call_kind != SBX_RECORD_NONE) {
        record.op = (uint8_t)thread->entry->call_op;
        record.object = thread->entry->call_object;
        record.peer = thread->entry->call_peer;
        record.wait = thread->entry->call_wait;
    } else {
        record.op = SBX_OP_SYSCALL;
        record.amount = is_told && where.call >= 0 ? sbx_recorded_call_number((uint64_t)where.call) : 0;
    }
    struct sleeper sleeper;
    if (!find_sleeper(thread, is_told ? &where : NULL, call_begin_ns, &sleeper)) {
        sbx_count_drop(SBX_DROP_OBSERVE_FAILED);
        return true;
    }
    record.stack = walk_copy(&sleeper);
    put_observed(thread, &record);
    return true;
}

/* Ask a running thread for its stack. */
static bool send_signal(struct sbx_thread *thread, uint64_t now_ns, uint32_t flags)
{
    if (!has_signal) {
        return false;
    }
    if (sbx_load_relaxed(&thread->signal_pending) != 0) {
        /* Still on its way: the thread is starved of the processor, or blocks the signal. Either way one is enough; it is
         * asked again when it has answered, however long that took. */
        sbx_count_drop(SBX_DROP_SIGNAL_LATE);
        return false;
    }
    sbx_store_relaxed(&thread->signal_flags, flags);
    sbx_store_relaxed(&thread->signal_sent_ns, now_ns);
    sbx_store_seq_cst(&thread->signal_pending, 1); /* order: seq_cst signal_pending - Dekker with `blocking` */
    if (sbx_load_seq_cst(&thread->blocking) != 0) {
        sbx_store_seq_cst(&thread->signal_pending, 0); /* it is about to block: it must not be interrupted there */
        return false;
    }
    siginfo_t info;
    memset(&info, 0, sizeof info);
    info.si_code = SI_QUEUE;
    info.si_pid = (pid_t)sbx_the_capture.header->pid;
    info.si_uid = getuid();
    info.si_value.sival_ptr = (void *)(uintptr_t)(SBX_SAMPLE_COOKIE | thread->index);
    if (syscall(SYS_rt_tgsigqueueinfo, (long)sbx_the_capture.header->pid, (long)thread->tid, SIGNAL, &info) != 0) {
        sbx_store_seq_cst(&thread->signal_pending, 0);
        return false;
    }
    return true;
}

/* Has this call been looked at often enough? Once a call; again every `blocked_refresh_ms` while the main thread's
 * message is open, because that is a stall in the making. */
static bool wants_look(const struct sbx_thread *thread, uint64_t key, const struct sbx_capture_settings *settings,
                       uint64_t now_ns)
{
    if (key != thread->seen_call_begin_ns) {
        return true;
    }
    uint64_t message_begin_ns = sbx_load_relaxed(&thread->entry->message_begin_ns);
    return message_begin_ns != 0 && now_ns - thread->seen_ns >= (uint64_t)settings->blocked_refresh_ms * 750000u;
}

static void step_thread(struct sbx_thread *thread, const struct sbx_capture_settings *settings, uint64_t now_ns,
                        unsigned *signals_left)
{
    uint32_t call_kind = sbx_load_acquire(&thread->entry->call_kind); /* order: acquire entry.call */
    if (call_kind == SBX_RECORD_IDLE) {
        return; /* the loop waits for work: nothing is amiss and nobody asks */
    }
    uint64_t gap_ns = (uint64_t)settings->gap_us * 750u; /* 3/4 of it: ticks have that much jitter (watch.c) */
    if (call_kind != SBX_RECORD_NONE) {
        uint64_t begin_ns = sbx_load_relaxed(&thread->entry->call_begin_ns);
        if (now_ns - begin_ns >= gap_ns && now_ns > begin_ns && wants_look(thread, begin_ns, settings, now_ns)) {
            thread->seen_call_begin_ns = begin_ns;
            thread->seen_ns = now_ns;
            observe(thread, now_ns, 0);
        }
        return;
    }
    uint64_t cpu_ns = sbx_thread_cpu_ns(thread->tid);
    uint64_t ran_ns = cpu_ns - thread->seen_cpu_ns;
    if (ran_ns > CPU_NOISE_NS && cpu_ns > thread->seen_cpu_ns) {
        thread->seen_cpu_ns = cpu_ns;
        uint64_t last_ns = sbx_load_relaxed(&thread->entry->last_record_ns);
        bool is_due = (now_ns > last_ns && now_ns - last_ns >= gap_ns) ||
                      now_ns - sbx_load_relaxed(&thread->signal_sent_ns) >= UNBIASED_GAPS * gap_ns;
        if ((settings->points & SBX_POINT_BIT(SBX_GROUP_ASYNC)) != 0 && is_due && *signals_left > 0) {
            struct where where;
            /* It may sleep in a call that is no point of ours and that the kernel would not restart: look first. */
            if (read_where(thread->tid, &where) && !where.is_blocked && send_signal(thread, now_ns, 0)) {
                (*signals_left)--;
            }
        }
        return;
    }
    /* No CPU time and in none of our points: asleep in a call we do not hook, or starved. */
    if (wants_look(thread, cpu_ns | 1, settings, now_ns)) {
        thread->seen_call_begin_ns = cpu_ns | 1; /* its CPU time names the sleep */
        thread->seen_ns = now_ns;
        if (!observe(thread, now_ns, 0)) {
            thread->seen_call_begin_ns = 0;
        }
    }
}

void sbx_sampler_step(const struct sbx_capture_settings *settings, uint64_t now_ns)
{
    uint32_t count = sbx_thread_count();
    unsigned signals_left = SIGNALS_A_TICK;
    check_signal();
    for (uint32_t i = 0; i < count; i++) {
        uint32_t index = (first_thread + i) % count;
        struct sbx_thread *thread = sbx_thread_at(index);
        if (thread != NULL) {
            step_thread(thread, settings, now_ns, &signals_left);
        }
    }
    first_thread = count != 0 ? (first_thread + 1) % count : 0;
}

void sbx_sampler_capture_all(uint64_t now_ns)
{
    uint32_t count = sbx_thread_count();
    bool any_asked = false;
    check_signal();
    for (uint32_t i = 0; i < count; i++) {
        struct sbx_thread *thread = sbx_thread_at(i);
        if (thread != NULL && !observe(thread, now_ns, SBX_FLAG_AT_TRIGGER)) {
            any_asked |= send_signal(thread, now_ns, SBX_FLAG_AT_TRIGGER);
        }
    }
    for (int waited_us = 0; any_asked && waited_us < ANSWER_WAIT_US; waited_us += 200) {
        const struct timespec pause = {0, 200000};
        nanosleep(&pause, NULL);
        any_asked = false;
        for (uint32_t i = 0; i < count; i++) {
            struct sbx_thread *thread = sbx_thread_at(i);
            any_asked |= thread != NULL && sbx_load_seq_cst(&thread->signal_pending) != 0;
        }
    }
}
