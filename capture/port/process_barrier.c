/* SPDX-License-Identifier: Apache-2.0 */
/* process_barrier.c - membarrier(2), private and expedited (Linux 4.14). */
#include "process_barrier.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

uint32_t sbx_has_process_barrier;
static uint32_t is_lost; /* 1: a barrier existed, and hot sides may have relied on it after it was lost */

static bool call(int command)
{
    return syscall(SYS_membarrier, command, 0, 0) == 0;
}

bool sbx_process_barrier_start(void)
{
    if (sbx_load_relaxed(&sbx_has_process_barrier) != 0) {
        return true;
    }
    bool has_it = sbx_load_seq_cst(&is_lost) == 0 && call(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) &&
                  call(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
    sbx_store_relaxed(&sbx_has_process_barrier, has_it); /* relaxed: hot sides that do not see it yet use fences */
    return has_it;
}

bool sbx_process_barrier(void)
{
    if (sbx_load_seq_cst(&sbx_has_process_barrier) ==
        0) { /* order: seq_cst has_process_barrier - then is_lost is seen */
        return false;
    }
    if (call(MEMBARRIER_CMD_PRIVATE_EXPEDITED)) {
        return true;
    }
    sbx_store_seq_cst(&is_lost, 1);
    sbx_store_seq_cst(&sbx_has_process_barrier, 0); /* order: seq_cst has_process_barrier - behind is_lost */
    return false;
}

bool sbx_process_barrier_between(void)
{
    if (sbx_process_barrier()) {
        return true;
    }
    sbx_fence_seq_cst();
    return sbx_load_seq_cst(&is_lost) == 0;
}
