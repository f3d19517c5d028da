/* SPDX-License-Identifier: Apache-2.0 */
/* nasty_calls.c - calls through dlsym() pointers, as ctypes, JNA and LuaJIT make them, and random bytes in large
 * pieces.
 *
 * Threads here block the host's signals, so nothing may interrupt their calls: there must be no EINTR, no short count,
 * and no sleep that ends too early. */
#include "nasty_host.h"

#include <aio.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>

static struct {
    int (*poll)(struct pollfd *files, nfds_t count, int timeout_ms);
    int (*nanosleep)(const struct timespec *want, struct timespec *rest);
    int (*clock_nanosleep)(clockid_t clock, int flags, const struct timespec *want, struct timespec *rest);
    int (*select)(int count, fd_set *in, fd_set *out, fd_set *bad, struct timeval *timeout);
    int (*epoll_wait)(int epoll, struct epoll_event *events, int count, int timeout_ms);
    int (*usleep)(useconds_t us);
    int (*sem_timedwait)(sem_t *semaphore, const struct timespec *until);
    int (*sigtimedwait)(const sigset_t *set, siginfo_t *info, const struct timespec *timeout);
    ssize_t (*read)(int fd, void *bytes, size_t count);
    ssize_t (*getrandom)(void *bytes, size_t count, unsigned flags);
    int (*aio_read)(struct aiocb *block);
    int (*aio_suspend)(const struct aiocb *const list[], int count, const struct timespec *timeout);
} by_pointer;

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void find(void *place, const char *name)
{
    void *function = dlsym(RTLD_DEFAULT, name);
    memcpy(place, &function, sizeof function);
}

static void find_all(void)
{
    pthread_mutex_lock(&nasty_loader);
    find(&by_pointer.poll, "poll");
    find(&by_pointer.nanosleep, "nanosleep");
    find(&by_pointer.clock_nanosleep, "clock_nanosleep");
    find(&by_pointer.select, "select");
    find(&by_pointer.epoll_wait, "epoll_wait");
    find(&by_pointer.usleep, "usleep");
    find(&by_pointer.sem_timedwait, "sem_timedwait");
    find(&by_pointer.sigtimedwait, "sigtimedwait");
    find(&by_pointer.read, "read");
    find(&by_pointer.getrandom, "getrandom");
    find(&by_pointer.aio_read, "aio_read");
    find(&by_pointer.aio_suspend, "aio_suspend");
    pthread_mutex_unlock(&nasty_loader);
}

/* Check a call that must wait until its time is over: `result` is its result, 0 is right. */
static void check_wait(struct nasty_worker *worker, const char *call, int result, uint64_t begin_ns, uint64_t want_ns)
{
    int error = errno;
    uint64_t took_ns = nasty_now_ns() - begin_ns;
    if (result != 0) {
        nasty_error(worker, "%s by pointer: %s", call, result < 0 ? strerror(error) : "something where nothing is");
    } else if (took_ns < want_ns) {
        nasty_error(worker, "%s by pointer: over after %llu of %llu ns", call, (unsigned long long)took_ns,
                    (unsigned long long)want_ns);
    }
}

static void call_one(struct nasty_worker *worker, int epoll, sem_t *never)
{
    const struct timespec moment = {0, 800000};
    struct timespec until;
    struct timeval brief = {0, 800};
    struct epoll_event event;
    sigset_t set;
    uint64_t begin_ns = nasty_now_ns();
    int result;
    errno = 0;
    switch (nasty_random(worker, 8)) {
    case 0:
        check_wait(worker, "poll", by_pointer.poll(NULL, 0, 1), begin_ns, 1000000);
        break;
    case 1:
        check_wait(worker, "nanosleep", by_pointer.nanosleep(&moment, NULL), begin_ns, 800000);
        break;
    case 2:
        result = by_pointer.clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, NULL);
        errno = result;
        check_wait(worker, "clock_nanosleep", result != 0 ? -1 : 0, begin_ns, 800000);
        break;
    case 3:
        check_wait(worker, "select", by_pointer.select(0, NULL, NULL, NULL, &brief), begin_ns, 800000);
        break;
    case 4:
        check_wait(worker, "epoll_wait", by_pointer.epoll_wait(epoll, &event, 1, 1), begin_ns, 1000000);
        break;
    case 5:
        check_wait(worker, "usleep", by_pointer.usleep(700), begin_ns, 700000);
        break;
    case 6:
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 800000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        if (by_pointer.sem_timedwait(never, &until) != -1 || errno != ETIMEDOUT) {
            nasty_error(worker, "sem_timedwait by pointer: %s", strerror(errno));
        }
        break;
    default:
        sigemptyset(&set);
        sigaddset(&set, SIGTTIN);
        if (by_pointer.sigtimedwait(&set, NULL, &moment) != -1 || errno != EAGAIN) {
            nasty_error(worker, "sigtimedwait by pointer: %s", strerror(errno));
        }
    }
}

