/* SPDX-License-Identifier: Apache-2.0 */
/* page_probe.h - may this memory be read? Asked before structures of a runtime are followed that may be half made.
 *
 * Whoever reads what an interrupted runtime was writing meets pointers that lead nowhere. A handler of our own for SIGSEGV
 * would have to stand before the runtime's, which installs one for its own null checks and looks whether it is still first
 * (HotSpot), or whose owner wants to see every fault (Python's faulthandler). So nobody's handler is touched, and the kernel
 * is asked: rt_sigprocmask(2) with an operation that does not exist copies its argument first, and says EFAULT
 * where a load would fault, EINVAL where it would not. Some 100 ns a page, so the answer is kept for the walk that asked. For no
 * longer: a thread in a call of its own may be in the middle of a collection, with frames that name memory which it has just given
 * back (V8 reads clocks there). The question who holds a lock, which is about another thread, is a walk of its own. What remains is
 * memory that another thread gives back in the microseconds between question and load. */
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

/* What a thread knows: in its block, zeroed. */
struct sbx_page_probe {
    uint64_t turn;                   /* 0..4095: what was found in another turn is forgotten */
    uint64_t pages[SBX_PROBE_PAGES]; /* address of the page | turn; 0: none */
};

/* A walk begins: nothing is believed that was asked before. */
SBX_SIGNAL_SAFE static inline void sbx_page_probe_begin(struct sbx_page_probe *probe)
{
    probe->turn = (probe->turn + 1) & ((1 << SBX_PROBE_PAGE_BITS) - 1);
    for (uint32_t i = 0; i < SBX_PROBE_PAGES && SBX_UNLIKELY(probe->turn == 0); i++) { /* turns begin anew */
        probe->pages[i] = 0;
    }
}

/* May `bytes` (at most a page) at `address` be read? `probe` is the calling thread's; NULL: the kernel is asked each time. */
SBX_SIGNAL_SAFE bool sbx_page_probe_can_read(struct sbx_page_probe *probe, uint64_t address, size_t bytes);

#endif
