/* SPDX-License-Identifier: Apache-2.0 */
/* signal_changes.c - waits for threads that set the action of a signal. */
#include "signal_changes.h"

#include <linux/futex.h>
#include <time.h>

#include "order.h"
#include "raw_syscall.h"
#include "the_capture.h"

SBX_SIGNAL_SAFE bool sbx_signal_changes_await(int number, uint32_t states)
{
    enum {
        PAUSES = 2000
    };
    static const uint32_t nobody;
    const struct timespec pause = {.tv_nsec = 100000};
    for (int i = 0; i < PAUSES; i++) {
        /* order: acquire signal_changes - a thread that finds the action restored also sees what was restored */
        uint32_t word = sbx_load_acquire(&sbx_the_capture.signal_changes);
        if ((word & states) == 0 || (word & SBX_SIGNAL_NUMBER) != (uint32_t)number) {
            return true;
        }
        sbx_raw_syscall(SYS_futex, (long)(uintptr_t)&nobody, FUTEX_WAIT_PRIVATE, 0, (long)(uintptr_t)&pause, 0, 0);
    }
    return false;
}
