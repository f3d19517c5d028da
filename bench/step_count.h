/* SPDX-License-Identifier: Apache-2.0 */
/* step_count.h - how many instructions a call takes, counted one by one on the calling thread: the same number on a busy machine and on a quiet
 * one, in programs that valgrind cannot run and on machines that have no counters. x86-64.
 *
 * The processor stops after each instruction, by a flag, and a handler counts. The kernel's own are not counted. The call should have been
 * made before, so that it is warm. */
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

/* 0: they cannot be counted here. */
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
