/* SPDX-License-Identifier: Apache-2.0 */
/* bench_capture.c - the cost of one capture, compared with libunwind, glibc, and the plain combination of both with the
 * clocks.
 *
 * usage: bench_capture [--json] [--rounds N]
 * The capture is the real one (sbx_capture_stack and sbx_capture_put on a registered thread, a mapped recording, rows
 * of all modules), and is called as a capture point calls it. The peers run on the same stack and are called through
 * the same functions. Why it matters: the interval pays for this. At one capture per millisecond and thread, a
 * microsecond is 0.1 %.
 *
 * libunwind is opened with dlopen and its functions are taken by name. A program linked with it would call libunwind's
 * `backtrace` instead of glibc's without noticing. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "call_chain.h"
#include "capture_sample.h"
#include "clock.h"
#include "recorder_alone.h"
#include "rounds.h"
#include "thread_block.h"

enum {
    ROUNDS_DEFAULT = 151,
    CALLS = 200,     /* calls of each variant in a round */
    SLOW_CALLS = 20, /* calls of variants that take microseconds */
    COLD_SHOTS = 7,  /* per round: before each, the caches are filled with other data */
    COLD_ROUNDS = 60,
    EVICT_BYTES = 2 << 20, /* twice the L2 cache of the machines this was written on; the data are then in L3 */
    FRAMES_MAX = 256,
    FRAMES_JUDGED = 30, /* the depth for which a target is set */
};

static int (*unw_backtrace_)(void **, int);
static int (*glibc_backtrace)(void **, int);

/* ---- ours: what a capture point does when a sample is due ---- */

enum {
    WALL = BENCH_WALL,
    CPU = BENCH_CPU,
    STACK = BENCH_STACK,
    PUT = BENCH_PUT,
    DIFFERS = BENCH_DIFFERS
};

#define CAPTURE(name, parts)                                    \
    SBX_NOINLINE static uint64_t name(void)                     \
    {                                                           \
        return bench_capture((enum bench_capture_part)(parts)); \
    }
CAPTURE(capture_whole, WALL | CPU | STACK | PUT)
CAPTURE(capture_record, WALL | CPU | STACK | PUT | DIFFERS)
CAPTURE(capture_wall, WALL | STACK | PUT)
CAPTURE(capture_wall_record, WALL | STACK | PUT | DIFFERS)
CAPTURE(part_clocks, WALL | CPU)
CAPTURE(part_wall, WALL)
CAPTURE(part_stack, STACK)
CAPTURE(part_run, PUT)
CAPTURE(part_record, PUT | DIFFERS)

/* As if the thread had never captured, so there is nothing to reuse. */
SBX_NOINLINE static uint64_t capture_new(void)
{
    sbx_self->replay.depth = 0;
    return bench_capture(WALL | CPU | STACK | PUT);
}

SBX_NOINLINE static uint64_t capture_new_wall(void)
{
    sbx_self->replay.depth = 0;
    return bench_capture(WALL | STACK | PUT);
}

/* In addition no rule is known, so each return address is looked up in the rows. */
SBX_NOINLINE static uint64_t capture_new_rules(void)
{
    sbx_self->replay.depth = 0;
    sbx_self->cache.generation = 0;
    return bench_capture(WALL | CPU | STACK | PUT);
}

/* The path that a leaf point takes when its countdown ends. Here every interval is always over. */
SBX_NOINLINE static uint64_t capture_leaf(void)
{
    sbx_leaf_ask(sbx_self, SBX_RECORD_ALLOC, SBX_OP_MALLOC, SBX_GROUP_ALLOC);
    return 1;
}

/* ---- peers ---- */

SBX_NOINLINE static uint64_t peer_unwind(void)
{
    void *frames[FRAMES_MAX];
    return (uint64_t)unw_backtrace_(frames, FRAMES_MAX);
}

SBX_NOINLINE static uint64_t peer_glibc(void)
{
    void *frames[FRAMES_MAX];
    return (uint64_t)glibc_backtrace(frames, FRAMES_MAX);
}

/* The first version that a programmer would write: both clocks, the kernel's counts, libunwind, a table of stacks, one
 * ring for all threads. */
struct plain_stack {
    uint64_t hash;
    int count;
    void *frames[60];
};
struct plain_record {
    uint64_t wall_ns, cpu_ns, faults, switches, stack, alloc_count;
};
enum {
    PLAIN_STACKS = 4096,
    PLAIN_RECORDS = 1 << 16
};
static struct plain_stack *plain_stacks;
static struct plain_record *plain_ring;
static uint64_t plain_next;

