/* SPDX-License-Identifier: Apache-2.0 */
/* time_split.c - where the time of one thread went.
 *
 * Measured waits are exact. Between two readings of the thread's CPU clock, what is neither CPU time nor a measured
 * wait is a pause of another kind. If looks found the thread blocked there, it was in that call. If not, it was ready
 * and did not run. A span between two readings that crosses the interval's begin is divided in proportion to length.
 * Where the clock was not read, the nearest sample tells what the thread did, for a short while. */
#include "time_split.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cause.h"
#include "kernel_growth.h"
#include "look_stack.h"
#include "record_kinds.h"
#include "usage.h"

#define SAMPLE_REACH_NS_MIN (INT64_C(50) * 1000 * 1000)
#define BLOCKED_REACH_NS    (INT64_C(500) * 1000 * 1000)
#define NOISE_NS_MIN        10e6

struct splitter {
    struct sbx_time_split *split;
    const struct sbx_stall *stall;
    const struct sbx_stall_thread *thread;
    const struct sbx_stall_record *records; /* of the thread */
    size_t record_count, pause_room;
    double measured_ns; /* time without waits that lies between two readings of the CPU clock */
    double assumed_ns;  /* time without waits that samples stand for */
    int64_t sample_reach_ns;
    bool out_of_memory;
};

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static bool is_stack_sample(const struct sbx_stall_record *record)
{
    return sbx_kind_is_running_sample(record->kind);
}

static bool is_blocked_sample(const struct sbx_stall_record *record)
{
    return record->kind == SBX_RECORD_BLOCKED && record->op != SBX_OP_RUNNING;
}

static void add_pause(struct splitter *splitter, const struct sbx_wait *wait, double ns, bool exact)
{
    struct sbx_time_split *split = splitter->split;
    if (ns <= 0) {
        return;
    }
    if (wait->kind == SBX_RECORD_IDLE) {
        split->idle_ns += ns;
        return;
    }
    if (split->pause_count == splitter->pause_room) {
        size_t room = splitter->pause_room == 0 ? 64 : splitter->pause_room * 2;
        struct sbx_pause *grown = realloc(split->pauses, room * sizeof *grown);
        if (grown == NULL) {
            splitter->out_of_memory = true;
            return;
        }
        split->pauses = grown;
        splitter->pause_room = room;
    }
    split->pauses[split->pause_count++] = (struct sbx_pause){ns, *wait, exact};
    split->paused_ns += ns;
}

static void add_waits(struct splitter *splitter)
{
    struct sbx_time_split *split = splitter->split;
    for (size_t i = 0; i < split->wait_count; i++) {
        const struct sbx_wait *wait = &split->waits[i];
        int64_t begin_ns = later(wait->begin_ns, split->interval.begin_ns);
        int64_t end_ns = earlier(wait->end_ns, split->interval.end_ns);
        add_pause(splitter, wait, (double)(end_ns - begin_ns), true);
    }
}

static void add_sampled_pause(struct splitter *splitter, const struct sbx_stall_record *sample, double ns)
{
    struct sbx_wait wait = {
        .begin_ns = sample->begin_ns,
        .end_ns = sample->end_ns,
        .kind = sample->kind,
        .op = sample->op,
        .fd_class = sample->fd_class,
        .stack = sbx_look_stack(splitter->stall, splitter->thread, (size_t)(sample - splitter->records)),
        .object = sample->object,
        .peer = sample->peer,
        .waker = sample->wait,
        .amount = sample->amount,
        .cause = sbx_cause_of_call(sample->kind, sample->op, sample->fd_class, sample->amount),
    };
    add_pause(splitter, &wait, ns, false);
}

/* Looks from outside that lie in no measured wait. */
struct looks {
    uint64_t asleep, running;
};

