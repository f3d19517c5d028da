/* SPDX-License-Identifier: Apache-2.0 */
/* thread_clock.h - what time it is and how much of it this thread has run, without a system call.
 *
 * Wall time. A thread keeps a line through one reading of CLOCK_MONOTONIC: time = cycle counter, scaled, plus an
 * offset. The values are CLOCK_MONOTONIC's nanoseconds, to compare with any other reading of it: some 20 ns off, plus
 * what NTP slews in SBX_CLOCK_REBASE_NS (5 us at the kernel's own limit of 500 ppm).
 *
 * CPU time. A thread that runs uses as much CPU as time passes, so the same line serves, with another offset, for as
 * long as the thread was not switched out. That is what the rseq word tells (rseq.h): armed before
 * CLOCK_THREAD_CPUTIME_ID is read once, and looked at after the counter at each reading. If it is gone, the kernel is
 * asked again. The word is also lost to signals, which costs a slow reading and nothing else. Switches cannot be
 * missed: the kernel takes the word down before the thread runs on, and interrupts fall between instructions, so a
 * switch before the counter was read is seen by the load after it.
 *
 * Both lines are thrown away after SBX_CLOCK_REBASE_NS and drawn anew, the CPU line too although rseq says
 * "unswitched": while a hypervisor has stolen the processor the counter goes on, the guest's kernel does not charge the
 * thread, and nothing in the guest sees a switch; likewise during an interrupt where the kernel keeps their time apart
 * (CONFIG_IRQ_TIME_ACCOUNTING). One system call in 10 ms of a thread that reads often is 0.003 % of its time, so there is
 * no reason to redraw the two apart. (Readings of wall time alone redraw only their own line: no system call.)
 *
 * No reading of a thread is less than one before, of either clock: a line that ran ahead is held until it is true
 * again. What another thread asks the kernel about this one is held by the reader (chunk_reader.c).
 *
 * Interruptions. The lines are a thread's own, and a signal handler on that thread may read the same clock at any
 * instruction. `sequence` tells the interrupted one:
 *
 *   I1  even: the lines are whole. Odd: they are being written; a handler that finds it odd asks the kernel, and writes
 *       nothing.
 *   I2  it moves on with every change of a line and every arming of the word, so a reading that finds it unmoved, and
 *       the word armed, has used a line that was drawn after that arming.
 *   I3  who draws a line arms first, then reads the clocks, then writes; he writes only if it did not move in between.
 *   I4  0 in `cpu_base` or `wall_base`: there is no such line, and the counter is not read: it may be forbidden.
 *
 * What a nested reading may cost the interrupted one is a slow reading. (Two readings of CPU time nested in the few
 * instructions in which a floor is updated could lower that floor by the time the handler took; captures do not nest
 * them.) A child of fork has lines of the parent's CPU clock and must not read them; it may zero the block and go on.
 * After vfork, until exec, the child reads the parent's lines, or its own after a slow reading: do not record there. */
#ifndef SBX_THREAD_CLOCK_H
#define SBX_THREAD_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "clock.h"
#include "cycle_counter.h"
#include "marks.h"
#include "order.h"
#include "rseq.h"

/* Where the times come from. Each is right; the later ones are cheaper. */
enum sbx_clock_source {
    SBX_CLOCK_KERNEL = 0, /* clock_gettime for both: 25 ns and 250 ns */
    SBX_CLOCK_CYCLES = 1, /* wall time from the cycle counter, CPU time from the kernel */
    SBX_CLOCK_RSEQ = 2    /* both without a system call: 12 ns together */
};

/* One thread's. Zeroed memory is a valid clock that has read nothing. Must be zeroed before another thread uses it: CPU
 * times are of one thread. One cache line, if it is aligned to one; all that a fast reading touches beside the rseq
 * word. */
struct sbx_thread_clock {
    uint64_t cpu_base;    /* scaled count at which the CPU line was drawn; 0: there is none */
    uint64_t wall_base;   /* the same of the wall line; never older than the CPU line */
    uint64_t multiplier;  /* of both lines, 32.32 ns a count; a line ends where the process's changes */
    uint64_t cpu_offset;  /* scaled count + this = CPU time */
    uint64_t wall_offset; /* scaled count + this = CLOCK_MONOTONIC */
    uint64_t cpu_floor;   /* the last CPU time told */
    uint64_t wall_floor;  /* the last wall time told */
    uint32_t sequence;    /* I1, I2 */
    int32_t rseq_offset;  /* of the area from the thread pointer; 0: not used. Not an address: see sbx_rseq_area() */
};

_Static_assert(sizeof(struct sbx_thread_clock) == 64, "one cache line");

