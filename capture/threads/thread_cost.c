/* SPDX-License-Identifier: Apache-2.0 */
/* thread_cost.c - the sum over all threads of what they counted.
 *
 * What was timed varies from thread to thread (a deep stack, a cold cache), so each thread's captures are charged with
 * its own mean, and with everybody's until it has one. */
#include "thread_cost.h"

#include "process_state.h"
#include "thread_block.h"

/* Measured by bench_points (docs/PERFORMANCE.md) on 2 shared processors of some 2.5 GHz: a pair of malloc and free takes
 * 2.2 ns longer with its points in, a pread of one byte 37 ns. A look at the clock is sbx_leaf_ask() without a sample. A
 * signal to a running thread, entering the handler and leaving it again, takes the kernel some 3 us. They are constants
 * because a call that is let through cannot be timed for less than it costs; on a processor of twice the speed they are
 * twice too large, and the governor sheds a little early. */
enum {
    LEAF_PASS_PS = 1100,
    BLOCKING_PASS_PS = 40000,
    ASK_NS = 20,
    SIGNAL_NS = 3000,
};

/* The totals as they were, to tell what was added since: words of 32 bits come round. */
static struct {
    uint32_t asks, captures[SBX_COST_KINDS];
    uint64_t free_count;
    uint32_t generation;
    struct {
        uint32_t passes, captures;
    } group[SBX_POINT_GROUPS_MAX];
} seen[SBX_THREADS_MAX];
static uint64_t all_timed[SBX_COST_KINDS], all_timed_ns[SBX_COST_KINDS]; /* of the last round */
SBX_OF_ONE_PROCESS(seen);
SBX_OF_ONE_PROCESS(all_timed);
SBX_OF_ONE_PROCESS(all_timed_ns);

uint32_t sbx_cost_of_pass_ps(uint32_t group)
{
    bool is_leaf = group == SBX_GROUP_ALLOC || group == SBX_GROUP_FREE || group == SBX_GROUP_CLOCK;
    return is_leaf ? LEAF_PASS_PS : BLOCKING_PASS_PS;
}

/* What has come since *last. */
static uint32_t growth(const uint32_t *word, uint32_t *last)
{
    uint32_t now = sbx_load_relaxed(word), grown = now - *last;
    *last = now;
    return grown;
}

/* free() counts in the entry alone, which begins anew with each thread. */
static uint64_t frees_since(const struct sbx_thread *thread, uint32_t index)
{
    uint64_t now = sbx_load_relaxed(&thread->entry->free_count);
    uint32_t generation = sbx_load_relaxed(&thread->entry->generation);
    uint64_t before = generation == seen[index].generation ? seen[index].free_count : 0;
    seen[index].generation = generation;
    seen[index].free_count = now;
    return now > before ? now - before : 0;
}

static uint64_t mean_ns(const struct sbx_thread_cost *cost, unsigned kind)
{
    uint64_t timed = sbx_load_relaxed(&cost->timed[kind]), ns = sbx_load_relaxed(&cost->timed_ns[kind]);
    if (timed != 0) {
        return ns / timed;
    }
    return all_timed[kind] != 0 ? all_timed_ns[kind] / all_timed[kind] : 0;
}

static void collect_thread(const struct sbx_thread *thread, uint32_t index, struct sbx_cost_sums *sums,
                           uint64_t pass_ps[SBX_POINT_GROUPS_MAX])
{
    const struct sbx_thread_cost *cost = &thread->cost;
    sums->capture_ns[SBX_COST_LEAF] += (uint64_t)growth(&cost->asks, &seen[index].asks) * ASK_NS;
    for (unsigned kind = 0; kind < SBX_COST_KINDS; kind++) {
        uint64_t count = growth(&cost->captures[kind], &seen[index].captures[kind]);
        uint64_t each_ns = mean_ns(cost, kind) + (kind == SBX_COST_SIGNAL ? SIGNAL_NS : 0);
        sums->capture_ns[kind] += count * each_ns;
    }
    for (unsigned group = 0; group < SBX_GROUP_COUNT; group++) {
        pass_ps[group] +=
            (uint64_t)growth(&cost->group[group].passes, &seen[index].group[group].passes) * sbx_cost_of_pass_ps(group);
        sums->captures[group] += growth(&cost->group[group].captures, &seen[index].group[group].captures);
    }
    pass_ps[SBX_GROUP_FREE] += frees_since(thread, index) * sbx_cost_of_pass_ps(SBX_GROUP_FREE);
}

void sbx_cost_collect(struct sbx_cost_sums *sums)
{
    uint64_t pass_ps[SBX_POINT_GROUPS_MAX] = {0};
    uint64_t timed[SBX_COST_KINDS] = {0}, timed_ns[SBX_COST_KINDS] = {0};
    uint32_t count = sbx_thread_count();
    for (uint32_t i = 0; i < count; i++) {
        /* order: acquire block - the block stays, whoever it is given to */
        const struct sbx_thread *thread = sbx_load_acquire(&sbx_thread_blocks[i]);
        if (thread == NULL) {
            continue;
        }
        collect_thread(thread, i, sums, pass_ps);
        for (unsigned kind = 0; kind < SBX_COST_KINDS; kind++) {
            timed[kind] += sbx_load_relaxed(&thread->cost.timed[kind]);
            timed_ns[kind] += sbx_load_relaxed(&thread->cost.timed_ns[kind]);
        }
    }
    for (unsigned kind = 0; kind < SBX_COST_KINDS; kind++) {
        all_timed[kind] = timed[kind];
        all_timed_ns[kind] = timed_ns[kind];
    }
    for (unsigned group = 0; group < SBX_POINT_GROUPS_MAX; group++) {
        sums->pass_ns[group] += pass_ps[group] / 1000;
    }
}
