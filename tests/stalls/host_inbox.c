/* SPDX-License-Identifier: Apache-2.0 */
/* host_inbox.c - a loop with an inbox of its own, as servers have it: other threads put functions there and wake the
 * loop by a descriptor.
 *
 * Three programs are built from this file: INBOX_EVENTFD waits in epoll_wait() for an eventfd, INBOX_PIPE in poll() for
 * a pipe, INBOX_SOCKETS in select() for one of a pair of sockets. */
#include "stall.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>

enum {
    ROOM = 4096
};

struct inbox {
    pthread_mutex_t lock;
    void (*items[ROOM])(void);
    unsigned put, taken;
    int reader, writer, set;
};

static struct inbox loops = {.lock = PTHREAD_MUTEX_INITIALIZER}, workers = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void make(struct inbox *inbox)
{
#if defined(INBOX_EVENTFD)
    inbox->reader = inbox->writer = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    inbox->set = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN, .data = {.ptr = inbox}};
    if (epoll_ctl(inbox->set, EPOLL_CTL_ADD, inbox->reader, &event) != 0) {
        abort();
    }
#else
    int ends[2];
#if defined(INBOX_PIPE)
    int result = pipe2(ends, O_CLOEXEC | O_NONBLOCK);
#else
    int result = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends);
#endif
    if (result != 0) {
        abort();
    }
    inbox->reader = ends[0];
    inbox->writer = ends[1];
#endif
}

/* Returns whether something is there within that many milliseconds. */
static inline __attribute__((always_inline)) int await(struct inbox *inbox, int ms)
{
#if defined(INBOX_EVENTFD)
    struct epoll_event event;
    return epoll_wait(inbox->set, &event, 1, ms) == 1;
#elif defined(INBOX_PIPE)
    struct pollfd polled = {.fd = inbox->reader, .events = POLLIN};
    return poll(&polled, 1, ms) == 1;
#else
    fd_set in;
    struct timeval left = {ms / 1000, ms % 1000 * 1000};
    FD_ZERO(&in);
    FD_SET(inbox->reader, &in);
    return select(inbox->reader + 1, &in, NULL, NULL, ms < 0 ? NULL : &left) == 1;
#endif
}

static STALL_FUNCTION void post_task(struct inbox *inbox, void (*item)(void))
{
    const uint64_t one = 1;
    pthread_mutex_lock(&inbox->lock);
    int is_full = inbox->put - inbox->taken == ROOM;
    if (!is_full) {
        inbox->items[inbox->put++ % ROOM] = item;
    }
    pthread_mutex_unlock(&inbox->lock);
    if (!is_full && write(inbox->writer, &one, sizeof one) < 0) {
        stall_sink++; /* the pipe is full, so the loop will wake */
    }
}

static STALL_FUNCTION void run_inbox(struct inbox *inbox)
{
    uint64_t bytes[64];
    while (read(inbox->reader, bytes, sizeof bytes) == (ssize_t)sizeof bytes) {
    }
    for (;;) {
        pthread_mutex_lock(&inbox->lock);
        void (*item)(void) = inbox->taken != inbox->put ? inbox->items[inbox->taken++ % ROOM] : NULL;
        pthread_mutex_unlock(&inbox->lock);
        if (item == NULL) {
            return;
        }
        item();
    }
}

void host_loop(int (*step)(void))
{
    int64_t due_ns = stall_now_ns() + 15000000;
    for (;;) {
        int64_t left_ns = due_ns - stall_now_ns();
        if (await(&loops, left_ns > 0 ? (int)((left_ns + 999999) / 1000000) : 0)) {
            run_inbox(&loops);
        } else if (stall_now_ns() >= due_ns) {
            int next_ms = step();
            if (next_ms < 0) {
                return;
            }
            due_ns = stall_now_ns() + next_ms * INT64_C(1000000);
        }
    }
}

/* ---- a thread that posts to the loop ---- */

static atomic_int is_time;

static void note_price(void)
{
    stall_sink++;
}

static STALL_FUNCTION void redraw_chart(void)
{
    STALL_COMPUTE_MS(stall_ms);
    STALL_STAY();
}

static STALL_FUNCTION void on_prices_arrived(void)
{
    post_task(&loops, redraw_chart);
    STALL_STAY();
}

static STALL_FUNCTION void on_price(void)
{
    post_task(&loops, note_price);
    STALL_STAY();
}

static void *receive_prices(void *unused)
{
    for (int is_told = 0;;) {
        stall_pause_ms(5);
        if (!is_told && atomic_load(&is_time)) {
            on_prices_arrived();
            is_told = 1;
        }
        on_price();
    }
    return unused;
}

static void prepare_prices(void)
{
    make(&loops);
    stall_thread("prices", receive_prices, NULL, NULL);
}

static STALL_FUNCTION void let_them_arrive(int n)
{
    atomic_store(&is_time, n >= 10);
    stall_sink += (uint64_t)n;
}

/* ---- a worker with an inbox, too, and its answer ---- */

static STALL_FUNCTION void paint_tile(void)
{
    STALL_COMPUTE_MS(stall_ms);
    STALL_STAY();
}

static STALL_FUNCTION void decode_tile(void)
{
    STALL_COMPUTE_MS(20);
    post_task(&loops, paint_tile);
    STALL_STAY();
}

static STALL_FUNCTION void scroll_view(void)
{
    post_task(&workers, decode_tile);
    STALL_STAY();
}

static void *work_for_ever(void *unused)
{
    for (;;) {
        if (await(&workers, -1)) {
            run_inbox(&workers);
        }
    }
    return unused;
}

static void note_answer(void)
{
    post_task(&loops, note_price);
}

static void prepare_worker(void)
{
    make(&loops);
    make(&workers);
    stall_thread("decoder", work_for_ever, NULL, NULL);
}

static STALL_FUNCTION void show_view(int n)
{
    if (n == 14) { /* both loops have been woken before */
        scroll_view();
    } else {
        post_task(&workers, note_answer);
    }
    stall_sink += (uint64_t)n;
}

/* ---- a flood that is handled as it comes ---- */

static void *flood(void *unused)
{
    for (;;) {
        stall_pause_ms(1);
        for (int i = 0; i < 50; i++) {
            on_price();
        }
    }
    return unused;
}

static void prepare_flood(void)
{
    make(&loops);
    stall_thread("flood", flood, NULL, NULL);
}

const struct stall stalls_inbox[] = {
    {.name = "inbox_posted", .prepare = prepare_prices, .message = let_them_arrive, .every = true, .delay_ms = 15},
    {.name = "inbox_two_hops", .prepare = prepare_worker, .message = show_view, .every = true, .delay_ms = 15},
    {.name = "healthy_inbox",
     .prepare = prepare_flood,
     .message = let_them_arrive,
     .every = true,
     .delay_ms = 15,
     .messages = 120},
    {.name = NULL},
};
