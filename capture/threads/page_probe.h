/* SPDX-License-Identifier: Apache-2.0 */
/* page_probe.h - may this memory be read? Asked before structures of a runtime are followed that may be half made.
 *
 * Whoever reads what an interrupted runtime was writing meets pointers that lead nowhere. A handler of our own for SIGSEGV
 * would have to stand before the runtime's, which installs one for its own null checks and looks whether it is still first
 * (HotSpot), or whose owner wants to see every fault (Python's faulthandler). So nobody's handler is touched, and the kernel
 * is asked: rt_sigprocmask(2) with an operation that does not exist copies its argument first, and says EFAULT
 * where a load would fault, EINVAL where it would not. Some 100 ns a page, so the answer is kept for SBX_PROBE_NS where a
 * thread reads its own frames in a call of its own: they are whole then, and not freed under it. Where it was interrupted nothing is believed that was not
 * asked in this very walk (sbx_page_probe_forget()), and where it asks for a lock's holder, which is another thread, nothing at all. What remains is memory that another thread gives back in the microseconds between question and load. */
#ifndef SBX_PAGE_PROBE_H
#define SBX_PAGE_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "marks.h"

#define SBX_PROBE_NS UINT64_C(10000000)
enum {
    SBX_PROBE_PAGES = 128, /* power of two */
    SBX_PROBE_PAGE_BITS = 12,
};

/* What a thread knows: in its block, zeroed. */
struct sbx_page_probe {
    uint64_t until_ns;               /* what is known counts until then */
    bool asks_each_time;             /* what is read now is another thread's, and nothing known counts */
    uint64_t turn;                   /* 0..4095: what was found in another turn is forgotten */
    uint64_t pages[SBX_PROBE_PAGES]; /* address of the page | turn; 0: none */
};

/* Believe nothing of what was asked before. */
SBX_SIGNAL_SAFE static inline void sbx_page_probe_forget(struct sbx_page_probe *probe)
{
    probe->turn = (probe->turn + 1) & ((1 << SBX_PROBE_PAGE_BITS) - 1);
    for (uint32_t i = 0; i < SBX_PROBE_PAGES && SBX_UNLIKELY(probe->turn == 0); i++) { /* turns begin anew */
        probe->pages[i] = 0;
    }
}

/* A capture begins: forget what is old. */
SBX_SIGNAL_SAFE static inline void sbx_page_probe_begin(struct sbx_page_probe *probe, uint64_t now_ns)
{
    if (now_ns >= probe->until_ns) {
        probe->until_ns = now_ns + SBX_PROBE_NS;
        sbx_page_probe_forget(probe);
    }
}

/* May `bytes` (at most a page) at `address` be read? `probe` is the calling thread's; NULL: the kernel is asked each time. */
SBX_SIGNAL_SAFE bool sbx_page_probe_can_read(struct sbx_page_probe *probe, uint64_t address, size_t bytes);

#endif
