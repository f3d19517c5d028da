/* SPDX-License-Identifier: Apache-2.0 */
/* page_probe.h - may this memory be read? Asked before following structures of a runtime that may be half made.
 *
 * A reader that looks at what an interrupted runtime was writing meets pointers to unmapped memory. A SIGSEGV handler
 * of this library would have to run before the runtime's. But some runtimes install one for their null checks and check
 * that it is still first (HotSpot), and some need to see every fault (Python's faulthandler). So no handler is changed,
 * and the kernel is asked instead: rt_sigprocmask(2) with an operation that does not exist copies its argument first.
 * It returns EFAULT where a load would fault, and EINVAL where it would not. This takes some 100 ns for a page, so the
 * answer is kept for the walk that asked.
 *
 * The answer is not kept longer, because a thread in one of its own calls may be in the middle of a collection, with
 * frames that name memory which it has just freed (V8 reads clocks there). The question which thread holds a lock is
 * about another thread, so it counts as a walk of its own. One risk remains: memory that another thread frees in the
 * microseconds between the question and the load. */
#ifndef SBX_PAGE_PROBE_H
#define SBX_PAGE_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "marks.h"

enum {
    SBX_PROBE_PAGES = 128, /* power of two */
    SBX_PROBE_PAGE_BITS = 12,
};

/* What a thread has asked: in its block, zeroed. */
struct sbx_page_probe {
    uint64_t turn;                   /* 0..4095: answers of another turn are not valid */
    uint64_t pages[SBX_PROBE_PAGES]; /* address of the page | turn; 0: none */
};

/* A walk begins: earlier answers are not valid any more. */
SBX_SIGNAL_SAFE static inline void sbx_page_probe_begin(struct sbx_page_probe *probe)
{
    probe->turn = (probe->turn + 1) & ((1 << SBX_PROBE_PAGE_BITS) - 1);
    for (uint32_t i = 0; i < SBX_PROBE_PAGES && SBX_UNLIKELY(probe->turn == 0); i++) { /* the turns start again */
        probe->pages[i] = 0;
    }
}

/* May `bytes` (at most a page) at `address` be read? `probe` is the calling thread's; NULL: the kernel is asked each time. */
SBX_SIGNAL_SAFE bool sbx_page_probe_can_read(struct sbx_page_probe *probe, uint64_t address, size_t bytes);

#endif
