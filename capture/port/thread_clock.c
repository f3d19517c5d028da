/* SPDX-License-Identifier: Apache-2.0 */
/* thread_clock.c - the slow readings of a thread's clock: they ask the kernel and draw new lines.
 *
 * This is apart from clock_calibration.c because it runs in signal handlers (docs/SIGNAL_SAFETY.md), and that file does
 * not. */
#include "thread_clock.h"

enum {
    /* A line is drawn through the middle of two counts around the kernel's answer, so it is wrong by at most half their
     * distance. An interrupt, stolen time or a switch between the counts would stay in the line for 10 ms. So if a
     * drawing takes longer than this, it is used for its one reading and not kept. The limits are five times what a
     * warm reading takes; cold readings pass too. */
    WIDEST_WALL_NS = 1000,
    WIDEST_CPU_NS = 5000,
    /* A wall reading wider than this had cache misses. These come before the kernel's page is read and not after, so
     * the middle is wrong. A second reading is warm, and cheap beside the misses. */
    WARM_WALL_NS = 100
};

/* No code runs in this range (it is data), so the kernel never jumps to the abort address. It still checks that the
 * signature stands before it, and kills the process if not. Both are static, and the library is linked -z nodelete,
 * because the kernel reads them at a thread's next switch, whenever that is. */
static const uint32_t never_run[2] = {SBX_RSEQ_SIGNATURE, 0};
const struct sbx_rseq_cs sbx_clock_rseq_cs = {
    .start_ip = (uintptr_t)&sbx_clock_rseq_cs,
    .post_commit_offset = 1,
    .abort_ip = (uintptr_t)&never_run[1],
};

struct sbx_clock_scale sbx_the_clock_scale = {.best = SBX_CLOCK_KERNEL, .limit = SBX_CLOCK_RSEQ};
static uint64_t foreign_words;

enum sbx_clock_source sbx_clock_source(void)
{
    /* order: acquire clock.best - the multiplier and the offset that go with it */
    uint32_t best = sbx_load_acquire(&sbx_the_clock_scale.best);
    uint32_t limit = sbx_load_relaxed(&sbx_the_clock_scale.limit); /* only this number */
    return (enum sbx_clock_source)(best < limit ? best : limit);
}

/* A wall or CPU line, before it is written. */
struct line {
    uint64_t base; /* 0: none */
    uint64_t offset;
};

SBX_SIGNAL_SAFE static struct line draw_line(uint64_t before, uint64_t after, uint64_t multiplier, uint64_t value_ns,
                                             uint64_t widest_ns)
{
    uint64_t scaled = sbx_cycles_scaled(before, multiplier);
    uint64_t width = sbx_cycles_scaled(after, multiplier) - scaled;
    if (width > widest_ns) { /* also when the counter went back */
        return (struct line){0, 0};
    }
    scaled += width / 2;
    return (struct line){scaled, value_ns - scaled};
}

/* Reads CLOCK_MONOTONIC, once or twice, and draws its line. `after_out` is the count after the last reading. */
SBX_SIGNAL_SAFE static struct line draw_wall_line(uint64_t multiplier, uint64_t *wall_ns_out, uint64_t *after_out)
{
    for (int second = 0;; second++) {
        uint64_t before = sbx_cycle_counter();
        *wall_ns_out = sbx_now_ns();
        *after_out = sbx_cycle_counter();
        struct line line =
            draw_line(before, *after_out, multiplier, *wall_ns_out, second ? WIDEST_WALL_NS : WARM_WALL_NS);
        if (line.base != 0 || second) {
            return line;
        }
    }
}

/* Returns a value that never goes backwards. `writable`: this code did not interrupt a thread that was writing the
 * clock (I1). */
SBX_SIGNAL_SAFE static uint64_t hold(uint64_t *floor, uint64_t value, bool writable)
{
    uint64_t lowest = sbx_load_relaxed(floor);
    if (value < lowest) {
        return lowest;
    }
    if (writable) {
        sbx_store_relaxed(floor, value);
    }
    return value;
}

/* The highest wall time that the present line can have returned: its value now, or at the end of its life. The floor
 * alone is not enough, because an interrupted reading may have lowered it. */
SBX_SIGNAL_SAFE static uint64_t most_told(const struct sbx_thread_clock *clock, uint64_t cycles)
{
    if (clock->wall_base == 0) {
        return clock->wall_floor;
    }
    uint64_t age = sbx_cycles_scaled(cycles, clock->multiplier) - clock->wall_base;
    age = age < SBX_CLOCK_REBASE_NS ? age : SBX_CLOCK_REBASE_NS;
    uint64_t told = clock->wall_base + clock->wall_offset + age;
    return told > clock->wall_floor ? told : clock->wall_floor;
}

/* Begin to write the lines, if they were not written since `sequence` (I3). This is one locked instruction. Otherwise a
 * signal handler could draw lines of its own between the look and the store, and then this thread's lines, which are
 * older than the handler's arming, would be trusted. */
SBX_SIGNAL_SAFE static bool begin_lines(struct sbx_thread_clock *clock, uint32_t sequence)
{
    /* order: none between threads - the clock is the thread's own, and I1 keeps its signal handlers out */
    return sbx_cas_acq_rel(&clock->sequence, &sequence, sequence + 1);
}

