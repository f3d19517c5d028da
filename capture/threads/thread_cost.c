/* SPDX-License-Identifier: Apache-2.0 */
/* thread_cost.c - the sum over all threads of what they counted.
 *
 * The timed cost differs from thread to thread (a deep stack, a cold cache). So each thread's captures are charged with
 * the thread's own mean, and with the mean of all threads until it has one. */
#include "thread_cost.h"

#include "process_state.h"
#include "the_capture.h"
#include "thread_block.h"

/* The cost of a short path without its clock reads. Those differ between machines and are measured (clock_price.h). The
 * numbers come from bench_points (docs/PERFORMANCE.md) on 2 shared processors of some 2.5 GHz, where a clock read takes
 * 9.7 ns. With its points in, a pair of malloc and free takes 2.2 ns longer, a pread of one byte 35 ns, a turn of a
 * loop 40 ns, a read by a prompt call 8 ns. The second and the third read the clock twice. A countdown that ends costs
 * sbx_leaf_ask() without a sample: one clock read. A signal to a running thread costs the kernel some 3 us, for
 * entering the handler and leaving it again.
 *
 * These are constants, because a call that is let through cannot be timed for less than it costs. On a processor of
 * twice the speed they are twice too large, and the governor sheds a little early. An allocation or a clock read costs
 * 1.1 ns in a loop of nothing else. In programs a profiler finds three times that (bench_requests --share), because
 * branches are predicted less well there. */
enum {
    LEAF_PASS_PS = 3200,
    BLOCKING_REST_PS = 15500,
    PROMPT_PS = 8000,
    TURN_REST_PS = 20500,
    ASK_REST_PS = 10300,
    SIGNAL_NS = 3000,
    LOOKS_OF_A_PASS = 2,
    SEQUENCE_OF_A_READING = 4, /* how far a clock's sequence moves when both its lines are read anew (thread_clock.c) */
};

/* Cold caches. After a program has done other work for a while, the lines of our code and data are not in the cache any
 * more: some 60 lines for a turn of a loop, some 30 for a call that may block. The calls right after it find most of
 * them in the cache again. So calls come in bursts, and a burst pays for its lines once.
 *
 * A turn of a loop is one burst, with the calls that its thread makes in it. Many calls in a turn count as some more
 * bursts. A turn or a prompt call costs less than the burst of another call: by a profiler, redis's turns, some 130 us
 * apart, take 0.15 us, and a prompt call some 25 ns. On a thread without a loop each call is one burst, or each wait if
 * there are more waits. The cost of a burst grows with the CPU time since the last burst, up to the full cost. Fitted to what a profiler finds in eleven programs
 * (docs/PERFORMANCE.md): servers whose bursts are 300 us apart, and a Java machine, where they are some 10 us apart.
 *
 * While such threads are followed lightly, most of their calls are handed on: nothing is done behind the system call,
 * and the clock is read once or not at all. Then their calls are bursts as those of a loop are, and cost half. Fitted
 * to the same Java machine. */
enum {
    COLD_BURST_PS = 500000,
    COLD_TURN_PS = 200000,
    COLD_AFTER_NS = 20000,
    CALLS_OF_A_TURN = 8,
    LIGHT_SHARE = 2,
};

/* The totals of the last time, to find what was added since. 32-bit words wrap around. */
static struct {
    uint32_t asks, declined, captures[SBX_COST_KINDS];
    uint64_t free_count;
    uint32_t generation, hits, sequence;
    struct {
        uint32_t passes, prompt, captures;
    } group[SBX_POINT_GROUPS_MAX];
} seen[SBX_THREADS_MAX];
static uint64_t all_timed[SBX_COST_KINDS], all_timed_ns[SBX_COST_KINDS]; /* of the last round */
static uint64_t seen_process_ns;
SBX_OF_ONE_PROCESS(seen);
SBX_OF_ONE_PROCESS(seen_process_ns);
SBX_OF_ONE_PROCESS(all_timed);
SBX_OF_ONE_PROCESS(all_timed_ns);

static bool is_leaf(uint32_t group)
{
    return group == SBX_GROUP_ALLOC || group == SBX_GROUP_FREE || group == SBX_GROUP_CLOCK;
}

uint32_t sbx_cost_of_pass_ps(uint32_t group, const struct sbx_clock_price *price)
{
    return is_leaf(group) ? LEAF_PASS_PS : BLOCKING_REST_PS + LOOKS_OF_A_PASS * price->wall_ps;
}

uint32_t sbx_cost_of_prompt_ps(void)
{
    return PROMPT_PS;
}

