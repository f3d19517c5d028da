/* SPDX-License-Identifier: Apache-2.0 */
/* host_uring.c - a loop of poll calls, and the cases that need io_uring: requests whose completion the loop's handlers
 * wait for. */
#include <liburing.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "stall.h"

void host_loop(int (*step)(void))
{
    int ends[2];
    if (pipe(ends) != 0) {
        return;
    }
    struct pollfd inbox = {.fd = ends[0], .events = POLLIN};
    for (int next_ms = 15; next_ms >= 0;) {
        poll(&inbox, 1, next_ms);
        next_ms = step();
    }
}

static struct io_uring ring;
static int channel[2];
static char block[4096];

static void prepare_ring(void)
{
    if (io_uring_queue_init(256, &ring, 0) != 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, channel) != 0) {
        exit(1);
    }
}

static STALL_FUNCTION void *answer_late(void *unused)
{
    stall_pause_ms(stall_ms);
    if (write(channel[1], "block", 5) != 5) {
        abort();
    }
    return unused;
}

static STALL_FUNCTION void await_block(void)
{
    struct io_uring_cqe *completion;
    if (io_uring_wait_cqe(&ring, &completion) == 0) {
        io_uring_cqe_seen(&ring, completion);
    }
    STALL_STAY();
}

/* ---- a message from another process of the same machine ---- */

static STALL_FUNCTION void request_block(void)
{
    struct io_uring_sqe *request = io_uring_get_sqe(&ring);
    io_uring_prep_recv(request, channel[0], block, sizeof block, 0);
    io_uring_sqe_set_data(request, block);
    io_uring_submit(&ring);
    STALL_STAY();
}

static STALL_FUNCTION void show_block(int n)
{
    stall_thread("peer", answer_late, NULL, NULL);
    request_block();
    await_block();
    stall_sink += (uint64_t)n;
}

/* ---- a time-out of the ring's own ---- */

static STALL_FUNCTION void arm_retry(void)
{
    static struct __kernel_timespec after = {1, 500000000};
    struct io_uring_sqe *request = io_uring_get_sqe(&ring);
    io_uring_prep_timeout(request, &after, 0, 0);
    io_uring_sqe_set_data(request, &after);
    io_uring_submit(&ring);
    STALL_STAY();
}

static STALL_FUNCTION void retry_block(int n)
{
    arm_retry();
    await_block();
    stall_sink += (uint64_t)n;
}

/* ---- much to do, and done ---- */

static void fill_ring(int n)
{
    struct io_uring_cqe *completion;
    unsigned head, count = 0;
    for (int i = 0; i < 200; i++) {
        io_uring_prep_nop(io_uring_get_sqe(&ring));
    }
    io_uring_submit_and_wait(&ring, 200);
    io_uring_for_each_cqe(&ring, head, completion)
    {
        count++;
    }
    io_uring_cq_advance(&ring, count);
    stall_sink += (uint64_t)n + count;
}

const struct stall stalls_uring[] = {
    {.name = "uring_recv", .prepare = prepare_ring, .message = show_block},
    {.name = "uring_timeout", .prepare = prepare_ring, .message = retry_block},
    {.name = "healthy_uring",
     .prepare = prepare_ring,
     .message = fill_ring,
     .every = true,
     .delay_ms = 20,
     .messages = 80},
    {.name = NULL},
};
