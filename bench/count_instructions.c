/* SPDX-License-Identifier: Apache-2.0 */
/* count_instructions.c - the program that runs under valgrind's callgrind, which counts instructions: calls with their
 * hooks out and in, and captures. bench_instructions starts it and reads the counts.
 *
 * Each measurement is a dump with a name: "KIND REPEATS CALLS NAME". The kinds are:
 *   bare, hooked           CALLS calls in a row, nothing due
 *   native, runtime        the same as hooked, on a thread without a runtime, and on a thread of a runtime that can
 *                          report its functions
 *   bare_cold ...          one call, after the simulated caches were filled with other data
 *   capture, capture_cold  the same for captures, whose names say what they are
 *   empty, empty_cold      no call: the cost of the measurement itself
 * The smallest of the repetitions counts.
 *
 * The kernel's part is not counted. Valgrind does not implement rseq(2), so the word is never cleared here. The clock
 * is told to use it all the same. So this is the path of a thread that was not switched out. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <valgrind/callgrind.h>

#include "call_chain.h"
#include "capture_sample.h"
#include "clock.h"
#include "got_hook.h"
#include "order.h"
#include "programs/counted_calls.h"
#include "providers.h"
#include "recorder_alone.h"
#include "rseq.h"
#include "task.h"
#include "task_table.h"
#include "the_capture.h"
#include "thread_clock.h"

enum {
    WARM_CALLS = 64,
    WARM_UP = 8,
    REPEATS = 3,
    COLD_REPEATS = 7,
    FRAMES = 30,
    FRAMES_MAX = 256,
    EVICT_BYTES = 1 << 20, /* four times the last-level cache that bench_instructions sets */
    NEVER_US = 1000000000,
    RSEQ_REFUSED = -2,    /* RSEQ_CPU_ID_REGISTRATION_FAILED */
    COUNT_LONG = 1 << 30, /* for leaf calls: the countdown never ends */
};

extern const ptrdiff_t __rseq_offset __attribute__((weak));
static int (*unw_backtrace_)(void **, int);
static volatile uint64_t sink;

/* Code as long as an instruction cache of 32 KiB plus the same again, which does nothing else. */
#if defined(__x86_64__)
__asm__(".text\n.balign 64\nevict_code:\n.rept 1023\nnop\n.balign 64\n.endr\nret\n");
#else
__asm__(".text\n.balign 64\nevict_code:\n.rept 16384\nnop\n.endr\nret\n");
#endif
extern void evict_code(void);

static void evict(void)
{
    static unsigned char memory[EVICT_BYTES];
    for (size_t at = 0; at < sizeof memory; at += 64) {
        memory[at]++;
    }
    evict_code();
}

/* Makes a measurement's name before it begins. This is a separate function, because its arguments on the stack would
 * move the next call's stack. */
SBX_NOINLINE static const char *name_of(const char *kind, int repeat, int calls, const char *name)
{
    static char text[160];
    snprintf(text, sizeof text, "%s %d %d %s", kind, repeat, calls, name);
    return text;
}

/* The next countdown never ends, and time stands still. So no line of the thread's clock (thread_clock.h) is too old: a
 * cycle of the counter counts almost no time, and the lines begin where they are read. */
static void stop_time(void)
{
    if (!sbx_thread_is_registered(sbx_self)) {
        return;
    }
    struct sbx_thread_clock *clock = &sbx_self->clock;
    static uint64_t now_ns;
    if (now_ns == 0) {
        now_ns = sbx_now_ns();
    }
    now_ns = now_ns < clock->wall_floor ? clock->wall_floor : now_ns; /* time must not go back before earlier times */
    uint64_t scaled = sbx_cycles_scaled(sbx_cycle_counter(), 1);
    clock->multiplier = 1;
    clock->wall_base = clock->cpu_base = scaled != 0 ? scaled : 1;
    clock->wall_offset = clock->cpu_offset = now_ns;
    clock->wall_floor = clock->cpu_floor = 0;
    clock->rseq_offset = sbx_the_clock_scale.rseq_offset;
    if (clock->rseq_offset != 0) {
        sbx_clock_arm(clock->rseq_offset);
    }
    sbx_self->entry->countdown = sbx_self->counted_from = COUNT_LONG;
    sbx_self->next_note_ns = UINT64_MAX;
}

static void nothing(int calls)
{
    (void)calls;
}

