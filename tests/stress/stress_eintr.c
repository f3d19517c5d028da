/* SPDX-License-Identifier: Apache-2.0 */
/* stress_eintr.c - a program that only makes calls that a signal handler ends with EINTR, sampled by signal as often as
 * the recorder can. It must see no EINTR that it did not cause.
 *
 * usage: stress_eintr [CAPTURES [SECONDS [PERMILLE]]]
 * With STALLBOX_SIGNAL_PLACE=anywhere signals are made in the middle of calls, as by kernels before Linux 5.11. Runs
 * until that many samples were taken by signal (default 10,000) or that time is over (default 60), with a CPU budget of
 * PERMILLE (default 0: none; with a budget the recorder sheds points during the calls). Each thread computes for some
 * hundred microseconds, so that it is worth a signal, and then makes a call. The lengths vary, so that signals hit
 * every instruction on the way into the call. Prints what was called, sampled and interrupted. Exits with 1 at an
 * interruption, or when fewer than 200 samples were taken, which prove nothing. */
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/random.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "policy.h"
#include "preload.h"
#include "stallbox/stallbox.h"

enum {
    LEAST_CAPTURES = 200,
    GAP_US = 1000,
    FILL_BYTES =
        1 << 20, /* what one call fills: longer than the pause between the making of its signal and the call's end */
    SKIPPED = -2
};

static atomic_bool goes_on = true;
static int epoll_fd, sockets[2], queue, semaphores;
static mqd_t posix_queue;
static unsigned long aio_context;
static sem_t never;
static atomic_long woken; /* how many of the host's own signals the pausing thread has handled */

static const struct timespec soon = {0, 300000};

static struct timespec real_soon(void)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 300000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    return until;
}

/* ---- the calls: each returns as its call does ---- */

static int call_poll(void)
{
    struct pollfd none = {.fd = -1};
    return poll(&none, 1, 1);
}

static int call_ppoll(void)
{
    struct pollfd none = {.fd = -1};
    return ppoll(&none, 1, &soon, NULL);
}

static int call_epoll_wait(void)
{
    struct epoll_event event;
    return epoll_wait(epoll_fd, &event, 1, 1);
}

static int call_select(void)
{
    struct timeval timeout = {0, 300};
    return select(0, NULL, NULL, NULL, &timeout);
}

static int call_nanosleep(void)
{
    return nanosleep(&soon, NULL);
}

static int call_clock_nanosleep(void)
{
    errno = clock_nanosleep(CLOCK_MONOTONIC, 0, &soon, NULL);
    return errno != 0 ? -1 : 0;
}

static int call_usleep(void)
{
    return usleep(300);
}

static int call_sem_timedwait(void)
{
    struct timespec until = real_soon();
    return sem_timedwait(&never, &until);
}

static int call_recv(void)
{
    char byte;
    return (int)recv(sockets[0], &byte, 1, 0);
}

static int call_msgrcv(void)
{
    struct {
        long type;
        char text[8];
    } message;
    return (int)msgrcv(queue, &message, sizeof message.text, 1, 0); /* kick() sends it a message */
}

static int call_semop(void)
{
    struct sembuf take = {.sem_num = 0, .sem_op = -1};
    return semop(semaphores, &take, 1);
}

static int call_semtimedop(void)
{
    struct sembuf take = {.sem_num = 1, .sem_op = -1}; /* the semaphore has the value 0 */
    return semtimedop(semaphores, &take, 1, &soon);
}

static int call_mq_timedreceive(void)
{
    char text[64];
    struct timespec until = real_soon();
    return posix_queue == (mqd_t)-1 ? SKIPPED : (int)mq_timedreceive(posix_queue, text, sizeof text, NULL, &until);
}

static int call_io_getevents(void)
{
    char events[64];
    return aio_context == 0 ? SKIPPED : (int)syscall(SYS_io_getevents, aio_context, 1L, 1L, events, &soon);
}

static int call_raw_ppoll(void)
{
    struct timespec timeout = soon;
    return (int)syscall(SYS_ppoll, NULL, 0L, &timeout, NULL, 8L);
}

static int call_sigtimedwait(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    return sigtimedwait(&set, NULL, &soon);
}

/* Calls that wait for nobody but check for signals at each page. On a kernel that makes our signals in the middle of
 * calls they would end there. */

/* Take all memory of a new file by `take`, and release it. */
static int fill_memory(int (*take)(int file))
{
    int file = memfd_create("sbx-eintr", MFD_CLOEXEC);
    int result = take(file), error = errno;
    close(file);
    errno = error;
    return result;
}

static int take_by_fallocate(int file)
{
    return fallocate(file, 0, 0, FILL_BYTES);
}

