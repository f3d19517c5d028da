/* SPDX-License-Identifier: Apache-2.0 */
/* point_thread.c - where a thread begins: the thread registers itself before its own function is called, and the thread
 * that started it is noted.
 *
 * A thread that only computes passes no other point. Only the thread itself can say which stack its signal handlers run
 * on and which signals it blocks. So without this point it could not be sampled by signal. The C library calls a
 * function of the agent, which finds the program's function in a seat, gives the seat back, and continues with the
 * program's function by a jump. So the agent has no frame on the thread's stack from there on: a return from the
 * function, a cancellation, pthread_exit() and an exception find what they would find without the agent. A thread for
 * which no seat is free begins as without the agent.
 *
 * These points are in the loader's group: they are hooked as long as anything is. */
#include "point.h"
#include "task.h"

#include <pthread.h>
#include <threads.h>

enum {
    SEATS = 256, /* threads between pthread_create() and their first instruction */
};

enum seat_state {
    SEAT_FREE = 0,
    SEAT_TAKEN = 1,
};

typedef void *pthread_body(void *argument);
typedef int thrd_body(void *argument);
typedef void any_body(void);

/* The function and the argument of the program: two words, which a function returns in registers. */
struct beginning {
    any_body *body;
    void *argument;
};

static struct seat {
    uint32_t state;
    uint32_t starter_stack, starter_tid; /* of the thread that starts it */
    struct beginning beginning;
} seats[SEATS];
static uint32_t next_seat; /* where the search begins: a hint */

static struct seat *take_seat(void)
{
    uint32_t first = sbx_add_relaxed(&next_seat, 1);
    for (uint32_t i = 0; i < SEATS; i++) {
        struct seat *seat = &seats[(first + i) % SEATS];
        uint32_t expected = SEAT_FREE; /* order: acquire seat.state */
        if (sbx_load_relaxed(&seat->state) == SEAT_FREE && sbx_cas_acq_rel(&seat->state, &expected, SEAT_TAKEN)) {
            return seat;
        }
    }
    sbx_count_drop(SBX_DROP_THREAD_UNMET);
    return NULL;
}

static void give_back(struct seat *seat)
{
    sbx_store_release(&seat->state, SEAT_FREE); /* order: release seat.state - what was in it has been read */
}

/* This is a separate function, so that its frame is gone when the functions below continue. */
SBX_NOINLINE static struct beginning begin(struct seat *seat)
{
    struct beginning beginning = seat->beginning;
    uint32_t starter_stack = seat->starter_stack, starter_tid = seat->starter_tid;
    give_back(seat);
    if (sbx_self == NULL && sbx_capture_is_open()) {
        struct sbx_thread *thread = sbx_thread_register_self();
        if (thread != NULL) {
            sbx_store_relaxed(&thread->entry->starter_tid, starter_tid); /* relaxed: recorded only with a stack */
            /* order: release entry.last_stack - its nodes are there */
            sbx_store_release(&thread->entry->starter_stack, starter_stack);
        }
    }
    return beginning;
}

static void *begin_pthread(void *seat)
{
    struct beginning beginning = begin(seat);
    return ((pthread_body *)beginning.body)(beginning.argument);
}

static int begin_thrd(void *seat)
{
    struct beginning beginning = begin(seat);
    return ((thrd_body *)beginning.body)(beginning.argument);
}

static int (*real_pthread_create)(pthread_t *, const pthread_attr_t *, pthread_body *, void *);
static int (*real_thrd_create)(thrd_t *, thrd_start_t, void *);

static bool is_met(void)
{
    return sbx_capture_is_ours() && sbx_capture_is_open();
}

/* The hook of fork() asks again. */
static void say_thread_is_made(void)
{
    sbx_store_relaxed(&sbx_the_capture.of_one_thread_until_ns, 0); /* relaxed: before the thread exists */
}

static int hook_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, pthread_body *body, void *argument)
{
    say_thread_is_made();
    struct seat *seat = is_met() && body != NULL ? take_seat() : NULL;
    if (seat == NULL) {
        return real_pthread_create(thread, attributes, body, argument);
    }
    seat->beginning = (struct beginning){(any_body *)body, argument};
    seat->starter_stack = sbx_task_stack_here(&seat->starter_tid);
    int result = real_pthread_create(thread, attributes, begin_pthread, seat);
    if (result != 0) {
        give_back(seat);
    }
    return result;
}

static int hook_thrd_create(thrd_t *thread, thrd_start_t body, void *argument)
{
    say_thread_is_made();
    struct seat *seat = is_met() && body != NULL ? take_seat() : NULL;
    if (seat == NULL) {
        return real_thrd_create(thread, body, argument);
    }
    seat->beginning = (struct beginning){(any_body *)body, argument};
    seat->starter_stack = sbx_task_stack_here(&seat->starter_tid);
    int result = real_thrd_create(thread, begin_thrd, seat);
    if (result != thrd_success) {
        give_back(seat);
    }
    return result;
}

static const struct sbx_point points[] = {
    SBX_POINT("pthread_create", hook_pthread_create, real_pthread_create, SBX_GROUP_LOADER),
    SBX_POINT("thrd_create", hook_thrd_create, real_thrd_create, SBX_GROUP_LOADER),
};
const struct sbx_point_list sbx_points_thread = SBX_POINT_LIST(points);