SBX_SIGNAL_SAFE static void end_lines(struct sbx_thread_clock *clock, uint32_t sequence)
{
    sbx_order_with_handler();
    sbx_store_relaxed(&clock->sequence, sequence + 2);
}

SBX_SIGNAL_SAFE static void drop_lines(struct sbx_thread_clock *clock, uint32_t sequence)
{
    if ((clock->cpu_base | clock->wall_base) != 0 && begin_lines(clock, sequence)) {
        clock->cpu_base = 0;
        clock->wall_base = 0;
        end_lines(clock, sequence);
    }
}

bool sbx_clock_arm(int32_t rseq_offset)
{
    struct sbx_rseq_area *area = sbx_rseq_area(rseq_offset);
    if (sbx_load_relaxed(&area->cpu_id) < 0) {
        return false; /* not registered: the kernel would never clear the word */
    }
    uint64_t word = sbx_load_relaxed(&area->rseq_cs);
    uint64_t ours = (uint64_t)(uintptr_t)&sbx_clock_rseq_cs;
    if (word != 0 && word != ours) {
        sbx_add_relaxed(&foreign_words, 1); /* statistics */
        return false;
    }
    sbx_store_relaxed(&area->rseq_cs, ours);
    return true;
}

struct sbx_times sbx_thread_clock_read_slow(struct sbx_thread_clock *clock)
{
    enum sbx_clock_source source = sbx_clock_source();
    uint32_t sequence = sbx_load_relaxed(&clock->sequence);
    bool writable = (sequence & 1) == 0;
    if (source == SBX_CLOCK_KERNEL || !writable) {
        if (writable) {
            drop_lines(clock, sequence);
        }
        uint64_t wall_ns = sbx_now_ns();
        uint64_t cpu_ns = sbx_own_cpu_ns();
        return (struct sbx_times){hold(&clock->wall_floor, wall_ns, writable),
                                  hold(&clock->cpu_floor, cpu_ns, writable)};
    }
    if (source == SBX_CLOCK_CYCLES) {
        if (clock->cpu_base != 0) {
            drop_lines(clock, sequence); /* the source was RSEQ before */
        }
        uint64_t wall_ns = sbx_thread_clock_wall_ns(clock);
        return (struct sbx_times){wall_ns, hold(&clock->cpu_floor, sbx_own_cpu_ns(), true)};
    }

    /* I3. Added with one instruction, so that no handler's change is lost. */
    sequence = sbx_add_relaxed(&clock->sequence, 2) + 2;
    sbx_order_with_handler();
    int32_t rseq_offset = sbx_the_clock_scale.rseq_offset;
    bool armed = sbx_clock_arm(rseq_offset);
    sbx_order_with_handler();
    uint64_t multiplier = sbx_load_relaxed(&sbx_the_clock_scale.multiplier);
    uint64_t wall_ns;
    uint64_t between;
    struct line wall = draw_wall_line(multiplier, &wall_ns, &between);
    uint64_t cpu_ns = sbx_own_cpu_ns();
    struct line cpu = draw_line(between, sbx_cycle_counter(), multiplier, cpu_ns, WIDEST_CPU_NS);
    if (begin_lines(clock, sequence)) {
        clock->wall_floor = most_told(clock, between);
        clock->multiplier = multiplier;
        clock->rseq_offset = rseq_offset;
        clock->wall_offset = wall.offset;
        clock->cpu_offset = cpu.offset;
        clock->wall_base = wall.base;
        clock->cpu_base = armed && wall.base != 0 ? cpu.base : 0;
        end_lines(clock, sequence);
    }
    return (struct sbx_times){hold(&clock->wall_floor, wall_ns, true), hold(&clock->cpu_floor, cpu_ns, true)};
}

uint64_t sbx_thread_clock_wall_slow(struct sbx_thread_clock *clock)
{
    enum sbx_clock_source source = sbx_clock_source();
    uint32_t sequence = sbx_load_relaxed(&clock->sequence);
    bool writable = (sequence & 1) == 0;
    if (source == SBX_CLOCK_KERNEL || !writable) {
        if (writable) {
            drop_lines(clock, sequence);
        }
        return hold(&clock->wall_floor, sbx_now_ns(), writable);
    }
    uint64_t multiplier = sbx_load_relaxed(&sbx_the_clock_scale.multiplier);
    uint64_t wall_ns;
    uint64_t after;
    struct line wall = draw_wall_line(multiplier, &wall_ns, &after);
    if (wall.base != 0 && begin_lines(clock, sequence)) {
        clock->wall_floor = most_told(clock, after);
        if (clock->multiplier != multiplier) {
            clock->cpu_base = 0; /* the CPU line was drawn with the old multiplier */
            clock->multiplier = multiplier;
        }
        clock->wall_offset = wall.offset;
        clock->wall_base = wall.base;
        end_lines(clock, sequence);
    }
    return hold(&clock->wall_floor, wall_ns, true);
}

uint64_t sbx_clock_foreign_words(void)
{
    return sbx_load_relaxed(&foreign_words);
}
