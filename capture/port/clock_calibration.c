/* SPDX-License-Identifier: Apache-2.0 */
/* clock_calibration.c - may the cycle counter replace the kernel's clocks, at what rate, and does the rseq word show
 * thread switches?
 *
 * The counter is trusted when three conditions hold: the kernel itself keeps its time with it (then it has tested it,
 * also across processors), the processor says that the counter neither stops nor changes its rate, and the thread may
 * read it. Its rate is measured and not taken from the processor. Pairs of counter and clocks are taken at the ends of
 * a window. The window grows from 20 ms to between one and two seconds and then slides, so that the rate follows what
 * NTP does to CLOCK_MONOTONIC.
 *
 * The kernel's clocks are used instead
 *   - for ever, when the kernel keeps time with another clock source, or when the rate against CLOCK_MONOTONIC_RAW,
 *     which is never slewed, has changed (UNSTEADY_PPM);
 *   - for as long as CLOCK_MONOTONIC is slewed by more than the kernel's own limit (SLEWED_PPM): chrony can ask for
 *     10 %, and a line of 10 ms would then be a millisecond off.
 * A suspend of the machine is neither case. The counter may have gone on while the clocks stood still, so the window
 * begins anew. */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "thread_clock.h"

enum {
    SHORTEST_WINDOW_NS = 20 * 1000 * 1000, /* 5 ppm with pairs of 100 ns, the usual width; less than 50 ppm is needed */
    SLIDE_WINDOW_NS = 1000 * 1000 * 1000,  /* after this time a pair may become the window's begin */
    LOOK_AGAIN_NS = 1000 * 1000 * 1000,    /* between checks of the clocksource: an open, a read, a close */
    PAIR_TRIES = 8,                        /* the narrowest counts: one try without interrupt or cache miss is enough */
    PAIR_PPM = 50,                         /* a window waits while its pairs are wider than this fraction of it */
    UNSTEADY_PPM = 200,                    /* four times the possible difference of two measured windows */
    SLEWED_PPM = 700,                      /* MAX_TICKADJ and MAXFREQ of the kernel (500 ppm) plus measurement error */
    SUSPENDED_NS = 1000 * 1000,            /* CLOCK_BOOTTIME gained this on CLOCK_MONOTONIC: a suspend */
    SLOWEST_COUNTER_NS = 100,              /* a slower counter, which traps into a hypervisor, is no gain */
    SLEEP_ROUNDS = 8,                      /* see rseq_tells_sleep() */
    SLEEPS_WANTED = 3,
    SLEEP_NS = 50 * 1000,
    SLEEP_TESTS = 16 /* the number of calls that repeat the test while its answer is open */
};

/* glibc 2.35 and later. The symbols are weak: with an older glibc and with musl they have no address, and rseq is not
 * used. */
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));

/* One moment, read from all clocks. */
struct pair {
    uint64_t wall_cycles; /* the count in the middle of the reading of wall_ns */
    uint64_t wall_ns;     /* CLOCK_MONOTONIC */
    uint64_t raw_cycles;
    uint64_t raw_ns;       /* CLOCK_MONOTONIC_RAW */
    uint64_t suspended_ns; /* CLOCK_BOOTTIME - CLOCK_MONOTONIC */
    uint64_t width;        /* counts that the readings took: each may be off by half of this */
};

enum rseq_answer {
    RSEQ_UNKNOWN,
    RSEQ_TELLS,
    RSEQ_DOES_NOT_TELL
};

static struct {
    bool started;
    bool refused; /* the counter must not be used in this process */
    struct pair older, newer;
    uint64_t raw_multiplier; /* of the first window; 0: none yet */
    uint64_t looked_ns;
    enum rseq_answer rseq;
    uint32_t sleep_tests;
} calibration;

static bool kernel_keeps_time_with_counter(void)
{
    char name[64];
    int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    ssize_t length = read(fd, name, sizeof name);
    close(fd);
    size_t wanted = strlen(SBX_CYCLE_CLOCKSOURCE);
    return wanted != 0 && length == (ssize_t)wanted + 1 && memcmp(name, SBX_CYCLE_CLOCKSOURCE "\n", wanted + 1) == 0;
}

/* A sandbox may have forbidden the instruction to this thread; then the read would kill the thread. */
static bool thread_may_read_counter(void)
{
#if defined(PR_GET_TSC) && defined(PR_TSC_ENABLE)
    int mode = PR_TSC_ENABLE;
    return prctl(PR_GET_TSC, &mode, 0, 0, 0) != 0 || mode == PR_TSC_ENABLE;
#else
    return true;
#endif
}

