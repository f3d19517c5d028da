/* SPDX-License-Identifier: Apache-2.0 */
/* bench_tasks.c - the cost of following a task when it is queued, begun and ended, with GLib, libuv, libevent, io_uring
 * and Qt, if they are installed, and with an application that reports its tasks.
 *
 * usage: bench_tasks [--json] [--rounds N]
 * One process measures. Its points are removed and installed again from round to round, as in bench_points. An object
 * that keeps its callback (a pool, a handle) exists twice: made while the points were out, and made while they were in.
 * Why it matters: a program may pass on a hundred thousand tasks per second. The second group of lines gives the cost
 * as a share of 10 us, the time between two such tasks. */
#include <glib.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control.h"
#include "control_order.h"
#include "rounds.h"
#include "stallbox/stallbox.h"
#ifdef HAS_UV
#include <uv.h>
#endif
#ifdef HAS_LIBEVENT
#include <event2/event.h>
#endif
#ifdef HAS_URING
#include <liburing.h>
#endif
#ifdef HAS_QT
#include "programs/qt_post.h"
#endif

enum {
    ROUNDS_DEFAULT = 21,
    TASKS = 2000,
    TASKS_COUNTED = TASKS - TASKS / 100,
    PAUSE_NS = 10000, /* between two tasks at 100,000 a second */
};

static volatile unsigned sink;
static gint taken;

/* Indexed by whether the points were in when the objects were made. */
static struct objects {
    GThreadPool *pool;
#ifdef HAS_UV
    uv_loop_t loop;
    uv_timer_t timer;
    uv_async_t async;
    uv_work_t work;
#endif
#ifdef HAS_LIBEVENT
    struct event_base *base;
    struct event *event;
#endif
#ifdef HAS_URING
    struct io_uring ring;
#endif
} made[2], *used = &made[0];

static gboolean take_idle(gpointer unused)
{
    sink++;
    return unused != NULL;
}

