/* SPDX-License-Identifier: Apache-2.0 */
/* thread_clock.h - the wall time and the CPU time of the calling thread, without a system call.
 *
 * Wall time. A thread keeps a line through one reading of CLOCK_MONOTONIC: time = cycle counter, scaled, plus an
 * offset. The values are nanoseconds of CLOCK_MONOTONIC and can be compared with any other reading of it. They are some
 * 20 ns off, plus what NTP slews in SBX_CLOCK_REBASE_NS (5 us at the kernel's own limit of 500 ppm).
 *
 * CPU time. While a thread runs, its CPU time grows as fast as the wall time. So the same line serves, with another
 * offset, for as long as the thread was not switched out. The rseq word shows that (rseq.h): it is armed before
 * CLOCK_THREAD_CPUTIME_ID is read once, and at each reading it is checked after the counter was read. If it was
 * cleared, the kernel is asked again. Signals clear the word too, which only costs a slow reading. Switches cannot be
 * missed: the kernel clears the word before the thread runs on, and interrupts fall between instructions. So a switch
 * before the counter was read is seen by the load after it.
 *
 * Both lines are thrown away after SBX_CLOCK_REBASE_NS and drawn anew, the CPU line too, although the rseq word says
 * that the thread was not switched out. While a hypervisor has stolen the processor, the counter goes on, the guest's
 * kernel does not charge the thread, and nothing in the guest sees a switch. The same happens during an interrupt if
 * the kernel counts interrupt time separately (CONFIG_IRQ_TIME_ACCOUNTING). One system call in 10 ms of a thread that
 * reads often is 0.003 % of its time, so there is no reason to redraw the two lines separately. (Readings of wall time
 * alone redraw only their own line, without a system call.)
 *
 * No reading of a thread, of either clock, is less than an earlier one: if a line ran ahead, the last value is held
 * until the line is right again. Values that another thread gets from the kernel about this thread are held by the
 * reader (chunk_reader.c).
 *
 * Interruptions. The lines belong to a thread, and a signal handler on that thread may read the same clock at any
 * instruction. `sequence` shows this to the interrupted reading:
 *
 *   I1  Even: the lines are whole. Odd: they are being written. A handler that finds it odd asks the kernel and writes
 *       nothing.
 *   I2  It changes with every change of a line and every arming of the word. So if a reading finds it unchanged and the
 *       word armed, it has used a line that was drawn after that arming.
 *   I3  A reading that draws a line first arms the word, then reads the clocks, then writes. It writes only if
 *       `sequence` did not change in between.
 *   I4  0 in `cpu_base` or `wall_base` means that there is no such line. Then the counter is not read, because that may
 *       be forbidden.
 *
 * A nested reading may cost the interrupted one a slow reading. (Two readings of CPU time that are nested in the few
 * instructions that update a floor could lower that floor by the time the handler took; captures do not nest them.) A
 * child of fork has lines of the parent's CPU clock and must not read them; it may zero the block and go on. After
 * vfork, until exec, the child reads the parent's lines, or its own after a slow reading, so nothing may be recorded
 * there. */
#ifndef SBX_THREAD_CLOCK_H
#define SBX_THREAD_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "clock.h"
#include "cycle_counter.h"
#include "marks.h"
#include "order.h"
#include "rseq.h"

/* The source of the times. All are correct; later ones are cheaper. */
enum sbx_clock_source {
    SBX_CLOCK_KERNEL = 0, /* clock_gettime for both: 25 ns and 250 ns */
    SBX_CLOCK_CYCLES = 1, /* wall time from the cycle counter, CPU time from the kernel */
    SBX_CLOCK_RSEQ = 2    /* both without a system call: 12 ns together */
};

/* The clock of one thread. Zeroed memory is a valid clock that has read nothing. It must be zeroed before another
 * thread uses it, because CPU times belong to one thread. It is one cache line, if it is aligned to one. A fast reading
 * touches only this and the rseq word. */