SBX_NOINLINE static uint64_t peer_plain(void)
{
    struct timespec wall, cpu;
    struct rusage usage;
    void *frames[FRAMES_MAX];
    clock_gettime(CLOCK_MONOTONIC, &wall);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
    getrusage(RUSAGE_THREAD, &usage);
    int count = unw_backtrace_(frames, SBX_COUNT_OF(plain_stacks->frames));
    uint64_t hash = UINT64_C(14695981039346656037);
    for (int i = 0; i < count; i++) {
        hash = (hash ^ (uint64_t)(uintptr_t)frames[i]) * UINT64_C(1099511628211);
    }
    uint64_t slot = (hash ^ hash >> 32) % PLAIN_STACKS;
    while (plain_stacks[slot].hash != hash && plain_stacks[slot].hash != 0) {
        slot = (slot + 1) % PLAIN_STACKS;
    }
    struct plain_stack *stack = &plain_stacks[slot];
    if (stack->hash == 0) {
        stack->hash = hash;
        stack->count = count;
        memcpy(stack->frames, frames, (size_t)count * sizeof frames[0]);
    } else if (memcmp(stack->frames, frames, (size_t)count * sizeof frames[0]) != 0) {
        slot = PLAIN_STACKS; /* another stack has the same hash */
    }
    struct plain_record *record = &plain_ring[__atomic_fetch_add(&plain_next, 1, __ATOMIC_RELAXED) % PLAIN_RECORDS];
    *record = (struct plain_record){
        .wall_ns = (uint64_t)wall.tv_sec * 1000000000u + (uint64_t)wall.tv_nsec,
        .cpu_ns = (uint64_t)cpu.tv_sec * 1000000000u + (uint64_t)cpu.tv_nsec,
        .faults = (uint64_t)(usage.ru_minflt + usage.ru_majflt),
        .switches = (uint64_t)(usage.ru_nvcsw + usage.ru_nivcsw),
        .stack = slot,
        .alloc_count = slot,
    };
    return slot;
}

SBX_NOINLINE static uint64_t peer_clock(void)
{
    return sbx_now_ns();
}

/* ---- variants and rows ---- */

enum shape {
    SAME,
    END_3,
    END_5
};

struct variant {
    const char *name;
    bench_leaf_function *leaf;
    enum shape shape;
    bool is_slow, is_measured_cold;
};

enum {
    UNWIND_SAME,
    UNWIND_3,
    UNWIND_5,
    OURS_SAME,
    OURS_SAME_RECORD,
    OURS_SAME_WALL,
    OURS_SAME_WALL_RECORD,
    OURS_LEAF,
    OURS_3,
    OURS_3_WALL,
    OURS_5,
    OURS_5_WALL,
    OURS_NEW,
    OURS_NEW_WALL,
    OURS_NEW_RULES,
    PLAIN_SAME,
    PLAIN_3,
    GLIBC_SAME,
    CLOCK,
    PART_CLOCKS,
    PART_WALL,
    PART_STACK,
    PART_STACK_3,
    PART_STACK_5,
    PART_RUN,
    PART_RECORD,
    VARIANTS
};

static const struct variant variants[VARIANTS] = {
    [UNWIND_SAME] = {"unw_backtrace alone", peer_unwind, SAME, false, true},
    [UNWIND_3] = {"unw_backtrace alone, 3 changed", peer_unwind, END_3, false, true},
    [UNWIND_5] = {"unw_backtrace alone, 5 changed", peer_unwind, END_5, false, true},
    [OURS_SAME] = {"capture, stack unchanged", capture_whole, SAME, false, true},
    [OURS_SAME_RECORD] = {"capture, stack unchanged, a record each", capture_record, SAME, false, false},
    [OURS_SAME_WALL] = {"the same without CPU time, unchanged", capture_wall, SAME, false, true},
    [OURS_SAME_WALL_RECORD] = {"the same without CPU time, a record each", capture_wall_record, SAME, false, false},
    [OURS_LEAF] = {"capture through a leaf point, unchanged", capture_leaf, SAME, false, false},
    [OURS_3] = {"capture, 3 inner frames changed", capture_whole, END_3, false, true},
    [OURS_3_WALL] = {"the same without CPU time, 3 changed", capture_wall, END_3, false, true},
    [OURS_5] = {"capture, 5 inner frames changed", capture_whole, END_5, false, true},
    [OURS_5_WALL] = {"the same without CPU time, 5 changed", capture_wall, END_5, false, false},
    [OURS_NEW] = {"capture, all frames new to the thread", capture_new, END_5, false, true},
    [OURS_NEW_WALL] = {"the same without CPU time, all new", capture_new_wall, END_5, false, true},
    [OURS_NEW_RULES] = {"capture, all new, and no rule cached", capture_new_rules, END_5, true, false},
    [PLAIN_SAME] = {"plain composition, unchanged", peer_plain, SAME, false, false},
    [PLAIN_3] = {"plain composition, 3 changed", peer_plain, END_3, false, false},
    [GLIBC_SAME] = {"glibc backtrace() alone", peer_glibc, SAME, true, false},
    [CLOCK] = {"clock_gettime(MONOTONIC) alone", peer_clock, SAME, false, true},
    [PART_CLOCKS] = {"part: both clocks", part_clocks, SAME, false, false},
    [PART_WALL] = {"part: wall clock", part_wall, SAME, false, false},
    [PART_STACK] = {"part: stack unchanged", part_stack, SAME, false, false},
    [PART_STACK_3] = {"part: stack, 3 changed", part_stack, END_3, false, false},
    [PART_STACK_5] = {"part: stack, 5 changed", part_stack, END_5, false, false},
    [PART_RUN] = {"part: recorded as a run", part_run, SAME, false, false},
    [PART_RECORD] = {"part: recorded as a record", part_record, SAME, false, false},
};

