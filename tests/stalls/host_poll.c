/* SPDX-License-Identifier: Apache-2.0 */
/* host_poll.c - a loop of poll calls with a time-out, as in small daemons. */
#include "stall.h"

#include <poll.h>
#include <unistd.h>

static STALL_FUNCTION int run_due_timers(int (*step)(void))
{
    int next_ms = step();
    STALL_STAY();
    return next_ms;
}

void host_loop(int (*step)(void))
{
    int ends[2];
    if (pipe(ends) != 0) {
        return;
    }
    struct pollfd inbox = {.fd = ends[0], .events = POLLIN};
    for (int next_ms = 15; next_ms >= 0;) {
        poll(&inbox, 1, next_ms);
        next_ms = run_due_timers(step);
    }
}