static void measure(const char *kind, const char *name, void (*body)(int))
{
    char cold[32];
    snprintf(cold, sizeof cold, "%s_cold", kind);
    body(WARM_UP);
    for (int i = 0; i < REPEATS; i++) {
        const char *text = name_of(kind, i, WARM_CALLS, name);
        stop_time();
        CALLGRIND_ZERO_STATS;
        body(WARM_CALLS);
        CALLGRIND_DUMP_STATS_AT(text);
    }
    for (int i = 0; i < COLD_REPEATS; i++) {
        const char *text = name_of(cold, i, 1, name);
        stop_time();
        body(WARM_UP);
        evict();
        CALLGRIND_ZERO_STATS;
        body(1);
        CALLGRIND_DUMP_STATS_AT(text);
    }
}

/* ---- a runtime ---- */

static pthread_key_t runtime_key;

/* A runtime is found by a key of its own, as HotSpot's threads are. */
static void *find_runtime(void)
{
    return pthread_getspecific(runtime_key);
}

static size_t no_frames(void *context, size_t first, uint64_t *functions, uint32_t *lines, size_t max)
{
    (void)context, (void)first, (void)functions, (void)lines, (void)max;
    return 0;
}

static uint32_t no_holder(void *context)
{
    (void)context;
    return 0;
}

static void add_runtime(void)
{
    const struct sbx_provider runtime = {.walk = no_frames, .resolve = find_runtime, .holder = no_holder};
    sbx_provider_add(&runtime);
}

/* ---- calls ---- */

static void *end_at_once(void *unused)
{
    return unused;
}

/* Once it has started a thread, the C library does more work in each call. */
static void become_threaded(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, end_at_once, NULL) == 0) {
        pthread_join(thread, NULL);
    }
}

/* Makes this thread and the clock use rseq(2) as if it were there. Meanwhile no thread can begin, because the C library
 * would not find it there. */
static void pretend_rseq(bool is_there)
{
    if (&__rseq_offset != NULL) {
        sbx_the_clock_scale.rseq_offset = (int32_t)__rseq_offset;
        sbx_rseq_area(sbx_the_clock_scale.rseq_offset)->cpu_id = is_there ? 0 : RSEQ_REFUSED;
        sbx_store_release(&sbx_the_clock_scale.best, SBX_CLOCK_RSEQ); /* order: release clock.best */
    }
}

static const char *state; /* the kind of the current measurement */

static void *measure_call(void *which)
{
    const struct counted_call *call = which;
    pthread_setspecific(runtime_key, which); /* nothing reads this value before there is a runtime */
    measure(state, call->name, call->body);
    return NULL;
}