/* The descriptor the word is armed with. Hidden, so that its address is computed, not loaded. */
extern const struct sbx_rseq_cs sbx_clock_rseq_cs __attribute__((visibility("hidden")));

/* ---- reading: any thread, its own clock; signal safe; errno kept ---- */

/* The slow readings: ask the kernel and draw new lines if the source has any. Only called by the two below. */
SBX_SIGNAL_SAFE struct sbx_times sbx_thread_clock_read_slow(struct sbx_thread_clock *clock);
SBX_SIGNAL_SAFE uint64_t sbx_thread_clock_wall_slow(struct sbx_thread_clock *clock);

SBX_SIGNAL_SAFE static inline bool sbx_clock_word_is_ours(int32_t rseq_offset)
{
    return sbx_load_relaxed(&sbx_rseq_area(rseq_offset)->rseq_cs) == (uint64_t)(uintptr_t)&sbx_clock_rseq_cs;
}

/* Wall and CPU time now. */
SBX_SIGNAL_SAFE static inline struct sbx_times sbx_thread_clock_read(struct sbx_thread_clock *clock)
{
    uint32_t sequence = sbx_load_relaxed(&clock->sequence);
    sbx_order_with_handler();
    uint64_t base = clock->cpu_base;
    if (SBX_LIKELY(base != 0)) { /* I4 */
        int32_t rseq_offset = clock->rseq_offset;
        uint64_t scaled = sbx_cycles_scaled(sbx_cycle_counter(), clock->multiplier);
        struct sbx_times times = {scaled + clock->wall_offset, scaled + clock->cpu_offset};
        sbx_order_with_handler();
        /* Unsigned: a counter that went back, as after a suspend to memory, is as stale as one that went far. */
        if (SBX_LIKELY(sbx_clock_word_is_ours(rseq_offset) && scaled - base < SBX_CLOCK_REBASE_NS &&
                       sbx_load_relaxed(&clock->sequence) == (sequence & ~1u))) { /* I1, I2 */
            times.wall_ns = times.wall_ns < clock->wall_floor ? clock->wall_floor : times.wall_ns;
            times.cpu_ns = times.cpu_ns < clock->cpu_floor ? clock->cpu_floor : times.cpu_ns;
            clock->wall_floor = times.wall_ns;
            clock->cpu_floor = times.cpu_ns;
            return times;
        }
    }
    return sbx_thread_clock_read_slow(clock);
}

/* Wall time now if a line tells it, else false: for who has another way to go then. */
SBX_SIGNAL_SAFE static inline bool sbx_thread_clock_wall_at_once(struct sbx_thread_clock *clock, uint64_t *wall_ns_out)
{
    uint32_t sequence = sbx_load_relaxed(&clock->sequence);
    sbx_order_with_handler();
    uint64_t base = clock->wall_base;
    if (SBX_UNLIKELY(base == 0)) { /* I4 */
        return false;
    }
    uint64_t scaled = sbx_cycles_scaled(sbx_cycle_counter(), clock->multiplier);
    uint64_t wall_ns = scaled + clock->wall_offset;
    sbx_order_with_handler();
    if (SBX_UNLIKELY(scaled - base >= SBX_CLOCK_REBASE_NS ||
                     sbx_load_relaxed(&clock->sequence) != (sequence & ~1u))) { /* I1 */
        return false;
    }
    wall_ns = wall_ns < clock->wall_floor ? clock->wall_floor : wall_ns;
    *wall_ns_out = clock->wall_floor = wall_ns;
    return true;
}

/* Wall time now, for who needs no CPU time: half a clock_gettime if the source is CYCLES or better, else the same. */
SBX_SIGNAL_SAFE static inline uint64_t sbx_thread_clock_wall_ns(struct sbx_thread_clock *clock)
{
    uint64_t wall_ns;
    return SBX_LIKELY(sbx_thread_clock_wall_at_once(clock, &wall_ns)) ? wall_ns : sbx_thread_clock_wall_slow(clock);
}

/* The last wall time that the thread was told: for who has just had it read. */
SBX_SIGNAL_SAFE static inline uint64_t sbx_thread_clock_last_ns(const struct sbx_thread_clock *clock)
{
    return clock->wall_floor;
}

/* Take the word down if it is ours: the next reading asks the kernel. Call it before a blocking call of ours, so that
 * no habit of a kernel decides whether the sleep is seen (clock_calibration.c: Linux 6.19), and when the library leaves
 * the thread. Another user's word stays. */
SBX_SIGNAL_SAFE static inline void sbx_thread_clock_disarm(struct sbx_thread_clock *clock)
{
    if (clock->rseq_offset != 0 && sbx_clock_word_is_ours(clock->rseq_offset)) {
        sbx_store_relaxed(&sbx_rseq_area(clock->rseq_offset)->rseq_cs, 0);
    }
}

