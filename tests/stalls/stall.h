/* SPDX-License-Identifier: Apache-2.0 */
/* stall.h - one stall with a known cause, and the loop in which it happens.
 *
 * A case defines what a program does (cases/); a host defines the kind of loop (host_*.c). Any case can run in any
 * host. The truth about each case is in truth.tsv, which the program does not read. */
#ifndef STALL_H
#define STALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The functions that the truth names must exist as functions. */
#define STALL_FUNCTION __attribute__((noinline, noclone, noipa))
/* Stands at the end of such a function, and prevents a tail call, which would remove it from the stack. */
#define STALL_STAY() __asm__ volatile("" ::: "memory")

struct stall {
    const char *name;
    void (*prepare)(void);  /* before the loop; may be NULL */
    void (*message)(int n); /* what a message does: in message 10 only, unless `every` */
    bool every;             /* in each message from 10 on */
    int delay_ms;           /* between messages from 10 on; 0: 15 ms, or at once with `every` */
    int messages;           /* how many in all; 0: 24 */
};

/* The tables of cases/; a NULL name ends each. */
extern const struct stall stalls_cpu[], stalls_lock[], stalls_wait[], stalls_sleep[], stalls_file[], stalls_network[],
    stalls_process[], stalls_outside[], stalls_memory[], stalls_contention[], stalls_healthy[], stalls_messages[],
    stalls_tasks[];
extern const struct stall stalls_cxx[] __attribute__((weak)), stalls_glib[] __attribute__((weak)),
    stalls_glib_tasks[] __attribute__((weak)), stalls_uv[] __attribute__((weak)), stalls_qt[] __attribute__((weak)),
    stalls_libevent[] __attribute__((weak)), stalls_inbox[] __attribute__((weak)), stalls_uring[] __attribute__((weak));

/* The host: call step() in the loop, again after as many milliseconds as it returned, until it returns a negative
 * number. */
void host_loop(int (*step)(void));

/* ---- what cases need (stall_main.c) ---- */

static inline __attribute__((always_inline)) int64_t stall_read_clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}
/* Inlined, like the pause below: these are no part of a stall, and must not be on the stack between a case and its
 * calls. */
static inline __attribute__((always_inline)) int64_t stall_now_ns(void)
{
    return stall_read_clock_ns(CLOCK_MONOTONIC);
}
static inline __attribute__((always_inline)) int64_t stall_cpu_ns(void) /* CPU time of the calling thread */
{
    return stall_read_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}
/* Sleep, in a way that is not the cause of any case. */
static inline __attribute__((always_inline)) void stall_pause_ms(int ms)
{
    const struct timespec pause = {ms / 1000, ms % 1000 * 1000000L};
    syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &pause, NULL);
}
/* Compute for that long, as a part of the function that uses this. It is a macro, because an inlined function has a
 * name of its own. */
#define STALL_COMPUTE_MS(ms)                                                                  \
    do {                                                                                      \
        const int64_t stall_begin_ns = stall_now_ns(), stall_begin_cpu_ns = stall_cpu_ns();   \
        while (stall_now_ns() - stall_begin_ns < (ms)*INT64_C(1000000)) {                     \
            for (int stall_i = 0; stall_i < 2000; stall_i++) {                                \
                stall_sink = stall_sink + (uint64_t)stall_i * 3;                              \
            }                                                                                 \
        }                                                                                     \
        stall_computed(stall_now_ns() - stall_begin_ns, stall_cpu_ns() - stall_begin_cpu_ns); \
    } while (0)
/* How long a stall computes in general: STALL_MS of the environment, otherwise 1500. */
extern int stall_ms;
/* Report how long a stall outside of its message took, and how much CPU time it got. */
void stall_computed(int64_t wall_ns, int64_t cpu_ns);
/* A named thread, detached or (thread_out not NULL) to be joined. */
void stall_thread(const char *name, void *(*body)(void *), void *argument, uint64_t *thread_out);
/* The process ends after that many milliseconds whatever it does; no thread is needed for it. */
void stall_end_after_ms(int ms);
/* Request a snapshot, as a program does that misses a deadline. */
void stall_ask_for_snapshot(void);
/* A folder on a disk; the scorer empties it when the program ends. */
const char *stall_folder(void);
/* Keeps the compiler from removing work. */
extern volatile uint64_t stall_sink;

#ifdef __cplusplus
}
#endif

#endif
