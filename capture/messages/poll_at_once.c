/* SPDX-License-Identifier: Apache-2.0 */
/* poll_at_once.c - the same question to the kernel, without time. */
#include "poll_at_once.h"

#include <poll.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>

#include "raw_syscall.h"

static bool is_ready(const void *fds, uint32_t count)
{
    struct timespec no_time = {0, 0};
    return sbx_raw_syscall(SYS_ppoll, (long)(uintptr_t)fds, (long)count, (long)(uintptr_t)&no_time, 0, 8, 0) > 0;
}

/* What poll() is given it writes to in any case. The events of an epoll descriptor stay there when it is asked about itself. */
SBX_HOOK_SAFE bool sbx_poll_is_at_once(const struct sbx_polled *polled)
{
    const struct pollfd itself = {.fd = (int)polled->count, .events = POLLIN};
    if (!polled->waits) {
        return true;
    }
    switch (polled->form) {
    case SBX_POLLED_POLL:
        return polled->count > 0 && is_ready(polled->first, polled->count);
    case SBX_POLLED_EPOLL:
    case SBX_POLLED_ACCEPT:
        return is_ready(&itself, 1);
    default:
        return false;
    }
}