static struct pair take_pair(void)
{
    struct pair narrowest = {.width = UINT64_MAX};
    for (int i = 0; i < PAIR_TRIES; i++) {
        uint64_t before = sbx_cycle_counter();
        uint64_t wall_ns = sbx_now_ns();
        uint64_t between = sbx_cycle_counter();
        uint64_t raw_ns = sbx_read_clock_ns(CLOCK_MONOTONIC_RAW);
        uint64_t after = sbx_cycle_counter();
        if (after - before < narrowest.width) {
            narrowest = (struct pair){.wall_cycles = before + (between - before) / 2,
                                      .wall_ns = wall_ns,
                                      .raw_cycles = between + (after - between) / 2,
                                      .raw_ns = raw_ns,
                                      .width = after - before};
        }
    }
    uint64_t wall_ns = sbx_now_ns();
    uint64_t boot_ns = sbx_read_clock_ns(CLOCK_BOOTTIME);
    narrowest.suspended_ns = boot_ns > wall_ns ? boot_ns - wall_ns : 0;
    return narrowest;
}

/* ns / cycles as 32.32. Both are halved until the shift fits, with a relative error below 2^-31. */
static uint64_t rate(uint64_t ns, uint64_t cycles)
{
    while (ns > UINT32_MAX) {
        ns /= 2;
        cycles /= 2;
    }
    return cycles != 0 ? (ns << SBX_CYCLE_FRACTION_BITS) / cycles : 0;
}

static bool differ(uint64_t a, uint64_t b, uint64_t ppm)
{
    uint64_t distance = a > b ? a - b : b - a;
    return distance > b / 1000000 * ppm;
}

static bool counter_is_fast(uint64_t multiplier)
{
    uint64_t least = UINT64_MAX;
    uint64_t last = sbx_cycle_counter();
    for (int i = 0; i < 16; i++) {
        uint64_t now = sbx_cycle_counter();
        least = now - last < least ? now - last : least;
        last = now;
    }
    return sbx_cycles_scaled(least, multiplier) <= SLOWEST_COUNTER_NS;
}

static int32_t rseq_offset_of_libc(void)
{
    /* The area must have 16 bytes, up to rseq_cs. glibc's size is 0 when it did not register: because of its tunable, a
     * kernel without rseq, or a filter. */
    if (SBX_RSEQ_SIGNATURE == 0 || &__rseq_size == NULL || &__rseq_offset == NULL || __rseq_size < 16 ||
        __rseq_offset < INT32_MIN || __rseq_offset > INT32_MAX) {
        return 0;
    }
    return (int32_t)__rseq_offset;
}

/* Does the kernel clear the word when a thread slept in a system call and woke on the same processor?
 *
 * Up to Linux 6.18 it does so after any switch. From 6.19 on ("rseq: Optimize event setting") the kernel may look at
 * the word only if the thread was interrupted in user code, or if its cpu_id or mm_cid changed. Then a sleep in a call
 * without a hook would be counted as CPU time. The hooked blocking calls disarm the word, but these are not all calls.
 * So RSEQ is not used on such a kernel; CYCLES is.
 *
 * A round in which the thread woke elsewhere proves nothing. One round in which the word was still armed after the
 * sleep proves the new behaviour. The test arms the word without drawing a line. That is safe only because no thread
 * has a CPU line before the answer is known. */
static enum rseq_answer rseq_tells_sleep(int32_t offset)
{
    const struct sbx_rseq_area *area = sbx_rseq_area(offset);
    struct sbx_thread_clock word_only = {.rseq_offset = offset};
    int told = 0;
    for (int i = 0; i < SLEEP_ROUNDS && told < SLEEPS_WANTED; i++) {
        int32_t cpu_id = sbx_load_relaxed(&area->cpu_id);
        uint32_t mm_cid = sbx_load_relaxed(&area->mm_cid);
        if (!sbx_clock_arm(offset)) {
            return RSEQ_UNKNOWN;
        }
        struct timespec nap = {0, SLEEP_NS};
        bool slept = nanosleep(&nap, NULL) == 0;
        if (slept && sbx_clock_word_is_ours(offset)) {
            sbx_thread_clock_disarm(&word_only);
            return RSEQ_DOES_NOT_TELL;
        }
        told += slept && sbx_load_relaxed(&area->cpu_id) == cpu_id && sbx_load_relaxed(&area->mm_cid) == mm_cid;
    }
    sbx_thread_clock_disarm(&word_only);
    return told == SLEEPS_WANTED ? RSEQ_TELLS : RSEQ_UNKNOWN;
}