uint32_t sbx_cost_of_turn_ps(const struct sbx_clock_price *price)
{
    return TURN_REST_PS + LOOKS_OF_A_PASS * price->wall_ps;
}

uint64_t sbx_cost_of_cold_ps(uint64_t bursts, uint64_t cpu_ns)
{
    if (bursts == 0) {
        return 0;
    }
    uint64_t apart_ns = cpu_ns / bursts;
    return bursts * (apart_ns < COLD_AFTER_NS ? COLD_BURST_PS * apart_ns / COLD_AFTER_NS : COLD_BURST_PS);
}

/* The growth since *last. */
static uint32_t grown(const uint32_t *word, uint32_t *last)
{
    uint32_t now = sbx_load_relaxed(word), before = *last;
    *last = now;
    return now - before;
}

/* A new thread has the block: its words start again. */
static void begin_anew(const struct sbx_thread *thread, uint32_t index)
{
    uint32_t generation = sbx_load_relaxed(&thread->entry->generation);
    if (generation != seen[index].generation) {
        seen[index].generation = generation;
        seen[index].free_count = 0;
        seen[index].hits = seen[index].sequence = 0;
    }
}

/* free() is counted only in the entry. */
static uint64_t frees_since(const struct sbx_thread *thread, uint32_t index)
{
    uint64_t now = sbx_load_relaxed(&thread->entry->free_count), before = seen[index].free_count;
    seen[index].free_count = now;
    return now > before ? now - before : 0;
}

/* A loop that is found at another place counts its turns from 0. */
static uint64_t turns_since(const struct sbx_thread *thread, uint32_t index)
{
    uint32_t now = sbx_load_relaxed(&thread->loop.hits), before = seen[index].hits;
    seen[index].hits = now;
    return now >= before ? now - before : now;
}

/* Clock reads of a thread that asked the kernel. A read of wall time alone counts for half: it is cheaper, and rare. */
static uint64_t readings_since(const struct sbx_thread *thread, uint32_t index)
{
    uint32_t now = sbx_load_relaxed(&thread->clock.sequence), before = seen[index].sequence;
    uint32_t readings = (now >= before ? now - before : now) / SEQUENCE_OF_A_READING;
    seen[index].sequence = now >= before ? before + readings * SEQUENCE_OF_A_READING : now;
    return readings;
}

static uint64_t mean_ns(const struct sbx_thread_cost *cost, unsigned kind)
{
    uint64_t timed = sbx_load_relaxed(&cost->timed[kind]), ns = sbx_load_relaxed(&cost->timed_ns[kind]);
    if (timed != 0) {
        return ns / timed;
    }
    return all_timed[kind] != 0 ? all_timed_ns[kind] / all_timed[kind] : 0;
}

/* In picoseconds, because the amounts added are nanoseconds or less. */
struct growth {
    uint64_t pass_ps[SBX_POINT_GROUPS_MAX];
    uint64_t passes[SBX_POINT_GROUPS_MAX]; /* of calls that may block, without prompt ones */
    uint64_t prompt[SBX_POINT_GROUPS_MAX];
    uint64_t ask_ps, readings, turns, parts; /* parts of bursts: CALLS_OF_A_TURN parts are one burst */
};

static void collect_thread(const struct sbx_thread *thread, uint32_t index, const struct sbx_clock_price *price,
                           struct sbx_cost_sums *sums, struct growth *growth)
{
    const struct sbx_thread_cost *cost = &thread->cost;
    uint64_t calls = 0;
    bool is_light = !thread->has_loop && sbx_load_relaxed(&sbx_the_capture.follows_lightly) != 0; /* relaxed: a hint */
    begin_anew(thread, index);
    growth->ask_ps += (uint64_t)grown(&cost->asks, &seen[index].asks) * (ASK_REST_PS + price->wall_ps);
    growth->readings += readings_since(thread, index);
    sums->capture_ns[SBX_COST_SIGNAL] += (uint64_t)grown(&cost->declined, &seen[index].declined) * SIGNAL_NS;
    for (unsigned kind = 0; kind < SBX_COST_KINDS; kind++) {
        uint64_t count = grown(&cost->captures[kind], &seen[index].captures[kind]);
        uint64_t each_ns = mean_ns(cost, kind) + (kind == SBX_COST_SIGNAL ? SIGNAL_NS : 0);
        sums->capture_ns[kind] += count * each_ns;
    }
    for (unsigned group = 0; group < SBX_GROUP_COUNT; group++) {
        uint64_t passes = grown(&cost->group[group].passes, &seen[index].group[group].passes);
        /* The two words move one after the other, so one of them may be seen late: by the next round it is right. */
        uint64_t prompt = grown(&cost->group[group].prompt, &seen[index].group[group].prompt);
        uint64_t others = passes > prompt ? passes - prompt : 0;
        growth->pass_ps[group] +=
            others * sbx_cost_of_pass_ps(group, price) / (is_light && !is_leaf(group) ? LIGHT_SHARE : 1) +
            prompt * PROMPT_PS;
        growth->passes[group] += is_leaf(group) ? 0 : others;
        growth->prompt[group] += prompt;
        calls += is_leaf(group) ? 0 : others + prompt;
        sums->captures[group] += grown(&cost->group[group].captures, &seen[index].group[group].captures);
    }
    uint64_t turns = turns_since(thread, index);
    growth->turns += turns;
    growth->parts += calls * (turns != 0 || is_light ? 1 : CALLS_OF_A_TURN);
    growth->pass_ps[SBX_GROUP_POLL] += turns * sbx_cost_of_turn_ps(price);
    growth->pass_ps[SBX_GROUP_FREE] += frees_since(thread, index) * sbx_cost_of_pass_ps(SBX_GROUP_FREE, price);
}

