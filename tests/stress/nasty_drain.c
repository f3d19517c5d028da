/* SPDX-License-Identifier: Apache-2.0 */
/* nasty_drain.c - signals without handlers: threads that block all signals and drain them, out-of-band data whose
 * SIGURG nobody handles, and a host that takes, ignores and releases SIGURG.
 *
 * None of this may make a thread slow, or give it a signal that the host did not send. */
#include "nasty_host.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    DRAINERS = 4
};

struct drainer {
    struct nasty_worker *worker;
    unsigned number;
};

/* SIGURG and SIGWINCH are not among them. Without a handler both are ignored, and an ignored signal is discarded when
 * it is sent. While SIGURG has a handler, nobody sends it to the process. */
static bool is_sent_by_host(int number)
{
    sigset_t known;
    nasty_host_signals(&known);
    return sigismember(&known, number) == 1;
}

static void check_drained(struct drainer *self, int number, int code)
{
    if (!is_sent_by_host(number)) {
        nasty_error(self->worker, "drained signal %d, code %d, which nobody of the host sends", number, code);
    }
}

static void *drain(void *argument)
{
    struct drainer *self = argument;
    static const struct timespec moment = {0, 400000};
    sigset_t all, before;
    siginfo_t info;
    int pipe_fds[2], signals = -1;
    sigfillset(&all);
    if (pipe2(pipe_fds, O_CLOEXEC) != 0) {
        nasty_error(self->worker, "pipe: %s", strerror(errno));
        return NULL;
    }
    for (int turn = 0; turn < 30; turn++) {
        (void)nasty_compute(self->number, 2000); /* so that the sampler has a reason to look */
        pthread_sigmask(SIG_SETMASK, &all, &before);
        (void)nasty_compute(self->number, turn % 4 == 0 ? 20000 : 1500); /* the signal may be sent, and stays pending */
        if (self->number % 2 == 0) {
            int number;
            while ((number = sigtimedwait(&all, &info, &moment)) > 0) {
                check_drained(self, number, info.si_code);
            }
            /* EINTR can occur too: the kernel wakes the thread for a signal of the process that another thread has
             * taken by then */
            if (errno != EAGAIN && errno != EINTR) {
                nasty_error(self->worker, "sigtimedwait with everything blocked: %s", strerror(errno));
            }
        } else {
            struct signalfd_siginfo read_info;
            signals = signalfd(signals, &all, SFD_CLOEXEC | SFD_NONBLOCK);
            struct pollfd ready = {.fd = signals, .events = POLLIN};
            int count = poll(&ready, 1, 1);
            if (count < 0) {
                nasty_error(self->worker, "poll with everything blocked: %s", strerror(errno));
            }
            while (read(signals, &read_info, sizeof read_info) == (ssize_t)sizeof read_info) {
                check_drained(self, (int)read_info.ssi_signo, read_info.ssi_code);
            }
            if (errno != EAGAIN) {
                nasty_error(self->worker, "read of a signalfd: %s", strerror(errno));
            }
        }
        nasty_calls_are_quick(self->worker, pipe_fds);
        if (turn % 3 != 0) {
            pthread_sigmask(SIG_SETMASK, &before, NULL);
        }
    }
    close(pipe_fds[0]);
    close(pipe_fds[1]);
    if (signals >= 0) {
        close(signals);
    }
    return NULL;
}

void nasty_drain(struct nasty_worker *worker)
{
    while (nasty_goes_on()) {
        struct drainer drainers[DRAINERS];
        pthread_t threads[DRAINERS];
        nasty_step(worker, "draining");
        for (unsigned i = 0; i < DRAINERS; i++) {
            drainers[i] = (struct drainer){worker, i};
            threads[i] = nasty_thread(worker, 0, drain, &drainers[i]);
        }
        for (unsigned i = 0; i < DRAINERS; i++) {
            nasty_join(worker, threads[i]);
        }
        nasty_round(worker);
    }
}

/* ---- out-of-band data ---- */

static bool connect_pair(int fds[2])
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    fds[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is_good = listener >= 0 && fds[0] >= 0 && bind(listener, (struct sockaddr *)&address, bytes) == 0 &&
                   listen(listener, 1) == 0 && getsockname(listener, (struct sockaddr *)&address, &bytes) == 0 &&
                   connect(fds[0], (struct sockaddr *)&address, bytes) == 0;
    fds[1] = is_good ? accept4(listener, NULL, NULL, SOCK_CLOEXEC) : -1;
    close(listener);
    return fds[1] >= 0;
}

