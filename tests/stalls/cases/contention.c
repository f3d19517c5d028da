/* SPDX-License-Identifier: Apache-2.0 */
/* contention.c - threads that are ready to run but do not run. */
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "stall.h"

enum {
    RIVALS = 7
};
static atomic_int is_over;

static int64_t turns; /* of the loop below, for a third of a stall */

static void count_turns(void)
{
    int64_t begin_ns = stall_cpu_ns();
    for (int64_t i = 0; i < 20000000; i++) {
        stall_sink += (uint64_t)i * 3;
    }
    turns = stall_ms * INT64_C(1000000) / 3 * 20000000 / (stall_cpu_ns() - begin_ns + 1);
}

static void stay_on_first_cpu(void)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(0, &one);
    sched_setaffinity(0, sizeof one, &one);
}

static STALL_FUNCTION void grind_block(void)
{
    while (atomic_load_explicit(&is_over, memory_order_relaxed) == 0) {
        for (int i = 0; i < 5000; i++) {
            stall_sink += (uint64_t)i * 3;
        }
    }
}

static void *grind(void *unused)
{
    stay_on_first_cpu();
    grind_block();
    return unused;
}

static STALL_FUNCTION void lay_out_page(int n)
{
    /* Half a second of work (less with STALL_MS), which takes at least four times as long among eight threads. Counted
     * in turns and not measured by the CPU clock: since 6.6 Linux checks a thread's slice when the clock is read, so
     * the thread would be switched out there and nowhere else. */
    for (int64_t i = 0; i < turns; i++) {
        stall_sink += (uint64_t)i * (uint64_t)n;
    }
    atomic_store(&is_over, 1);
}

static STALL_FUNCTION void lay_out_among_threads(int n)
{
    for (int i = 0; i < RIVALS; i++) {
        stall_thread("grinder", grind, NULL, NULL);
    }
    stay_on_first_cpu();
    lay_out_page(n);
    STALL_STAY();
}

static STALL_FUNCTION void lay_out_among_processes(int n)
{
    pid_t rivals[RIVALS];
    for (int i = 0; i < RIVALS; i++) {
        rivals[i] = fork();
        if (rivals[i] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            stay_on_first_cpu();
            alarm(10);
            for (;;) {
                stall_sink++;
            }
        }
    }
    stay_on_first_cpu();
    lay_out_page(n);
    for (int i = 0; i < RIVALS; i++) {
        kill(rivals[i], SIGKILL);
    }
}

const struct stall stalls_contention[] = {
    {.name = "contention_threads", .prepare = count_turns, .message = lay_out_among_threads},
    {.name = "contention_processes", .prepare = count_turns, .message = lay_out_among_processes},
    {.name = NULL},
};