static void ask_rseq(void)
{
    if (calibration.rseq != RSEQ_UNKNOWN) {
        return;
    }
    int32_t offset = rseq_offset_of_libc();
    calibration.rseq = offset != 0 ? rseq_tells_sleep(offset) : RSEQ_DOES_NOT_TELL;
    if (calibration.rseq == RSEQ_TELLS) {
        sbx_the_clock_scale.rseq_offset = offset;
    } else if (++calibration.sleep_tests == SLEEP_TESTS) {
        calibration.rseq = RSEQ_DOES_NOT_TELL;
    }
}

static void publish(enum sbx_clock_source best)
{
    sbx_store_release(&sbx_the_clock_scale.best,
                      best); /* order: release clock.best - multiplier and offset are there */
}

static void refuse_counter(void)
{
    calibration.refused = true;
    publish(SBX_CLOCK_KERNEL);
}

void sbx_clock_start(void)
{
    if (calibration.started) {
        return;
    }
    int saved_errno = errno;
    calibration.started = true;
    calibration.refused =
        !sbx_cycle_counter_is_invariant() || !kernel_keeps_time_with_counter() || !thread_may_read_counter();
    if (!calibration.refused) {
        calibration.older = calibration.newer = take_pair();
        calibration.looked_ns = calibration.older.wall_ns;
    }
    errno = saved_errno;
}

/* Judge the window, once it is long enough and its ends are exact enough. */
static void judge_window(const struct pair *from, const struct pair *to)
{
    uint64_t cycles = to->wall_cycles - from->wall_cycles;
    if (to->wall_ns - from->wall_ns < SHORTEST_WINDOW_NS ||
        (from->width + to->width) / 2 > cycles / 1000000 * PAIR_PPM) {
        return;
    }
    uint64_t multiplier = rate(to->wall_ns - from->wall_ns, cycles);
    uint64_t raw_multiplier = rate(to->raw_ns - from->raw_ns, to->raw_cycles - from->raw_cycles);
    if (calibration.raw_multiplier == 0) {
        if (multiplier == 0 || raw_multiplier == 0 || !counter_is_fast(multiplier)) {
            refuse_counter();
            return;
        }
        calibration.raw_multiplier = raw_multiplier;
    } else if (differ(raw_multiplier, calibration.raw_multiplier, UNSTEADY_PPM)) {
        refuse_counter();
        return;
    }
    ask_rseq();
    sbx_store_relaxed(&sbx_the_clock_scale.multiplier, multiplier); /* each thread's lines keep their own multiplier */
    if (differ(multiplier, raw_multiplier, SLEWED_PPM)) {
        publish(SBX_CLOCK_KERNEL);
    } else {
        publish(calibration.rseq == RSEQ_TELLS ? SBX_CLOCK_RSEQ : SBX_CLOCK_CYCLES);
    }
}

enum sbx_clock_source sbx_clock_calibrate(void)
{
    if (!calibration.started || calibration.refused) {
        return sbx_clock_source();
    }
    if (calibration.raw_multiplier == 0 && !thread_may_read_counter()) { /* not the thread that started */
        refuse_counter();
        return sbx_clock_source();
    }
    struct pair now = take_pair();
    if (now.wall_ns - calibration.looked_ns >= LOOK_AGAIN_NS) {
        calibration.looked_ns = now.wall_ns;
        if (!kernel_keeps_time_with_counter()) {
            refuse_counter();
            return sbx_clock_source();
        }
    }
    if (now.suspended_ns > calibration.older.suspended_ns + SUSPENDED_NS) {
        calibration.older = calibration.newer = now;
        return sbx_clock_source();
    }
    judge_window(&calibration.older, &now);
    if (now.wall_ns - calibration.newer.wall_ns >= SLIDE_WINDOW_NS) {
        calibration.older = calibration.newer;
        calibration.newer = now;
    }
    return sbx_clock_source();
}

void sbx_clock_limit(enum sbx_clock_source limit)
{
    sbx_store_relaxed(&sbx_the_clock_scale.limit, limit);
}