static int take_by_posix_fallocate(int file)
{
    errno = posix_fallocate(file, 0, FILL_BYTES);
    return errno != 0 ? -1 : 0;
}

static int take_by_number(int file)
{
    return (int)syscall(SYS_fallocate, file, 0L, 0L, (long)FILL_BYTES);
}

static int call_fallocate(void)
{
    return fill_memory(take_by_fallocate);
}

static int call_posix_fallocate(void)
{
    return fill_memory(take_by_posix_fallocate);
}

static int call_raw_fallocate(void)
{
    return fill_memory(take_by_number);
}

/* A call that was cut short returns how much it did. */
static int whole_or_cut(long done)
{
    errno = done >= 0 && done != FILL_BYTES ? EINTR : errno;
    return done == FILL_BYTES ? 0 : -1;
}

static int call_getrandom(void)
{
    static char bytes[FILL_BYTES];
    return whole_or_cut(getrandom(bytes, sizeof bytes, 0));
}

static int call_raw_read(void)
{
    static char bytes[FILL_BYTES];
    static int file = -1;
    file = file < 0 ? open("/dev/zero", O_RDONLY | O_CLOEXEC) : file;
    return whole_or_cut(syscall(SYS_read, file, bytes, sizeof bytes));
}

/* Always ends with EINTR; then the host's own handler must have run. */
static int call_pause(void)
{
    long before = woken;
    pause();
    errno = woken != before ? 0 : EINTR;
    return -1;
}

static struct call {
    const char *name;
    int (*make)(void);
    atomic_long made, interrupted;
    bool is_missing;
    pthread_t thread;
} calls[] = {
    {.name = "poll", .make = call_poll},
    {.name = "ppoll", .make = call_ppoll},
    {.name = "epoll_wait", .make = call_epoll_wait},
    {.name = "select", .make = call_select},
    {.name = "nanosleep", .make = call_nanosleep},
    {.name = "clock_nanosleep", .make = call_clock_nanosleep},
    {.name = "usleep", .make = call_usleep},
    {.name = "sem_timedwait", .make = call_sem_timedwait},
    {.name = "recv with SO_RCVTIMEO", .make = call_recv},
    {.name = "msgrcv", .make = call_msgrcv},
    {.name = "semop", .make = call_semop},
    {.name = "semtimedop", .make = call_semtimedop},
    {.name = "mq_timedreceive", .make = call_mq_timedreceive},
    {.name = "io_getevents", .make = call_io_getevents},
    {.name = "syscall(SYS_ppoll)", .make = call_raw_ppoll},
    {.name = "sigtimedwait", .make = call_sigtimedwait},
    {.name = "fallocate", .make = call_fallocate},
    {.name = "posix_fallocate", .make = call_posix_fallocate},
    {.name = "syscall(SYS_fallocate)", .make = call_raw_fallocate},
    {.name = "getrandom", .make = call_getrandom},
    {.name = "syscall(SYS_read)", .make = call_raw_read},
    {.name = "pause", .make = call_pause},
};
enum {
    CALLS = sizeof calls / sizeof calls[0]
};

static void *call_again_and_again(void *which)
{
    struct call *call = which;
    unsigned seed = (unsigned)(call - calls) + 1;
    while (goes_on) {
        for (volatile int i = rand_r(&seed) % 400000; i > 0; i--) {
        }
        errno = 0;
        int result = call->make();
        if (result == SKIPPED) {
            call->is_missing = true;
            return NULL;
        }
        call->made++;
        call->interrupted += result < 0 && errno == EINTR;
    }
    return NULL;
}

static void on_wake(int number)
{
    (void)number;
    woken++;
}

/* Gives the waiting calls what they wait for. */
static void kick(void)
{
    struct {
        long type;
        char text[8];
    } message = {.type = 1};
    union {
        int value;
    } zero = {.value = 1};
    msgsnd(queue, &message, sizeof message.text, IPC_NOWAIT);
    semctl(semaphores, 0, SETVAL, zero);
    pthread_kill(calls[CALLS - 1].thread, SIGUSR1);
}

static void prepare(void)
{
    struct timeval timeout = {0, 1000};
    struct mq_attr attributes = {.mq_maxmsg = 1, .mq_msgsize = 64};
    sigset_t set;
    char name[32];
    snprintf(name, sizeof name, "/sbx-eintr-%d", (int)getpid());
    epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    queue = msgget(IPC_PRIVATE, 0600);
    semaphores = semget(IPC_PRIVATE, 2, 0600);
    posix_queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &attributes);
    mq_unlink(name);
    if (syscall(SYS_io_setup, 4L, &aio_context) != 0) {
        aio_context = 0;
    }
    if (epoll_fd < 0 || queue < 0 || semaphores < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0 ||
        setsockopt(sockets[0], SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout) != 0 || sem_init(&never, 0, 0) != 0) {
        perror("stress_eintr");
        exit(1);
    }
    struct sigaction wake = {.sa_handler = on_wake};
    sigemptyset(&wake.sa_mask);
    sigaction(SIGUSR1, &wake, NULL);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