/* While SIGURG has a handler, it would interrupt any thread that the kernel picks. So then it is sent to one thread. */
static struct {
    pthread_mutex_t lock;
    bool is_handled; /* protected by lock */
} urgent = {.lock = PTHREAD_MUTEX_INITIALIZER};

void nasty_urgent_data(struct nasty_worker *worker)
{
    int fds[2];
    nasty_block_host_signals();
    nasty_step(worker, "connecting");
    if (!connect_pair(fds)) {
        nasty_error(worker, "a connection to itself: %s", strerror(errno));
        return;
    }
    for (unsigned char turn = 0; nasty_goes_on(); turn++) {
        unsigned char ordinary = turn, urgent_byte = (unsigned char)~turn, got = 0;
        int at_mark = 0;
        pthread_mutex_lock(&urgent.lock);
        struct f_owner_ex owner = {F_OWNER_PID, getpid()};
        if (urgent.is_handled) {
            owner = (struct f_owner_ex){F_OWNER_TID, (pid_t)syscall(SYS_gettid)};
        }
        fcntl(fds[1], F_SETOWN_EX, &owner);
        nasty_step(worker, "sending urgent data");
        if (send(fds[0], &ordinary, 1, 0) != 1 || send(fds[0], &urgent_byte, 1, MSG_OOB) != 1) {
            nasty_error(worker, "send: %s", strerror(errno));
        }
        struct pollfd ready = {.fd = fds[1], .events = POLLPRI};
        nasty_step(worker, "polling for urgent data");
        sig_atomic_t handled = nasty_handled;
        while (poll(&ready, 1, -1) != 1 && nasty_is_interrupted(worker, handled, "poll for urgent data")) {
            handled = nasty_handled;
        }
        nasty_step(worker, "receiving urgent data");
        if (recv(fds[1], &got, 1, 0) != 1 || got != ordinary) {
            nasty_error(worker, "recv: %d for %d, %s", got, ordinary, strerror(errno));
        }
        got = (unsigned char)~urgent_byte;
        if (ioctl(fds[1], SIOCATMARK, &at_mark) != 0 || at_mark == 0 || recv(fds[1], &got, 1, MSG_OOB) != 1 ||
            got != urgent_byte) {
            nasty_error(worker, "urgent data: %d for %d, mark %d, %s", got, urgent_byte, at_mark, strerror(errno));
        }
        pthread_mutex_unlock(&urgent.lock);
        nasty_round(worker);
        nasty_pause_us(nasty_random(worker, 2000));
    }
    close(fds[0]);
    close(fds[1]);
}

/* ---- a host that takes SIGURG, and lets go ---- */

static void on_urgent(int number)
{
    (void)number;
    nasty_handled++;
}

static atomic_bool busy_go_on;

static void *be_busy(void *argument)
{
    int pipe_fds[2];
    if (pipe2(pipe_fds, O_CLOEXEC) != 0) {
        nasty_error(argument, "pipe: %s", strerror(errno));
        return NULL;
    }
    while (busy_go_on) {
        (void)nasty_compute(1, 5000);
        nasty_calls_are_quick(argument, pipe_fds);
    }
    close(pipe_fds[0]);
    close(pipe_fds[1]);
    return NULL;
}

void nasty_take_urgent(struct nasty_worker *worker)
{
    enum {
        BUSY = 6
    };
    pthread_t threads[BUSY];
    busy_go_on = true;
    for (int i = 0; i < BUSY; i++) {
        threads[i] = nasty_thread(worker, 0, be_busy, worker);
    }
    while (nasty_goes_on()) {
        nasty_step(worker, "taking and leaving SIGURG");
        pthread_mutex_lock(&urgent.lock);
        signal(SIGURG, nasty_random(worker, 2) ? SIG_IGN : SIG_DFL); /* discards a pending signal */
        urgent.is_handled = nasty_random(worker, 3) == 0;
        if (urgent.is_handled) {
            signal(SIGURG, on_urgent);
        }
        pthread_mutex_unlock(&urgent.lock);
        nasty_pause_us(nasty_random(worker, 30000));
        nasty_round(worker);
    }
    pthread_mutex_lock(&urgent.lock);
    signal(SIGURG, SIG_DFL);
    urgent.is_handled = false;
    pthread_mutex_unlock(&urgent.lock);
    busy_go_on = false;
    nasty_step(worker, "joining the busy");
    for (int i = 0; i < BUSY; i++) {
        nasty_join(worker, threads[i]);
    }
}