static struct looks count_looks(const struct splitter *splitter, size_t first, size_t last)
{
    const struct sbx_time_split *split = splitter->split;
    struct looks looks = {0, 0};
    for (size_t i = first; i <= last; i++) {
        const struct sbx_stall_record *record = &splitter->records[i];
        if (record->kind == SBX_RECORD_BLOCKED &&
            sbx_waits_at(split->waits, split->wait_count, record->end_ns) == NULL) {
            *(is_blocked_sample(record) ? &looks.asleep : &looks.running) += sbx_record_looks(record);
        }
    }
    return looks;
}

/* Each look that found the thread asleep stands for `ns`. */
static void add_sleeps(struct splitter *splitter, size_t first, size_t last, double ns)
{
    const struct sbx_time_split *split = splitter->split;
    for (size_t i = first; i <= last; i++) {
        const struct sbx_stall_record *record = &splitter->records[i];
        if (is_blocked_sample(record) && sbx_waits_at(split->waits, split->wait_count, record->end_ns) == NULL) {
            add_sampled_pause(splitter, record, ns * (double)sbx_record_looks(record));
        }
    }
}

/* `ns` are neither CPU time nor measured wait, between records `first` and `last`. The blocked samples there that lie
 * outside of measured waits share it. If there are none, the thread was ready but did not run. */
static void share_rest(struct splitter *splitter, size_t first, size_t last, double ns)
{
    struct looks looks = count_looks(splitter, first, last);
    if (looks.asleep == 0) {
        splitter->split->runnable_ns += ns;
        return;
    }
    double share = ns / (double)(looks.asleep + looks.running);
    splitter->split->runnable_ns += share * (double)looks.running;
    add_sleeps(splitter, first, last, share);
}

/* The span between two readings of the CPU clock. */
static void add_measured(struct splitter *splitter, size_t first, size_t last)
{
    struct sbx_time_split *split = splitter->split;
    const struct sbx_stall_record *a = &splitter->records[first], *b = &splitter->records[last];
    double whole_ns = (double)sbx_waits_free_ns(split->waits, split->wait_count, a->end_ns, b->end_ns);
    double inside_ns =
        (double)sbx_waits_free_ns(split->waits, split->wait_count, later(a->end_ns, split->interval.begin_ns),
                                  earlier(b->end_ns, split->interval.end_ns));
    if (inside_ns <= 0) {
        return;
    }
    double cpu_ns = (double)(b->cpu_ns - a->cpu_ns);
    cpu_ns = cpu_ns > whole_ns ? whole_ns : cpu_ns; /* waits use some CPU time themselves */
    double share = inside_ns / whole_ns;
    splitter->measured_ns += inside_ns;
    split->on_cpu_ns += cpu_ns * share;
    share_rest(splitter, first, last, (whole_ns - cpu_ns) * share);
}

/* A part of the interval in which the CPU clock was not read, before the moment of `sample` or after it. */
static void add_assumed(struct splitter *splitter, int64_t begin_ns, int64_t end_ns,
                        const struct sbx_stall_record *sample)
{
    struct sbx_time_split *split = splitter->split;
    begin_ns = later(begin_ns, split->interval.begin_ns);
    end_ns = earlier(end_ns, split->interval.end_ns);
    double free_ns = (double)sbx_waits_free_ns(split->waits, split->wait_count, begin_ns, end_ns);
    if (free_ns <= 0 || sample == NULL) {
        return;
    }
    bool blocked = is_blocked_sample(sample) && (sample->flags & SBX_FLAG_IN_CALL) == 0 &&
                   sbx_waits_at(split->waits, split->wait_count, sample->end_ns) == NULL;
    if (!blocked && !is_stack_sample(sample) && (sample->flags & SBX_FLAG_IN_CALL) == 0) {
        return;
    }
    /* The thread was at this place at both ends of the run and at each look between them. */
    double reach_ns = (double)((blocked ? BLOCKED_REACH_NS : splitter->sample_reach_ns) +
                               (sample->end_ns > begin_ns ? sample->end_ns - later(sample->begin_ns, begin_ns) : 0));
    free_ns = free_ns > reach_ns ? reach_ns : free_ns;
    splitter->assumed_ns += free_ns;
    if (blocked) {
        add_sampled_pause(splitter, sample, free_ns);
    } else {
        split->on_cpu_ns += free_ns;
    }
}