/* A read that another thread of libc's finishes; this thread waits for it by its futex. */
static void wait_for_aio(struct nasty_worker *worker, int pipe_fds[2])
{
    char byte = 0, sent = (char)(1 + nasty_random(worker, 100));
    struct aiocb block = {.aio_fildes = pipe_fds[0], .aio_buf = &byte, .aio_nbytes = 1};
    const struct aiocb *const list[] = {&block};
    block.aio_sigevent.sigev_notify = SIGEV_NONE;
    if (by_pointer.aio_read(&block) != 0) {
        nasty_error(worker, "aio_read: %s", strerror(errno));
        return;
    }
    const struct timespec brief = {0, 1000000};
    if (by_pointer.aio_suspend(list, 1, &brief) != -1 || errno != EAGAIN) {
        nasty_error(worker, "aio_suspend by pointer, nothing there: %s", strerror(errno));
    }
    if (write(pipe_fds[1], &sent, 1) != 1) {
        nasty_error(worker, "write: %s", strerror(errno));
    }
    nasty_step(worker, "aio_suspend");
    while (aio_error(&block) == EINPROGRESS) {
        if (by_pointer.aio_suspend(list, 1, NULL) != 0) {
            nasty_error(worker, "aio_suspend by pointer: %s", strerror(errno));
        }
    }
    if (aio_return(&block) != 1 || byte != sent) {
        nasty_error(worker, "aio_read: another byte");
    }
}

void nasty_by_pointer(struct nasty_worker *worker)
{
    int epoll = epoll_create1(EPOLL_CLOEXEC), pipe_fds[2];
    sem_t never;
    pthread_once(&once, find_all);
    nasty_block_host_signals();
    sem_init(&never, 0, 0);
    if (epoll < 0 || pipe2(pipe_fds, O_CLOEXEC) != 0) {
        nasty_error(worker, "descriptors: %s", strerror(errno));
        return;
    }
    while (nasty_goes_on()) {
        nasty_step(worker, "calling by pointer");
        for (int i = 0; i < 100; i++) {
            (void)nasty_compute(1, nasty_random(worker, 400));
            call_one(worker, epoll, &never);
        }
        wait_for_aio(worker, pipe_fds);
        nasty_round(worker);
    }
    close(epoll);
    close(pipe_fds[0]);
    close(pipe_fds[1]);
}

void nasty_getrandom(struct nasty_worker *worker)
{
    enum {
        LARGE = 8 << 20
    };
    pthread_once(&once, find_all);
    nasty_block_host_signals();
    unsigned char *bytes = malloc(LARGE);
    while (bytes != NULL && nasty_goes_on()) {
        bool is_direct = nasty_random(worker, 2) == 0;
        nasty_step(worker, is_direct ? "getrandom" : "getrandom by pointer");
        memset(bytes + LARGE - 64, 0, 64);
        ssize_t count = is_direct ? getrandom(bytes, LARGE, 0) : by_pointer.getrandom(bytes, LARGE, 0);
        static const unsigned char zeroes[64];
        if (count != LARGE) {
            nasty_error(worker, "%zd of %d bytes, %s", count, LARGE, count < 0 ? strerror(errno) : "no error");
        } else if (memcmp(bytes + LARGE - 64, zeroes, 64) == 0) {
            nasty_error(worker, "zeroes at the end");
        }
        nasty_round(worker);
        nasty_pause_us(20000);
    }
    free(bytes);
}