/* Arm the word, to see afterwards whether the thread was switched out since. False: it is another's, or this thread has none. There is
 * no CPU line from here on but one that a handler draws: none is to be believed that was drawn before the word was armed. */
SBX_SIGNAL_SAFE static inline bool sbx_thread_clock_watch(struct sbx_thread_clock *clock)
{
    struct sbx_rseq_area *area = sbx_rseq_area(clock->rseq_offset);
    uint64_t word = sbx_load_relaxed(&area->rseq_cs), ours = (uint64_t)(uintptr_t)&sbx_clock_rseq_cs;
    if (SBX_LIKELY(word == ours)) {
        return true;
    }
    if (word != 0 || sbx_load_relaxed(&area->cpu_id) < 0) {
        return false;
    }
    clock->cpu_base = 0; /* before, for a handler that reads once it is armed */
    sbx_order_with_handler();
    sbx_store_relaxed(&area->rseq_cs, ours);
    sbx_order_with_handler();
    clock->cpu_base = 0; /* and behind, because a handler that came between has drawn it */
    return true;
}

/* A reading was left in the middle by a jump: the lines may be half drawn, and are drawn anew. */
SBX_SIGNAL_SAFE static inline void sbx_thread_clock_was_left(struct sbx_thread_clock *clock)
{
    uint32_t sequence = sbx_load_relaxed(&clock->sequence) | 1; /* odd: a handler's reading keeps out (I1) */
    sbx_store_relaxed(&clock->sequence, sequence);
    sbx_order_with_handler();
    clock->cpu_base = 0;
    clock->wall_base = 0;
    sbx_order_with_handler();
    sbx_store_relaxed(&clock->sequence, sequence + 1);
}

/* Slow readings of this process that found the word in another's use (tcmalloc, librseq): it is left alone, and the CPU
 * time of that reading is the kernel's. Any thread. */
SBX_SIGNAL_SAFE uint64_t sbx_clock_foreign_words(void);

/* ---- the process's source ---- */

/* Take the first calibration pair and look at what kernel and processor say: some microseconds, no allocation; opens
 * and closes one file of /sys. The source stays KERNEL. Any thread, once; again changes nothing. Not signal safe. */
void sbx_clock_start(void);

/* Compare the counter with the kernel's clocks, choose the best source there is, and say it. Called off the hot path by
 * one background thread of ours: some milliseconds apart until the answer is better than KERNEL (about 20 ms after
 * start) or some tries have passed, then whenever that thread is awake anyway, at most about once a second; lines live
 * 10 ms, so a counter that is no longer compared can do little harm. Costs microseconds; the call that first finds the
 * counter calibrated also sleeps some tens of microseconds a few times, to test rseq: 1 to 3 ms. Not signal safe, not
 * for two threads. */
enum sbx_clock_source sbx_clock_calibrate(void);

/* Use nothing better than `limit`; RSEQ, the start, is no limit. Any thread; lines drawn before are used 10 ms more. */
void sbx_clock_limit(enum sbx_clock_source limit);

/* What readings use now. Signal safe. */
SBX_SIGNAL_SAFE enum sbx_clock_source sbx_clock_source(void);

/* "kernel", "cycles", "rseq"; "unknown" for a number out of a recording that is none of these. */
static inline const char *sbx_clock_source_name(uint32_t source)
{
    static const char *const names[] = {
        [SBX_CLOCK_KERNEL] = "kernel", [SBX_CLOCK_CYCLES] = "cycles", [SBX_CLOCK_RSEQ] = "rseq"};
    return source < SBX_COUNT_OF(names) ? names[source] : "unknown";
}

/* ---- between thread_clock.c and clock_calibration.c ---- */

/* What readers need of the calibration. */
struct sbx_clock_scale {
    uint32_t best;  /* enum sbx_clock_source. order: release clock.best, by sbx_clock_calibrate(), after the rest */
    uint32_t limit; /* enum sbx_clock_source, of sbx_clock_limit(). Applied by readers: two writers, no race */
    uint64_t multiplier; /* ns a count, 32.32; 0 before the first calibration. Replaced as one word, at any time */
    int32_t rseq_offset; /* glibc's __rseq_offset; 0: no rseq. Written once */
};
extern struct sbx_clock_scale sbx_the_clock_scale __attribute__((visibility("hidden")));

/* The word of the calling thread, as a slow reading treats it: true when it now is ours. Counts a foreign one. */
SBX_SIGNAL_SAFE bool sbx_clock_arm(int32_t rseq_offset);

#endif
