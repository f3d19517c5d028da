/* SPDX-License-Identifier: Apache-2.0 */
/* page_probe.c - asks the kernel, and remembers the answers. */
#include "page_probe.h"

#include "raw_syscall.h"
#include "unwind_rule.h"

#define PAGE_MASK (~((UINT64_C(1) << SBX_PROBE_PAGE_BITS) - 1))

static bool ask(uint64_t page)
{
    enum {
        NO_OPERATION = -1,
        SET_BYTES = 8
    };
    return sbx_raw_syscall(SYS_rt_sigprocmask, NO_OPERATION, (long)page, 0, SET_BYTES, 0, 0) == -EINVAL;
}

static bool can_read_page(struct sbx_page_probe *probe, uint64_t page)
{
    if (page == 0 || page >> SBX_USER_ADDRESS_BITS != 0) {
        return false;
    }
    if (probe == NULL) {
        return ask(page);
    }
    /* Hashed, because a runtime's pools lie at round distances from each other, and are read in turns. */
    uint64_t mixed = (page >> SBX_PROBE_PAGE_BITS) * UINT64_C(0x9e3779b97f4a7c15) >> 32;
    uint64_t *known = &probe->pages[mixed % SBX_PROBE_PAGES];
    if (SBX_LIKELY(*known == (page | probe->turn))) {
        return true;
    }
    if (!ask(page)) {
        return false;
    }
    *known = page | probe->turn;
    return true;
}

SBX_SIGNAL_SAFE bool sbx_page_probe_can_read(struct sbx_page_probe *probe, uint64_t address, size_t bytes)
{
    uint64_t first = address & PAGE_MASK, last = (address + bytes - (bytes != 0)) & PAGE_MASK;
    return can_read_page(probe, first) && (first == last || can_read_page(probe, last));
}