/* Walk the records from one reading of the CPU clock to the next. */
static void walk_records(struct splitter *splitter)
{
    const struct sbx_stall_record *records = splitter->records;
    size_t count = splitter->record_count, anchor = count; /* index of the last reading; count: none yet */
    for (size_t i = 0; i < count; i++) {
        bool is_reading = records[i].cpu_ns >= 0 && (anchor == count || records[i].cpu_ns >= records[anchor].cpu_ns);
        if (anchor == count) {
            /* Before the first reading, a sample stands for the time before it. */
            int64_t from_ns = i == 0 ? records[i].begin_ns - splitter->sample_reach_ns : records[i - 1].end_ns;
            add_assumed(splitter, from_ns, records[i].end_ns, &records[i]);
        } else if (is_reading) {
            add_measured(splitter, anchor, i);
        }
        anchor = is_reading ? i : anchor;
    }
    /* After the last reading. */
    for (size_t i = anchor == count ? count : anchor + 1; i < count; i++) {
        add_assumed(splitter, records[i - 1].end_ns, records[i].end_ns, &records[i]);
    }
    if (count > 0) {
        add_assumed(splitter, records[count - 1].end_ns, splitter->split->interval.end_ns, &records[count - 1]);
    }
}

/* ---- the kernel's own count ---- */

/* Smaller differences are noise of two clocks and an interpolation. */
static double noise_ns(const struct sbx_time_split *split)
{
    return split->wall_ns / 20 > NOISE_NS_MIN ? split->wall_ns / 20 : NOISE_NS_MIN;
}

/* How many measured waits ended within the interval. Each may have lasted longer than what was waited for, until there
 * was a processor. Waits for a spin lock do not count: the thread never slept, and waits for a processor in the middle
 * of its wait. */
static double ended_waits(const struct sbx_time_split *split, bool idle)
{
    double ended = 0;
    for (size_t i = 0; i < split->wait_count; i++) {
        const struct sbx_wait *wait = &split->waits[i];
        ended += (wait->kind == SBX_RECORD_IDLE) == idle && !wait->open && wait->op != SBX_OP_SPIN_LOCK &&
                 wait->end_ns > split->interval.begin_ns && wait->end_ns <= split->interval.end_ns;
    }
    return ended;
}

enum {
    PAGE_LOOKS_MIN = 5, /* fewer looks that found it waiting for a page do not show what it did between them */
    SLEEP_LOOKS_MIN = 3 /* likewise for looks that found it asleep in a call */
};

/* For calls that are too short to be measured, and so many that looks do not find them between each two readings of the
 * CPU clock. The looks that found the thread asleep in a call share all of `ns`. False: there are too few such
 * looks. */
static bool share_among_sleeps(struct splitter *splitter, double ns)
{
    size_t first = 0;
    while (first < splitter->record_count && splitter->records[first].end_ns <= splitter->split->interval.begin_ns) {
        first++;
    }
    if (first == splitter->record_count) {
        return false;
    }
    struct looks looks = count_looks(splitter, first, splitter->record_count - 1);
    if (looks.asleep < SLEEP_LOOKS_MIN) {
        return false;
    }
    add_sleeps(splitter, first, splitter->record_count - 1, ns / (double)looks.asleep);
    return true;
}

/* Did looks find the thread waiting for pages so often that it spent the rest of the time so? The rest is the time in
 * which it was neither ready nor in a call. Waits for pages that are read ahead are too short for most looks, and do
 * not count as major faults. */
static bool was_seen_faulting(const struct splitter *splitter, double rest_ns)
{
    const struct sbx_time_split *split = splitter->split;
    double seen_ns = 0;
    uint64_t looks = 0;
    for (size_t i = 0; i < split->pause_count; i++) {
        seen_ns += split->pauses[i].wait.op == SBX_OP_PAGE_FAULT ? split->pauses[i].ns : 0;
    }
    for (size_t i = 0; i < splitter->record_count; i++) {
        const struct sbx_stall_record *record = &splitter->records[i];
        bool is_met = record->kind == SBX_RECORD_BLOCKED && record->op == SBX_OP_PAGE_FAULT &&
                      record->end_ns > split->interval.begin_ns;
        looks += is_met ? sbx_record_looks(record) : 0;
    }
    return looks >= PAGE_LOOKS_MIN && seen_ns * 10 >= rest_ns;
}