struct row {
    int ours, peer;
    const char *reach, *reach_cold;
    bool at_every_depth;
};

static const struct row rows[] = {
    {OURS_SAME, UNWIND_SAME, "ratio <= 0.2", NULL, true},
    {OURS_SAME_RECORD, UNWIND_SAME, "ratio <= 0.2", NULL, true},
    {OURS_3, UNWIND_3, "ratio <= 0.35", "ratio <= 0.4", true},
    {OURS_5, UNWIND_5, "ratio <= 0.4", "ratio <= 0.45", true},
    {OURS_NEW, UNWIND_5, "ratio <= 1.2", "ratio <= 1", true},
    {OURS_NEW_RULES, UNWIND_5, NULL, NULL, false},
    {OURS_LEAF, UNWIND_SAME, NULL, NULL, false},
    {OURS_SAME_WALL, UNWIND_SAME, NULL, NULL, false},
    {OURS_SAME_WALL_RECORD, UNWIND_SAME, NULL, NULL, false},
    {OURS_3_WALL, UNWIND_3, NULL, NULL, false},
    {OURS_5_WALL, UNWIND_5, NULL, NULL, false},
    {OURS_NEW_WALL, UNWIND_5, NULL, NULL, false},
    {OURS_SAME, PLAIN_SAME, NULL, NULL, false},
    {OURS_3, PLAIN_3, NULL, NULL, false},
    {PLAIN_SAME, UNWIND_SAME, NULL, NULL, false},
    {GLIBC_SAME, UNWIND_SAME, NULL, NULL, true},
    {CLOCK, UNWIND_SAME, NULL, NULL, false},
    {PART_CLOCKS, UNWIND_SAME, NULL, NULL, false},
    {PART_WALL, UNWIND_SAME, NULL, NULL, false},
    {PART_STACK, UNWIND_SAME, NULL, NULL, false},
    {PART_STACK_3, UNWIND_3, NULL, NULL, false},
    {PART_STACK_5, UNWIND_5, NULL, NULL, false},
    {PART_RUN, UNWIND_SAME, NULL, NULL, false},
    {PART_RECORD, UNWIND_SAME, NULL, NULL, false},
};

static struct bench_options options = {.rounds = ROUNDS_DEFAULT};
static struct bench_series series[VARIANTS];
static volatile uint64_t sink;

SBX_NOINLINE static uint64_t call(const struct variant *variant, unsigned which)
{
    switch (variant->shape) {
    case END_3:
        return bench_call_end_3(which % BENCH_ENDS, variant->leaf) + 1;
    case END_5:
        return bench_call_end_5(which % BENCH_ENDS, variant->leaf) + 1;
    default:
        return variant->leaf() + 1;
    }
}

/* The work at the leaf of the chain: every variant of one shape, once per round. */
static enum shape shape;
static bool is_counted;

static uint64_t run_warm(void)
{
    for (int i = 0; i < VARIANTS; i++) {
        if (variants[i].shape != shape) {
            continue;
        }
        unsigned calls = variants[i].is_slow ? SLOW_CALLS : CALLS;
        sink += call(&variants[i], 3); /* so that the capture before the first measured one is of this stack, too */
        double begin = bench_now_ns();
        for (unsigned k = 0; k < calls; k++) {
            sink += call(&variants[i], k);
        }
        if (is_counted) {
            bench_series_add(&series[i], (bench_now_ns() - begin) / calls);
        }
    }
    return sink;
}

