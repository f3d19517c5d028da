/* SPDX-License-Identifier: Apache-2.0 */
/* nasty_cancel.c - threads that are cancelled in each kind of call.
 *
 * Each must end as cancelled, with its cleanup handlers run once and innermost first, and with the mutex of a condition
 * locked again. */
#include "nasty_host.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum way {
    IN_READ,
    IN_WRITE,
    IN_POLL,
    IN_SELECT,
    IN_EPOLL,
    IN_RECV,
    IN_RECVMSG,
    IN_ACCEPT,
    IN_NANOSLEEP,
    IN_CLOCK_NANOSLEEP,
    IN_USLEEP,
    IN_SLEEP,
    IN_PAUSE,
    IN_SIGWAIT,
    IN_CONDITION,
    IN_TIMED_CONDITION,
    IN_SEMAPHORE,
    IN_JOIN,
    IN_TESTCANCEL,
    IN_FILES,
    WAYS
};

static const char *const names[WAYS] = {"read",
                                        "write",
                                        "poll",
                                        "select",
                                        "epoll_wait",
                                        "recv",
                                        "recvmsg",
                                        "accept",
                                        "nanosleep",
                                        "clock_nanosleep",
                                        "usleep",
                                        "sleep",
                                        "pause",
                                        "sigwaitinfo",
                                        "pthread_cond_wait",
                                        "pthread_cond_timedwait",
                                        "sem_wait",
                                        "pthread_join",
                                        "pthread_testcancel",
                                        "open and close"};

struct victim {
    struct nasty_worker *worker;
    enum way way;
    int pipe_fds[2], full_fds[2], sockets[2], listener, epoll;
    pthread_mutex_t lock;
    pthread_cond_t never;
    sem_t no_one, ready;
    pthread_t sleeper;   /* joined by IN_JOIN */
    int outer, inner;    /* cleanup handlers that ran; inner runs first */
    int lock_error;      /* the result of unlocking in the cleanup handler */
    atomic_bool is_over; /* the sleeper may end */
};

static void clean_outer(void *argument)
{
    struct victim *victim = argument;
    victim->outer = victim->inner == 1 ? victim->outer + 1 : 100;
}

static void clean_inner(void *argument)
{
    struct victim *victim = argument;
    victim->inner++;
    nasty_pause_us(10); /* a capture point in a thread that is being cancelled */
}

static void clean_lock(void *argument)
{
    struct victim *victim = argument;
    victim->lock_error = pthread_mutex_unlock(&victim->lock);
}

static void *sleep_until_over(void *argument)
{
    struct victim *victim = argument;
    while (!victim->is_over) {
        nasty_pause_us(300);
    }
    return NULL;
}

static void wait_for_condition(struct victim *victim)
{
    pthread_mutex_lock(&victim->lock);
    pthread_cleanup_push(clean_lock, victim);
    if (victim->way == IN_CONDITION) {
        pthread_cond_wait(&victim->never, &victim->lock);
    } else {
        struct timespec late;
        clock_gettime(CLOCK_REALTIME, &late);
        late.tv_sec += 100;
        pthread_cond_timedwait(&victim->never, &victim->lock, &late);
    }
    pthread_cleanup_pop(1);
}

static void call_once(struct victim *victim)
{
    static const struct timespec long_time = {100, 0};
    char bytes[64] = {0};
    struct pollfd ready = {.fd = victim->pipe_fds[0], .events = POLLIN};
    struct epoll_event event;
    struct iovec vector = {bytes, sizeof bytes};
    struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};
    siginfo_t info;
    sigset_t set;
    fd_set files;
    int fd;
    switch (victim->way) {
    case IN_READ:
        (void)!read(victim->pipe_fds[0], bytes, sizeof bytes);
        break;
    case IN_WRITE:
        (void)!write(victim->full_fds[1], bytes, sizeof bytes);
        break;
    case IN_POLL:
        poll(&ready, 1, -1);
        break;
    case IN_SELECT:
        if (victim->pipe_fds[0] >= FD_SETSIZE) {
            pthread_testcancel();
            break;
        }
        FD_ZERO(&files);
        FD_SET(victim->pipe_fds[0], &files);
        select(victim->pipe_fds[0] + 1, &files, NULL, NULL, NULL);
        break;
    case IN_EPOLL:
        epoll_wait(victim->epoll, &event, 1, -1);
        break;
    case IN_RECV:
        recv(victim->sockets[0], bytes, sizeof bytes, 0);
        break;
    case IN_RECVMSG:
        recvmsg(victim->sockets[0], &message, 0);
        break;
    case IN_ACCEPT:
        accept(victim->listener, NULL, NULL);
        break;
    case IN_NANOSLEEP:
        nanosleep(&long_time, NULL);
        break;
    case IN_CLOCK_NANOSLEEP:
        clock_nanosleep(CLOCK_MONOTONIC, 0, &long_time, NULL);
        break;
    case IN_USLEEP:
        usleep(90000000);
        break;
    case IN_SLEEP:
        sleep(100);
        break;
    case IN_PAUSE:
        pause();
        break;
    case IN_SIGWAIT:
        sigemptyset(&set);
        sigaddset(&set, SIGTTOU);
        sigwaitinfo(&set, &info);
        break;
    case IN_CONDITION:
    case IN_TIMED_CONDITION:
        wait_for_condition(victim);
        break;
    case IN_SEMAPHORE:
        sem_wait(&victim->no_one);
        break;
    case IN_JOIN:
        pthread_join(victim->sleeper, NULL);
        break;
    case IN_FILES: /* no descriptor may be lost: open() is cancelled or the thread has it */
        pthread_testcancel();
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
        fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        close(fd);
        pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
        break;
    default:
        pthread_testcancel();
        nasty_compute(1, 20);
    }
}