struct sbx_thread_clock {
    uint64_t cpu_base;    /* scaled count at which the CPU line was drawn; 0: there is none */
    uint64_t wall_base;   /* the same for the wall line; never older than the CPU line */
    uint64_t multiplier;  /* of both lines, 32.32 ns a count; a line ends when the process's changes */
    uint64_t cpu_offset;  /* scaled count + this = CPU time */
    uint64_t wall_offset; /* scaled count + this = CLOCK_MONOTONIC */
    uint64_t cpu_floor;   /* the last CPU time returned */
    uint64_t wall_floor;  /* the last wall time returned */
    uint32_t sequence;    /* I1, I2 */
    int32_t rseq_offset;  /* of the rseq area from the thread pointer; 0: not used. No address: see sbx_rseq_area() */
};

_Static_assert(sizeof(struct sbx_thread_clock) == 64, "one cache line");

/* The descriptor with which the word is armed. Hidden, so that its address is computed and not loaded. */
extern const struct sbx_rseq_cs sbx_clock_rseq_cs __attribute__((visibility("hidden")));

/* ---- reading: any thread, its own clock; signal safe; errno kept ---- */

/* The slow readings ask the kernel, and draw new lines if the source has any. Only the functions below call them. */
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
        /* Unsigned: if the counter went back, as after a suspend to memory, the line is stale, as when it went far
         * ahead. */
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

/* The wall time now, if there is a line for it. False: there is none, and the caller must use another way. */
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

/* The wall time now, for callers that need no CPU time. It costs half a clock_gettime if the source is CYCLES or
 * better, else a whole one. */
SBX_SIGNAL_SAFE static inline uint64_t sbx_thread_clock_wall_ns(struct sbx_thread_clock *clock)
{
    uint64_t wall_ns;
    return SBX_LIKELY(sbx_thread_clock_wall_at_once(clock, &wall_ns)) ? wall_ns : sbx_thread_clock_wall_slow(clock);
}

/* Is it less than `limit_ns` since `since_ns`, a time of this clock? The answer is a hint: it is false when no line
 * tells, and it may be wrong when a handler draws a line meanwhile. So nothing may be recorded by it. It moves no
 * floor. */
SBX_SIGNAL_SAFE static inline bool sbx_thread_clock_is_within(const struct sbx_thread_clock *clock, uint64_t since_ns,
                                                              uint64_t limit_ns)
{
    return SBX_LIKELY(clock->wall_base != 0) && /* I4 */
           sbx_cycles_scaled(sbx_cycle_counter(), clock->multiplier) + clock->wall_offset - since_ns < limit_ns;
}

/* The last wall time that this clock returned, for callers that have just read it. */
SBX_SIGNAL_SAFE static inline uint64_t sbx_thread_clock_last_ns(const struct sbx_thread_clock *clock)
{
    return clock->wall_floor;
}

/* Clear the word if it is the agent's; then the next reading asks the kernel. Call it before a blocking call of the
 * agent, so that it does not depend on the kernel whether the sleep is seen (clock_calibration.c: Linux 6.19), and when
 * the library leaves the thread. A word of another user stays. */
SBX_SIGNAL_SAFE static inline void sbx_thread_clock_disarm(struct sbx_thread_clock *clock)
{
    if (clock->rseq_offset != 0 && sbx_clock_word_is_ours(clock->rseq_offset)) {
        sbx_store_relaxed(&sbx_rseq_area(clock->rseq_offset)->rseq_cs, 0);
    }
}

/* Arm the word, to see afterwards whether the thread was switched out since. False: another user has it, or the clock
 * does not use it. From here on there is no CPU line, except one that a signal handler draws, because a line that was
 * drawn before the word was armed must not be trusted. */