/* Time that is neither CPU time nor a wait was taken for ready. The kernel counts how much of it was ready. The thread
 * spent the rest off the processor: on pages if there were such faults, else in the calls that looks found it in, else
 * in unknown ways. If the kernel counts more ready time than that, the excess lies in the waits: a thread may have to
 * wait for a processor after each wait, and a busy machine has thousands of short waits. The waits share it evenly. */
static void settle_run_delay(const struct sbx_stall *stall, uint32_t thread, struct splitter *splitter)
{
    struct sbx_time_split *split = splitter->split;
    struct sbx_kernel_growth delay = sbx_kernel_growth_of(stall, thread, SBX_KERNEL_RUN_DELAY, split->interval);
    if (!delay.is_known) {
        return;
    }
    split->delay_known = true;
    split->delay_ns = delay.value * 1000;
    double rest_ns = split->runnable_ns - split->delay_ns;
    if (rest_ns > noise_ns(split)) {
        struct sbx_usage usage = sbx_usage_of(stall, thread, split->interval);
        split->runnable_ns = split->delay_ns;
        bool is_faulting = sbx_usage_is_faulting(&usage) || was_seen_faulting(splitter, rest_ns);
        if (is_faulting) {
            split->faulting_ns += rest_ns;
        } else if (!share_among_sleeps(splitter, rest_ns)) {
            split->unknown_ns += rest_ns;
        }
    } else if (-rest_ns > noise_ns(split)) {
        double waits = ended_waits(split, false), idle = ended_waits(split, true);
        double in_waits_ns = waits > 0 ? -rest_ns * waits / (waits + idle) : 0;
        split->delay_in_waits_ns = in_waits_ns < split->paused_ns ? in_waits_ns : split->paused_ns;
    }
}

int sbx_time_split_make(const struct sbx_stall *stall, uint32_t thread_index, struct sbx_interval interval,
                        struct sbx_time_split *split_out)
{
    const struct sbx_stall_thread *thread = &stall->threads[thread_index];
    struct sbx_time_split *split = split_out;
    *split = (struct sbx_time_split){.interval = interval, .wall_ns = (double)(interval.end_ns - interval.begin_ns)};
    struct splitter splitter = {.split = split,
                                .stall = stall,
                                .thread = thread,
                                .records = stall->records + thread->record_begin,
                                .record_count = thread->record_count};
    uint32_t interval_us = stall->policy.interval_us > stall->policy.async_interval_us
                               ? stall->policy.interval_us
                               : stall->policy.async_interval_us;
    splitter.sample_reach_ns = later(SAMPLE_REACH_NS_MIN, (int64_t)interval_us * 4000);
    int result = sbx_waits_create(stall, thread_index, &split->waits, &split->wait_count);
    if (result != 0) {
        return result;
    }
    add_waits(&splitter);
    walk_records(&splitter);
    if (splitter.out_of_memory) {
        sbx_time_split_finish(split);
        return -ENOMEM;
    }
    double free_ns = (double)sbx_waits_free_ns(split->waits, split->wait_count, interval.begin_ns, interval.end_ns);
    double known_ns = splitter.measured_ns + splitter.assumed_ns;
    split->unknown_ns = free_ns > known_ns ? free_ns - known_ns : 0;
    split->cpu_measured = splitter.measured_ns > 0 && splitter.measured_ns * 2 >= free_ns;
    if (split->cpu_measured) {
        settle_run_delay(stall, thread_index, &splitter);
    }
    return 0;
}

void sbx_time_split_finish(struct sbx_time_split *split)
{
    free(split->pauses);
    free(split->waits);
    *split = (struct sbx_time_split){0};
}