/* How much of a burst's price, or of a part of it, a turn or a prompt call costs. */
static uint64_t of_turn_ps(uint64_t burst_ps)
{
    return burst_ps * COLD_TURN_PS / COLD_BURST_PS;
}

/* Add the cost of cold caches. A turn that has waited is also a wait, visible as a new clock read. Bursts other than
 * turns are charged to the groups in proportion to their calls. */
static void add_cold(struct growth *growth, uint64_t cpu_ns)
{
    uint64_t passes = 0;
    for (unsigned group = 0; group < SBX_GROUP_COUNT; group++) {
        passes += growth->passes[group] + growth->prompt[group];
    }
    uint64_t waits = growth->readings > growth->turns ? growth->readings - growth->turns : 0;
    uint64_t others = growth->parts / CALLS_OF_A_TURN > waits ? growth->parts / CALLS_OF_A_TURN : waits;
    uint64_t bursts = growth->turns + (passes != 0 ? others : 0);
    uint64_t each_ps = bursts != 0 ? sbx_cost_of_cold_ps(bursts, cpu_ns) / bursts : 0;
    growth->pass_ps[SBX_GROUP_POLL] += growth->turns * of_turn_ps(each_ps);
    uint64_t each_call_ps = passes != 0 ? (bursts - growth->turns) * each_ps / passes : 0;
    for (unsigned group = 0; group < SBX_GROUP_COUNT; group++) {
        growth->pass_ps[group] +=
            each_call_ps * growth->passes[group] + of_turn_ps(each_call_ps) * growth->prompt[group];
    }
}

void sbx_cost_collect(struct sbx_cost_sums *sums, const struct sbx_clock_price *price, uint64_t process_ns)
{
    struct growth growth = {.ask_ps = 0};
    uint64_t timed[SBX_COST_KINDS] = {0}, timed_ns[SBX_COST_KINDS] = {0};
    uint32_t count = sbx_thread_count();
    for (uint32_t i = 0; i < count; i++) {
        /* order: acquire block - the block stays mapped, whichever thread gets it */
        const struct sbx_thread *thread = sbx_load_acquire(&sbx_thread_blocks[i]);
        if (thread == NULL) {
            continue;
        }
        collect_thread(thread, i, price, sums, &growth);
        for (unsigned kind = 0; kind < SBX_COST_KINDS; kind++) {
            timed[kind] += sbx_load_relaxed(&thread->cost.timed[kind]);
            timed_ns[kind] += sbx_load_relaxed(&thread->cost.timed_ns[kind]);
        }
    }
    for (unsigned kind = 0; kind < SBX_COST_KINDS; kind++) {
        all_timed[kind] = timed[kind];
        all_timed_ns[kind] = timed_ns[kind];
    }
    add_cold(&growth, process_ns > seen_process_ns ? process_ns - seen_process_ns : 0);
    seen_process_ns = process_ns;
    for (unsigned group = 0; group < SBX_POINT_GROUPS_MAX; group++) {
        sums->pass_ns[group] += growth.pass_ps[group] / 1000;
    }
    sums->capture_ns[SBX_COST_LEAF] += growth.ask_ps / 1000;
    sums->capture_ns[SBX_COST_CALL] += growth.readings * price->anew_ps / 1000;
}
