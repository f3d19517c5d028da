/* SPDX-License-Identifier: Apache-2.0 */
/* event_loop.c - a libevent loop that does not know the recorder: one callback sleeps.
 *
 *     stallbox run --slow-message-ms 500 -- ./event_loop; stallbox report ~/.local/state/stallbox/spool */
#include <event2/event.h>
#include <time.h>

static void tick(evutil_socket_t none, short what, void *unused)
{
    (void)none;
    (void)what;
    (void)unused;
}

static void wait_for_a_lock_file(evutil_socket_t none, short what, void *unused)
{
    const struct timespec pause = {0, 20000000};
    (void)none;
    (void)what;
    (void)unused;
    for (int tries = 0; tries < 40; tries++) { /* another process holds it all the time */
        nanosleep(&pause, NULL);
    }
}

int main(void)
{
    const struct timeval often = {0, 20000}, soon = {0, 500000}, end = {1, 800000};
    struct event_base *base = event_base_new();
    if (base == NULL) {
        return 1;
    }
    struct event *ticking = event_new(base, -1, EV_PERSIST, tick, NULL);
    struct event *slow = event_new(base, -1, 0, wait_for_a_lock_file, NULL);
    event_add(ticking, &often);
    event_add(slow, &soon);
    event_base_loopexit(base, &end);
    event_base_dispatch(base);
    event_free(ticking);
    event_free(slow);
    event_base_free(base);
    return 0;
}
