/* SPDX-License-Identifier: Apache-2.0 */
/* host_libevent.c - libevent's loop, and the cases that need libevent. */
#include <event2/event.h>
#include <event2/thread.h>
#include <stdlib.h>
#include <unistd.h>

#include "stall.h"

static struct event_base *base;
static struct event *step_timer;
static int (*the_step)(void);

static void on_step(evutil_socket_t unused, short what, void *argument)
{
    int next_ms = the_step();
    struct timeval after = {next_ms / 1000, next_ms % 1000 * 1000};
    if (next_ms < 0) {
        event_base_loopbreak(base);
    } else {
        event_add(step_timer, &after);
    }
    (void)unused;
    (void)what;
    (void)argument;
}

/* Made at its first use, by a case or by the loop. */
static void make_base(void)
{
    if (base == NULL) {
        evthread_use_pthreads();
        base = event_base_new();
    }
}

void host_loop(int (*step)(void))
{
    const struct timeval first = {0, 15000};
    make_base();
    the_step = step;
    step_timer = evtimer_new(base, on_step, NULL);
    event_add(step_timer, &first);
    event_base_dispatch(base);
}

/* ---- a timer ---- */

static struct event *reminder;

static STALL_FUNCTION void show_reminder(evutil_socket_t unused, short what, void *argument)
{
    usleep((useconds_t)stall_ms * 1000);
    stall_sink += (uint64_t)(unused + what) + (uint64_t)(argument != NULL);
}

static STALL_FUNCTION void arm_reminder(int n)
{
    const struct timeval after = {0, 40000};
    reminder = evtimer_new(base, show_reminder, NULL);
    event_add(reminder, &after);
    stall_sink += (uint64_t)n;
}

/* ---- once, soon ---- */

static STALL_FUNCTION void purge_cache(evutil_socket_t unused, short what, void *argument)
{
    STALL_COMPUTE_MS(stall_ms);
    stall_sink += (uint64_t)(unused + what) + (uint64_t)(argument != NULL);
}

static STALL_FUNCTION void schedule_purge(int n)
{
    const struct timeval after = {0, 20000};
    event_base_once(base, -1, EV_TIMEOUT, purge_cache, NULL, &after);
    stall_sink += (uint64_t)n;
}

/* ---- made active by another thread ---- */

static struct event *upload_done;

static STALL_FUNCTION void show_upload(evutil_socket_t unused, short what, void *argument)
{
    STALL_COMPUTE_MS(stall_ms);
    stall_sink += (uint64_t)(unused + what) + (uint64_t)(argument != NULL);
}

static STALL_FUNCTION void *finish_upload(void *unused)
{
    stall_pause_ms(20);
    event_active(upload_done, EV_WRITE, 1);
    return unused;
}

static STALL_FUNCTION void start_upload(int n)
{
    upload_done = event_new(base, -1, EV_PERSIST, show_upload, NULL);
    stall_thread("uploader", finish_upload, NULL, NULL);
    stall_sink += (uint64_t)n;
}

/* ---- much to do, and done ---- */

enum {
    BRIEF_EVENTS = 100
};
static struct event *brief_events[BRIEF_EVENTS];

static void work_briefly(evutil_socket_t unused, short what, void *argument)
{
    for (int i = 0; i < 500; i++) {
        stall_sink += (uint64_t)(unused + what) + (uint64_t)(argument != NULL);
    }
}

static void make_brief_events(void)
{
    make_base();
    for (int i = 0; i < BRIEF_EVENTS; i++) {
        brief_events[i] = event_new(base, -1, 0, work_briefly, NULL);
    }
}

static void fill_loop(int n)
{
    const struct timeval soon = {0, 1000};
    for (int i = 0; i < BRIEF_EVENTS; i++) {
        if (i % 2 == 0) {
            event_active(brief_events[i], EV_READ, 1);
        } else {
            event_add(brief_events[i], &soon);
        }
    }
    stall_sink += (uint64_t)n;
}

const struct stall stalls_libevent[] = {
    {.name = "event_timer", .message = arm_reminder},
    {.name = "event_once", .message = schedule_purge},
    {.name = "event_active", .message = start_upload},
    {.name = "healthy_libevent",
     .prepare = make_brief_events,
     .message = fill_loop,
     .every = true,
     .delay_ms = 20,
     .messages = 80},
    {.name = NULL},
};
