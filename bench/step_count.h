/* SPDX-License-Identifier: Apache-2.0 */
/* step_count.h - counts how many instructions a call takes, one by one on the calling thread. The number is the same on
 * a busy machine and on a quiet one. It works in programs that valgrind cannot run, and on machines without counters.
 * x86-64.
 *
 * The CPU traps after each instruction, because of a flag, and a signal handler counts. The kernel's own instructions
 * are not counted. The call should have been made before, so that it is warm. */
#ifndef SBX_BENCH_STEP_COUNT_H
#define SBX_BENCH_STEP_COUNT_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

static volatile uint64_t bench_steps;

static void bench_on_step(int number)
{
    (void)number;
    bench_steps++;
}

/* Returns 0 if instructions cannot be counted here. */
static inline uint64_t bench_count_steps(void (*call)(void *), void *to)
{
    struct sigaction action = {.sa_handler = bench_on_step}, before;
    if (sigaction(SIGTRAP, &action, &before) != 0) {
        return 0;
    }
    bench_steps = 0;
#if defined(__x86_64__)
    __asm__ volatile("lea -128(%%rsp), %%rsp\n\tpushfq\n\torq $0x100, (%%rsp)\n\tpopfq\n\tlea 128(%%rsp), %%rsp" ::
                         : "memory", "cc");
    call(to);
    __asm__ volatile("lea -128(%%rsp), %%rsp\n\tpushfq\n\tandq $-257, (%%rsp)\n\tpopfq\n\tlea 128(%%rsp), %%rsp" ::
                         : "memory", "cc");
#else
    call(to);
#endif
    (void)sigaction(SIGTRAP, &before, NULL);
    return bench_steps;
}

#endif
