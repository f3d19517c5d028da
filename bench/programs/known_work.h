/* SPDX-License-Identifier: Apache-2.0 */
/* known_work.h - a piece of work of less than a tenth of a microsecond. Each step needs the result of the one before,
 * so it takes the same time wherever it runs. */
#ifndef SBX_BENCH_KNOWN_WORK_H
#define SBX_BENCH_KNOWN_WORK_H

#include <stdint.h>

static inline uint64_t known_work(uint64_t state)
{
    enum {
        STEPS = 64
    };
    for (int i = 0; i < STEPS; i++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
        __asm__ volatile("" : "+r"(state));
    }
    return state | 1;
}

#endif