SBX_SIGNAL_SAFE static inline bool sbx_thread_clock_watch(struct sbx_thread_clock *clock)
{
    int32_t rseq_offset = clock->rseq_offset;
    if (SBX_UNLIKELY(rseq_offset == 0)) {
        return false;
    }
    struct sbx_rseq_area *area = sbx_rseq_area(rseq_offset);
    uint64_t word = sbx_load_relaxed(&area->rseq_cs), ours = (uint64_t)(uintptr_t)&sbx_clock_rseq_cs;
    if (SBX_LIKELY(word == ours)) {
        return true;
    }
    if (word != 0 || sbx_load_relaxed(&area->cpu_id) < 0) {
        return false;
    }
    clock->cpu_base = 0; /* before, for a handler that reads once the word is armed */
    sbx_order_with_handler();
    sbx_store_relaxed(&area->rseq_cs, ours);
    sbx_order_with_handler();
    clock->cpu_base = 0; /* and after, because a handler in between may have drawn it */
    return true;
}

/* A jump has left a reading in the middle. The lines may be half drawn, so they are drawn anew. */
SBX_SIGNAL_SAFE static inline void sbx_thread_clock_was_left(struct sbx_thread_clock *clock)
{
    uint32_t sequence = sbx_load_relaxed(&clock->sequence) | 1; /* odd: a handler's reading does not use them (I1) */
    sbx_store_relaxed(&clock->sequence, sequence);
    sbx_order_with_handler();
    clock->cpu_base = 0;
    clock->wall_base = 0;
    sbx_order_with_handler();
    sbx_store_relaxed(&clock->sequence, sequence + 1);
}

/* The number of slow readings in this process that found the word in use by another library (tcmalloc, librseq). The
 * word is left alone, and the CPU time of that reading comes from the kernel. Any thread. */
SBX_SIGNAL_SAFE uint64_t sbx_clock_foreign_words(void);

/* ---- the process's source ---- */

/* Take the first calibration pair and check what the kernel and the processor say. Takes some microseconds, allocates
 * nothing, opens and closes one file of /sys. The source stays KERNEL. Any thread may call it; a second call changes
 * nothing. Not signal safe. */
void sbx_clock_start(void);

/* Compare the counter with the kernel's clocks, choose the best source, and return it. One background thread of the
 * agent calls it, off the hot path: some milliseconds apart until the answer is better than KERNEL (about 20 ms after
 * start) or some tries have passed. After that it calls it when it is awake anyway, at most about once a second. Lines
 * live 10 ms, so a counter that is no longer compared can do little harm. It costs microseconds. The call that first
 * finds the counter calibrated also sleeps some tens of microseconds a few times, to test rseq: 1 to 3 ms. Not signal
 * safe, and only for one thread. */
enum sbx_clock_source sbx_clock_calibrate(void);

/* Use no source better than `limit`; RSEQ, the initial value, is no limit. Any thread. Lines drawn before are used 10
 * ms more. */
void sbx_clock_limit(enum sbx_clock_source limit);

/* The source that readings use now. Signal safe. */
SBX_SIGNAL_SAFE enum sbx_clock_source sbx_clock_source(void);

/* "kernel", "cycles", "rseq"; "unknown" for any other number in a recording. */
static inline const char *sbx_clock_source_name(uint32_t source)
{
    static const char *const names[] = {
        [SBX_CLOCK_KERNEL] = "kernel", [SBX_CLOCK_CYCLES] = "cycles", [SBX_CLOCK_RSEQ] = "rseq"};
    return source < SBX_COUNT_OF(names) ? names[source] : "unknown";
}

/* ---- between thread_clock.c and clock_calibration.c ---- */

/* The part of the calibration that readers need. */
struct sbx_clock_scale {
    uint32_t best;  /* enum sbx_clock_source. order: release clock.best, by sbx_clock_calibrate(), after the rest */
    uint32_t limit; /* enum sbx_clock_source, of sbx_clock_limit(). Readers apply it: two writers, no race */
    uint64_t multiplier; /* ns a count, 32.32; 0 before the first calibration. Replaced as one word, at any time */
    int32_t rseq_offset; /* glibc's __rseq_offset; 0: no rseq. Written once */
};
extern struct sbx_clock_scale sbx_the_clock_scale __attribute__((visibility("hidden")));

/* Arm the word of the calling thread, as a slow reading does. True when it is the agent's now. A word of another user
 * is counted. */
SBX_SIGNAL_SAFE bool sbx_clock_arm(int32_t rseq_offset);

#endif