/* Start this program again with the library's orders in the environment, which can request more than options can. */
static void start_anew(int count, char **argv)
{
    char folder[] = "/tmp/sbx-stress-eintr-XXXXXX", spool[64], text[SBX_ORDERS_TEXT_BYTES];
    struct sbx_preload_orders orders = {.layout_hash = sbx_layout_hash()};
    struct sbx_policy policy = *sbx_policy_default();
    if (mkdtemp(folder) == NULL) {
        perror("stress_eintr");
        exit(1);
    }
    policy.capture.gap_us = GAP_US;
    policy.capture.anr_ms = policy.capture.slow_message_ms = 60000;
    if (sbx_policy_check(&policy) != NULL) {
        fprintf(stderr, "stress_eintr: %s is out of its limits\n", sbx_policy_check(&policy));
        exit(1);
    }
    sbx_policy_settings(&policy, &orders.settings);
    orders.settings.max_cpu_permille = count > 3 ? (uint32_t)atoi(argv[3]) : 0; /* no policy can request none */
    sbx_orders_print(&orders, text);
    snprintf(spool, sizeof spool, "%s/spool", folder);
    setenv("STRESS_FOLDER", folder, 1);
    setenv("STALLBOX_ROWS", "", 1);
    setenv(SBX_ENV_SPOOL, spool, 1);
    setenv(SBX_ENV_RECORDINGS, folder, 1);
    setenv(SBX_ENV_ORDERS, text, 1);
    setenv(SBX_ENV_AUTOSTART, "1", 1);
    execv("/proc/self/exe", argv);
    perror("stress_eintr: exec");
    exit(1);
}

int main(int argc, char **argv)
{
    uint64_t wanted = argc > 1 ? strtoull(argv[1], NULL, 10) : 10000;
    time_t end = time(NULL) + (argc > 2 ? atol(argv[2]) : 60);
    struct stallbox_counts counts = {.sizeof_counts = sizeof counts};
    if (getenv("STRESS_FOLDER") == NULL) {
        start_anew(argc, argv);
    }
    prepare();
    stallbox_frame_begin(); /* a thread that shows frames is looked at in each tick, like one with a long message */
    stallbox_frame_end();
    for (int i = 0; i < CALLS; i++) {
        pthread_create(&calls[i].thread, NULL, call_again_and_again, &calls[i]);
    }
    while (time(NULL) < end && stallbox_read_counts(&counts) == STALLBOX_OK && counts.captures_async < wanted) {
        kick();
        const struct timespec pause = {0, 1000000};
        nanosleep(&pause, NULL);
    }
    goes_on = false;
    stallbox_read_counts(&counts);
    for (int i = 0; i < CALLS; i++) {
        struct timespec until;
        do {
            kick();
            clock_gettime(CLOCK_REALTIME, &until);
            until.tv_sec++;
        } while (pthread_timedjoin_np(calls[i].thread, NULL, &until) != 0);
        /* Only the last of these threads gets signals, because a thread that has ended must not get one. */
    }
    enum stallbox_result result = stallbox_stop(10000);
    long interrupted = 0;
    for (int i = 0; i < CALLS; i++) {
        printf("%-24s %10ld calls %6ld interrupted%s\n", calls[i].name, (long)calls[i].made, (long)calls[i].interrupted,
               calls[i].is_missing ? " (not to be had here)" : "");
        interrupted += calls[i].interrupted;
    }
    printf("%llu samples by signal, %llu from outside, %llu by the threads themselves\n",
           (unsigned long long)counts.captures_async, (unsigned long long)counts.captures_observed,
           (unsigned long long)counts.captures_sync);
    msgctl(queue, IPC_RMID, NULL);
    semctl(semaphores, 0, IPC_RMID);
    char command[100];
    snprintf(command, sizeof command, "rm -rf '%s'", getenv("STRESS_FOLDER"));
    int removed = system(command);
    if (interrupted != 0 || counts.captures_async < LEAST_CAPTURES || result != STALLBOX_OK || removed != 0) {
        fprintf(stderr, "stress_eintr: %ld calls interrupted by us, %llu samples, stop: %s\n", interrupted,
                (unsigned long long)counts.captures_async, stallbox_result_name(result));
        return 1;
    }
    return 0;
}