/* The calls that may cost more on a thread of a runtime. */
static bool may_ask_runtime(const char *name)
{
    static const char *const names[] = {
        "cond_timedwait, already over, by a thread",
        "epoll_wait of a thread without a loop",
        "pread of a file",
        "read, write of a client by a thread, after epoll_wait",
    };
    for (size_t i = 0; i < SBX_COUNT_OF(names); i++) {
        if (strcmp(name, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

static void measure_calls(const char *new_state, bool all)
{
    state = new_state;
    for (size_t i = 0; i < counted_call_count; i++) {
        struct counted_call call = counted_calls[i];
        if (!all && !may_ask_runtime(call.name)) {
            continue;
        }
        pthread_t thread;
        pretend_rseq(!call.is_thread);
        if (!call.is_thread) {
            measure_call(&call);
        } else if (pthread_create(&thread, NULL, measure_call, &call) == 0) {
            pthread_join(thread, NULL);
        }
    }
}

/* ---- captures ---- */

enum {
    ALL = BENCH_WALL | BENCH_CPU | BENCH_STACK | BENCH_PUT
};

static uint64_t capture_run(void)
{
    return bench_capture((enum bench_capture_part)ALL);
}

static uint64_t capture_record(void)
{
    return bench_capture((enum bench_capture_part)(ALL | BENCH_DIFFERS));
}

/* There is nothing to reuse, as on a thread that never captured. */
static uint64_t capture_new(void)
{
    sbx_self->replay.depth = 0;
    return bench_capture((enum bench_capture_part)ALL);
}

/* A leaf point whose countdown ended finds that no sample is due yet, or that one is. */
static uint64_t ask_early(void)
{
    sbx_self->sampled_ns = sbx_self->clock.wall_floor;
    sbx_leaf_ask(sbx_self, SBX_RECORD_LEAF, SBX_OP_CLOCK_GETTIME, SBX_GROUP_CLOCK);
    return 1;
}

static uint64_t ask_due(void)
{
    sbx_self->sampled_ns = UINT64_MAX / 2; /* later than now, so the difference is very large */
    sbx_leaf_ask(sbx_self, SBX_RECORD_LEAF, SBX_OP_CLOCK_GETTIME, SBX_GROUP_CLOCK);
    return 1;
}

/* A followed task in a counted queue. The thread that runs it has its id, or finds it by its key. */
static uint64_t task_by_id(void)
{
    static const char queue;
    sbx_self->tasks.follow_ns = 0; /* time stands still */
    uint64_t id = sbx_task_queued(SBX_GROUP_TASK, SBX_OP_TASK, (uint64_t)(uintptr_t)&queue, 0, 0);
    sbx_task_begin(id);
    sbx_task_end(id);
    return id;
}

static uint64_t task_by_key(void)
{
    static const char queue, item;
    sbx_self->tasks.follow_ns = 0;
    (void)sbx_task_queued(SBX_GROUP_TASK, SBX_OP_TASK, (uint64_t)(uintptr_t)&queue, (uint64_t)(uintptr_t)&item, 0);
    uint64_t id = sbx_task_find((uint64_t)(uintptr_t)&item, 0);
    sbx_task_begin(id);
    sbx_task_end(id);
    return id;
}

static uint64_t libunwind(void)
{
    void *frames[FRAMES_MAX];
    return (uint64_t)unw_backtrace_(frames, FRAMES_MAX);
}

static bench_leaf_function *leaf;
static int changed;

static void capture_often(int calls)
{
    for (int i = 0; i < calls; i++) {
        unsigned which = (unsigned)i + 1;
        sink += changed == 0   ? leaf()
                : changed == 3 ? bench_call_end_3(which % BENCH_ENDS, leaf)
                               : bench_call_end_5(which % BENCH_ENDS, leaf);
    }
}

static const struct {
    const char *name;
    bench_leaf_function *leaf;
    int changed;
} captures[] = {
    {"stack unchanged", capture_run, 0},
    {"stack unchanged, a record each", capture_record, 0},
    {"3 inner frames changed", capture_run, 3},
    {"5 inner frames changed", capture_run, 5},
    {"all frames new to the thread", capture_new, 5},
    {"a count is out, nothing is due", ask_early, 0},
    {"a count is out, a sample is due, stack unchanged", ask_due, 0},
    {"a task queued, begun and ended by its id", task_by_id, 0},
    {"a task queued, begun and ended by its key", task_by_key, 0},
    {"libunwind alone", libunwind, 0},
    {"libunwind alone, 3 changed", libunwind, 3},
    {"libunwind alone, 5 changed", libunwind, 5},
};

static uint64_t measure_captures(void)
{
    for (size_t i = 0; i < SBX_COUNT_OF(captures); i++) {
        if (captures[i].leaf != libunwind || unw_backtrace_ != NULL) {
            leaf = captures[i].leaf;
            changed = captures[i].changed;
            measure("capture", captures[i].name, capture_often);
        }
    }
    return 0;
}

int main(void)
{
    /* No sample is ever due. */
    struct sbx_capture_settings settings = {
        .interval_us = NEVER_US, .wait_min_us = NEVER_US, .points = SBX_POINTS_DEFAULT, .enabled = 1};
    uint32_t unsettled = 0;
    void *handle = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
    if (handle != NULL) {
        *(void **)&unw_backtrace_ = dlsym(handle, "unw_backtrace");
    }
    if (!bench_recorder_alone("count_instructions", &settings) || !counted_calls_open()) {
        fprintf(stderr, "count_instructions: something that it needs is not there\n");
        return 1;
    }
    sbx_the_capture.control->in_force.points = settings.points; /* as the watch thread does */
    become_threaded();
    pthread_key_create(&runtime_key, NULL);
    sbx_capture_say_calls_are_safe(true); /* as the agent finds on kernels that delay the signals of timers */
    sbx_got_hook_resolve();
    CALLGRIND_START_INSTRUMENTATION;
    measure("empty", "nothing", nothing);
    measure_calls("bare", true);
    uint32_t slots = sbx_got_hook_apply(SBX_POINTS_DEFAULT, UINT64_MAX, &unsettled);
    if (!counted_calls_open()) { /* once more, now through the hooks */
        return 1;
    }
    measure_calls("hooked", true);
    pretend_rseq(false);
    sbx_got_hook_apply(0, UINT64_MAX, &unsettled);
    pretend_rseq(true);
    bench_call_deep(FRAMES, measure_captures);
    pretend_rseq(false);
    sbx_got_hook_apply(SBX_POINTS_DEFAULT, UINT64_MAX, &unsettled);
    measure_calls("native", false);
    add_runtime();
    measure_calls("runtime", false);
    return slots != 0 ? 0 : 1;
}