static void *be_cancelled(void *argument)
{
    struct victim *victim = argument;
    pthread_cleanup_push(clean_outer, victim);
    pthread_cleanup_push(clean_inner, victim);
    sem_post(&victim->ready);
    for (;;) {
        call_once(victim);
    }
    pthread_cleanup_pop(0);
    pthread_cleanup_pop(0);
    return NULL;
}

static void set_up(struct victim *victim)
{
    char bytes[4096] = {0};
    struct epoll_event event = {.events = EPOLLIN};
    if (pipe2(victim->pipe_fds, O_CLOEXEC) != 0 || pipe2(victim->full_fds, O_CLOEXEC | O_NONBLOCK) != 0 ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, victim->sockets) != 0 ||
        (victim->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) < 0 ||
        bind(victim->listener, &(struct sockaddr){.sa_family = AF_UNIX}, sizeof(sa_family_t)) != 0 ||
        listen(victim->listener, 1) != 0 || (victim->epoll = epoll_create1(EPOLL_CLOEXEC)) < 0 ||
        epoll_ctl(victim->epoll, EPOLL_CTL_ADD, victim->pipe_fds[0], &event) != 0) {
        nasty_error(victim->worker, "descriptors: %s", strerror(errno));
    }
    while (write(victim->full_fds[1], bytes, sizeof bytes) > 0) {
    }
    fcntl(victim->full_fds[1], F_SETFL, 0);
    pthread_mutexattr_t checking;
    pthread_mutexattr_init(&checking);
    pthread_mutexattr_settype(&checking, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&victim->lock, &checking);
    pthread_mutexattr_destroy(&checking);
    pthread_cond_init(&victim->never, NULL);
    sem_init(&victim->no_one, 0, 0);
    sem_init(&victim->ready, 0, 0);
}

static void tear_down(struct victim *victim)
{
    const int fds[] = {victim->pipe_fds[0], victim->pipe_fds[1], victim->full_fds[0], victim->full_fds[1],
                       victim->sockets[0],  victim->sockets[1],  victim->listener,    victim->epoll};
    for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++) {
        if (close(fds[i]) != 0) {
            nasty_error(victim->worker, "close(%d): %s", fds[i], strerror(errno));
        }
    }
    pthread_mutex_destroy(&victim->lock);
    pthread_cond_destroy(&victim->never);
}

void nasty_cancel(struct nasty_worker *worker)
{
    static _Thread_local struct victim victim;
    victim.worker = worker;
    set_up(&victim);
    while (nasty_goes_on()) {
        victim.way = (enum way)nasty_random(worker, WAYS);
        victim.outer = victim.inner = victim.lock_error = 0;
        victim.is_over = false;
        nasty_step(worker, names[victim.way]);
        if (victim.way == IN_JOIN) {
            victim.sleeper = nasty_thread(worker, 0, sleep_until_over, &victim);
        }
        pthread_t thread = nasty_thread(worker, nasty_random(worker, 2) ? 0 : 64 << 10, be_cancelled, &victim);
        while (sem_wait(&victim.ready) != 0) {
        }
        if (nasty_random(worker, 3) != 0) {
            nasty_pause_us(nasty_random(worker, 2500));
        }
        pthread_cancel(thread);
        if (nasty_join(worker, thread) != PTHREAD_CANCELED) {
            nasty_error(worker, "the thread was not cancelled");
        }
        if (victim.way == IN_JOIN) {
            victim.is_over = true;
            nasty_join(worker, victim.sleeper); /* the thread that joined it was cancelled, so it is still joinable */
        }
        if (victim.inner != 1 || victim.outer != 1) {
            nasty_error(worker, "cleanup handlers ran %d and %d times", victim.inner, victim.outer);
        }
        if (victim.lock_error != 0) {
            nasty_error(worker, "the condition's mutex was not held: %s", strerror(victim.lock_error));
        }
        nasty_round(worker);
    }
    tear_down(&victim);
}