/* Single calls. Before each, EVICT_BYTES of other memory are read and written. */
static uint64_t run_cold(void)
{
    static unsigned char memory[EVICT_BYTES];
    static struct bench_series shots;
    for (int i = 0; i < VARIANTS; i++) {
        if (variants[i].shape != shape || !variants[i].is_measured_cold) {
            continue;
        }
        shots.count = 0;
        for (unsigned shot = 0; shot < COLD_SHOTS; shot++) {
            sink += call(&variants[i], shot + 1);
            for (size_t at = 0; at < EVICT_BYTES; at += 64) {
                memory[at]++;
            }
            double begin = bench_now_ns();
            sink += call(&variants[i], shot);
            bench_series_add(&shots, bench_now_ns() - begin);
        }
        if (is_counted) {
            bench_series_add(&series[i], bench_series_at(&shots, 0.5));
        }
    }
    return sink;
}

/* The depth of the stack, as the peer finds it. */
static int frames_found;

static uint64_t find_frames(void)
{
    void *frames[FRAMES_MAX];
    frames_found = unw_backtrace_(frames, FRAMES_MAX) + 2; /* call() and the function that it calls */
    return 0;
}

/* Runs one round. Each shape gets as many links as make the whole stack `frames` frames deep. */
static void run_round(int frames, bench_leaf_function *run)
{
    static const int inner[] = {[SAME] = 0, [END_3] = 3, [END_5] = 5};
    bench_call_deep(0, find_frames);
    int links = frames - frames_found;
    for (shape = SAME; shape <= END_5; shape++) {
        sink += bench_call_deep(links - inner[shape], run);
    }
}

static void tell(const struct row *row, const char *suffix)
{
    char metric[160];
    const struct variant *ours = &variants[row->ours], *other = &variants[row->peer];
    snprintf(metric, sizeof metric, "%s, %s", ours->name, suffix);
    const struct bench_line line = {"capture", metric, "ns", other->name, row->reach};
    bench_print(options.json, &line, &series[row->ours], &series[row->peer]);
}

static void measure(int frames, bool is_cold)
{
    char suffix[32];
    for (int i = 0; i < VARIANTS; i++) {
        series[i].count = 0;
    }
    int rounds = is_cold ? COLD_ROUNDS : options.rounds;
    for (int round = -1; round < rounds; round++) { /* the first round fills every cache, and is not counted */
        is_counted = round >= 0;
        run_round(frames, is_cold ? run_cold : run_warm);
    }
    snprintf(suffix, sizeof suffix, "%d frames%s", frames, is_cold ? ", L2-cold" : "");
    for (size_t i = 0; i < SBX_COUNT_OF(rows); i++) {
        struct row row = rows[i];
        if (is_cold ? variants[row.ours].is_measured_cold && variants[row.peer].is_measured_cold
                    : frames == FRAMES_JUDGED || row.at_every_depth) {
            row.reach = is_cold ? row.reach_cold : frames == FRAMES_JUDGED ? row.reach : NULL;
            tell(&row, suffix);
        }
    }
}

/* ---- */

static void *find(const char *library, const char *name)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    void *function = handle != NULL ? dlsym(handle, name) : NULL;
    if (function == NULL) {
        fprintf(stderr, "bench_capture: %s\n", dlerror());
    }
    return function;
}

int main(int count, char **arguments)
{
    static const struct sbx_capture_settings settings; /* every interval is 0 */
    if (!bench_read_options(count, arguments, &options)) {
        return 2;
    }
    *(void **)&unw_backtrace_ = find("libunwind.so.8", "unw_backtrace");
    *(void **)&glibc_backtrace = find("libc.so.6", "backtrace");
    plain_stacks = calloc(PLAIN_STACKS, sizeof *plain_stacks);
    plain_ring = calloc(PLAIN_RECORDS, sizeof *plain_ring);
    if (unw_backtrace_ == NULL || glibc_backtrace == NULL || plain_stacks == NULL || plain_ring == NULL ||
        !bench_recorder_alone("bench_capture", &settings)) {
        return 1;
    }
    bench_print_heading(options.json, "one capture; the peer is called on the same stack, in the same round");
    static const int depths[] = {FRAMES_JUDGED, 16, 60, 120};
    for (size_t i = 0; i < SBX_COUNT_OF(depths); i++) {
        measure(depths[i], false);
    }
    measure(FRAMES_JUDGED, true);
    return 0;
}