static int by_size(const void *left, const void *right)
{
    const double *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

/* Returns the time of one task at a fixed pace. The time between two tasks is waiting, and is not counted. It is the
 * mean without the slowest percent, in which mostly the CPU was taken away. */
static double paced(void (*one)(void))
{
    static double each_ns[TASKS];
    double spent_ns = 0, next_ns = bench_now_ns();
    for (int i = 0; i < TASKS; i++) {
        while (bench_now_ns() < next_ns) {
        }
        double begin_ns = bench_now_ns();
        one();
        each_ns[i] = bench_now_ns() - begin_ns;
        next_ns += PAUSE_NS;
    }
    qsort(each_ns, TASKS, sizeof each_ns[0], by_size);
    for (int i = 0; i < TASKS_COUNTED; i++) {
        spent_ns += each_ns[i];
    }
    return spent_ns / TASKS_COUNTED;
}

static void idle_and_run(void)
{
    g_idle_add(take_idle, NULL);
    g_main_context_iteration(NULL, FALSE);
}

static void take_item(gpointer item, gpointer unused)
{
    (void)item;
    (void)unused;
    g_atomic_int_inc(&taken);
}

static void push_and_take(void)
{
    gint before = g_atomic_int_get(&taken);
    g_thread_pool_push(used->pool, GINT_TO_POINTER(1), NULL);
    while (g_atomic_int_get(&taken) == before) {
    }
}

#ifdef HAS_UV
static void on_timer(uv_timer_t *unused)
{
    sink += unused != NULL;
}

static void on_async(uv_async_t *unused)
{
    sink += unused != NULL;
}

static void do_work(uv_work_t *unused)
{
    (void)unused;
}

static void after_work(uv_work_t *unused, int status)
{
    sink += unused != NULL && status == 0;
}

static void make_of_uv(struct objects *objects)
{
    uv_loop_init(&objects->loop);
    uv_timer_init(&objects->loop, &objects->timer);
    uv_async_init(&objects->loop, &objects->async, on_async);
}

static void run_until_called(void)
{
    for (unsigned before = sink; sink == before;) {
        uv_run(&used->loop, UV_RUN_NOWAIT);
    }
}

static void start_timer_and_run(void)
{
    uv_timer_start(&used->timer, on_timer, 0, 0);
    run_until_called();
}

static void send_and_run(void)
{
    uv_async_send(&used->async);
    run_until_called();
}

static void work_and_answer(void)
{
    uv_queue_work(&used->loop, &used->work, do_work, after_work);
    run_until_called();
}
#endif

#ifdef HAS_LIBEVENT
static void on_event(evutil_socket_t unused, short what, void *unused_too)
{
    (void)unused;
    (void)unused_too;
    sink += what != 0;
}

static void make_of_libevent(struct objects *objects)
{
    objects->base = event_base_new();
    objects->event = event_new(objects->base, -1, 0, on_event, NULL);
}

static void add_event_and_run(void)
{
    const struct timeval now = {0, 0};
    event_add(used->event, &now);
    for (unsigned before = sink; sink == before;) {
        event_base_loop(used->base, EVLOOP_NONBLOCK);
    }
}

static void activate_event_and_run(void)
{
    event_active(used->event, EV_READ, 1);
    event_base_loop(used->base, EVLOOP_NONBLOCK);
}
#endif

#ifdef HAS_URING
static void submit_and_take(void)
{
    struct io_uring_cqe *completion;
    io_uring_prep_nop(io_uring_get_sqe(&used->ring));
    io_uring_submit_and_wait(&used->ring, 1);
    if (io_uring_peek_cqe(&used->ring, &completion) == 0) {
        io_uring_cqe_seen(&used->ring, completion);
        sink++;
    }
}
#endif

static void tell_of_one(void)
{
    uint64_t id = stallbox_task_queued();
    stallbox_task_begin(id);
    sink++;
    stallbox_task_end(id);
}

/* Passes a task to a thread that spins on another CPU. No thread is woken, so only the code on both sides is measured,
 * and the transfer of cache lines. With `chrt -f 10`, the result is nearly the same on a busy machine. */
static _Alignas(128) struct {
    atomic_uint there; /* 1: a task, 2: the thread is to end */
    uint64_t id;
} handed;
static _Alignas(128) atomic_uint begun;

static void *spin_for_tasks(void *unused)
{
    for (unsigned there = 0; there != 2; there = atomic_load(&handed.there)) {
        if (there == 1) {
            uint64_t id = handed.id;
            atomic_store(&handed.there, 0);
            stallbox_task_begin(id);
            atomic_fetch_add(&begun, 1);
            stallbox_task_end(id);
        }
    }
    return unused;
}

static void hand_over(void)
{
    unsigned before = atomic_load(&begun);
    handed.id = stallbox_task_queued();
    atomic_store(&handed.there, 1);
    while (atomic_load(&begun) == before) {
    }
}

static double paced_to_who_spins(void)
{
    pthread_t thread;
    atomic_store(&handed.there, 0);
    if (pthread_create(&thread, NULL, spin_for_tasks, NULL) != 0) {
        return 0;
    }
    double each_ns = paced(hand_over);
    atomic_store(&handed.there, 2);
    pthread_join(thread, NULL);
    return each_ns;
}

static const struct {
    const char *name;
    void (*one)(void);
} tasks[] = {
    {"g_idle_add + run", idle_and_run},
    {"g_thread_pool_push + taken by a worker that is awake", push_and_take},
    {"stallbox_task_queued + begin + end", tell_of_one},
    {"stallbox_task_queued + begun by a thread that spins", hand_over},
#ifdef HAS_UV
    {"uv_timer_start + run", start_timer_and_run},
    {"uv_async_send + run", send_and_run},
    {"uv_queue_work + answered", work_and_answer},
#endif
#ifdef HAS_LIBEVENT
    {"event_add of a timer + run", add_event_and_run},
    {"event_active + run", activate_event_and_run},
#endif
#ifdef HAS_URING
    {"io_uring_submit_and_wait of a nop", submit_and_take},
#endif
#ifdef HAS_QT
    {"QCoreApplication::postEvent + delivered", qt_post_and_deliver},
    {"QThreadPool::start + run by a thread that is woken", qt_start_and_run},
#endif
};
enum {
    KINDS = sizeof tasks / sizeof tasks[0]
};

int main(int count, char **arguments)
{
    struct bench_options options = {.rounds = ROUNDS_DEFAULT};
    static struct bench_series bare[KINDS], hooked[KINDS], bare_period[KINDS], period[KINDS];
    if (!bench_read_options(count, arguments, &options) || stallbox_start(NULL) != STALLBOX_OK) {
        return 2;
    }
    struct sbx_recording_header *header = bench_control_open(NULL, (uint32_t)getpid());
    if (header == NULL) {
        return 1;
    }
    struct sbx_capture_settings settings = sbx_control_page_of(header)->in_force;
    settings.max_cpu_permille = 0;
    const uint64_t with = SBX_POINTS_ALL,
                   without = with & ~(SBX_POINT_BIT(SBX_GROUP_TASK) | SBX_POINT_BIT(SBX_GROUP_GLIB) |
                                      SBX_POINT_BIT(SBX_GROUP_UV) | SBX_POINT_BIT(SBX_GROUP_QT) |
                                      SBX_POINT_BIT(SBX_GROUP_LIBEVENT) | SBX_POINT_BIT(SBX_GROUP_URING));
    for (int is_with = 0; is_with < 2; is_with++) {
        settings.points = is_with ? with : without;
        if (!bench_control_order(header, &settings)) {
            return 1;
        }
        made[is_with].pool = g_thread_pool_new(take_item, NULL, 1, TRUE, NULL);
#ifdef HAS_UV
        make_of_uv(&made[is_with]);
#endif
#ifdef HAS_LIBEVENT
        make_of_libevent(&made[is_with]);
#endif
#ifdef HAS_URING
        if (io_uring_queue_init(8, &made[is_with].ring, 0) != 0) {
            fprintf(stderr, "bench_tasks: the kernel refuses io_uring\n");
            return 1;
        }
#endif
    }
#ifdef HAS_QT
    qt_post_begin();
#endif
    for (int round = -1; round < options.rounds; round++) {
        for (int k = 0; k < 2; k++) {
            bool is_with = (k == 0) == (round % 2 == 0);
            settings.points = is_with ? with : without;
            used = &made[is_with];
            if (!bench_control_order(header, &settings)) {
                return 1;
            }
            for (int i = 0; i < KINDS; i++) {
                double each_ns = tasks[i].one == hand_over ? paced_to_who_spins() : paced(tasks[i].one);
                if (round >= 0) {
                    bench_series_add(is_with ? &hooked[i] : &bare[i], each_ns);
                    bench_series_add(is_with ? &period[i] : &bare_period[i], PAUSE_NS);
                }
            }
        }
    }
    for (int i = 0; i < KINDS; i++) { /* a period includes the task and the cost of following it */
        for (int round = 0; round < hooked[i].count; round++) {
            period[i].values[round] += hooked[i].values[round] - bare[i].values[round];
        }
    }
    stallbox_stop(1000);
    bench_print_heading(options.json, "a task that is followed");
    for (int i = 0; i < KINDS; i++) {
        struct bench_line line = {"tasks", tasks[i].name, "ns", "the points out", NULL};
        bench_print(options.json, &line, &hooked[i], &bare[i]);
    }
    for (int i = 0; i < KINDS; i++) {
        char metric[128];
        snprintf(metric, sizeof metric, "%s, a period of 10 us", tasks[i].name);
        struct bench_line line = {"tasks", metric, "ns", "the points out", "ratio <= 1.05"};
        bench_print(options.json, &line, &period[i], &bare_period[i]);
    }
    return 0;
}
