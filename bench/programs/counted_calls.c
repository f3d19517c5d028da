/* SPDX-License-Identifier: Apache-2.0 */
/* counted_calls.c - the calls. They are in their own library, because a module that contains the recorder is never
 * hooked.
 *
 * None of them is due to be recorded, and only the last two wait. These two wait for a thread that waits for them, and
 * the cost of both is counted. */
#include "counted_calls.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "raw_syscall.h"

static volatile uint64_t sink;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, other_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;
static pthread_mutex_t turn_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t asked = PTHREAD_COND_INITIALIZER, answered = PTHREAD_COND_INITIALIZER;
static sem_t question, answer;
static bool is_asked, is_answered;
static struct sockaddr_in door_address;
static int door_fd;
static int file_fd, pipe_fds[2], pair_fds[2], quiet_fds[2], client_fds[2], epoll_fd, worker_epoll_fd;
static FILE *stream;
static uint32_t word;

/* A call of the other end, which no hook may see. */
static void unseen(long number, int fd, void *bytes, size_t count)
{
    sbx_raw_syscall(number, fd, (long)(uintptr_t)bytes, (long)count, 0, 0, 0);
}

static void allocate(int calls)
{
    for (int i = 0; i < calls; i++) {
        void *volatile memory = malloc(32);
        free(memory);
    }
}

static void allocate_zeroed(int calls)
{
    for (int i = 0; i < calls; i++) {
        void *volatile memory = calloc(2, 16);
        free(memory);
    }
}

static void allocate_again(int calls)
{
    void *volatile memory = malloc(32);
    for (int i = 0; i < calls; i++) {
        memory = realloc(memory, i % 2 == 0 ? 24 : 16);
    }
    free(memory);
}

static void lock_mutex(int calls)
{
    for (int i = 0; i < calls; i++) {
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
    }
}

static void lock_shared(int calls)
{
    for (int i = 0; i < calls; i++) {
        pthread_rwlock_rdlock(&rwlock);
        pthread_rwlock_unlock(&rwlock);
    }
}

static void post(int calls)
{
    for (int i = 0; i < calls; i++) {
        sem_post(&semaphore);
        sem_wait(&semaphore);
    }
}

static void signal_nobody(int calls)
{
    for (int i = 0; i < calls; i++) {
        pthread_cond_signal(&condition);
    }
}

/* The time limit has passed before the wait begins. */
static void wait_in_vain(int calls)
{
    const struct timespec over = {1, 0};
    pthread_mutex_lock(&other_mutex);
    for (int i = 0; i < calls; i++) {
        sink += (uint64_t)pthread_cond_timedwait(&condition, &other_mutex, &over);
    }
    pthread_mutex_unlock(&other_mutex);
}

static void wake_nobody(int calls)
{
    for (int i = 0; i < calls; i++) {
        sink += (uint64_t)syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    }
}

static void ask_by_number(int calls)
{
    for (int i = 0; i < calls; i++) {
        sink += (uint64_t)syscall(SYS_gettid);
    }
}

static void read_clock(int calls)
{
    for (int i = 0; i < calls; i++) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
    }
}

static void read_file(int calls)
{
    char byte;
    for (int i = 0; i < calls; i++) {
        sink += (uint64_t)pread(file_fd, &byte, 1, 0);
    }
}

static void move_through_pipe(int calls)
{
    char byte = 1;
    for (int i = 0; i < calls; i++) {
        sink += (uint64_t)write(pipe_fds[1], &byte, 1);
        sink += (uint64_t)read(pipe_fds[0], &byte, 1);
    }
}

static void ping(int calls)
{
    char byte = 1;
    for (int i = 0; i < calls; i++) {
        sink += (uint64_t)send(pair_fds[0], &byte, 1, 0);
        sink += (uint64_t)recv(pair_fds[1], &byte, 1, 0);
    }
}

static void move_by_number(int calls)
{
    char byte = 1;
    for (int i = 0; i < calls; i++) {
        sink += (uint64_t)syscall(SYS_write, pipe_fds[1], &byte, 1);
        sink += (uint64_t)syscall(SYS_read, pipe_fds[0], &byte, 1);
    }
}

/* Neither end blocks, as in a server. */
static void ping_quietly(int calls)
{
    char byte = 1;
    for (int i = 0; i < calls; i++) {
        sink += (uint64_t)write(quiet_fds[0], &byte, 1);
        sink += (uint64_t)read(quiet_fds[1], &byte, 1);
    }
}

static void read_in_vain(int calls)
{
    char byte;
    for (int i = 0; i < calls; i++) {
        sink += (uint64_t)recv(quiet_fds[1], &byte, 1, MSG_DONTWAIT);
    }
}

static void send_a_file(int calls)
{
    char byte;
    for (int i = 0; i < calls; i++) {
        off_t from = 0;
        sink += (uint64_t)sendfile(pair_fds[0], file_fd, &from, 1);
        unseen(SYS_read, pair_fds[1], &byte, 1);
    }
}

static void send_a_message(int calls)
{
    char byte = 1;
    struct iovec part = {&byte, 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    for (int i = 0; i < calls; i++) {
        sink += (uint64_t)sendmsg(pair_fds[0], &message, 0);
        sink += (uint64_t)recvmsg(pair_fds[1], &message, 0);
    }
}

/* A client connects and closes. */
static void accept_and_close(int calls)
{
    for (int i = 0; i < calls; i++) {
        int client = (int)sbx_raw_syscall(SYS_socket, AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0, 0, 0, 0);
        unseen(SYS_connect, client, &door_address, sizeof door_address);
        close(accept4(door_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK));
        unseen(SYS_close, client, NULL, 0);
    }
}

static void ask_for_flags(int calls)
{
    for (int i = 0; i < calls; i++) {
        sink += (uint64_t)fcntl(pair_fds[0], F_GETFL);
    }
}

static void set_event(int calls)
{
    struct epoll_event event = {.events = EPOLLIN};
    for (int i = 0; i < calls; i++) {
        sink += (uint64_t)epoll_ctl(epoll_fd, EPOLL_CTL_MOD, client_fds[1], &event);
    }
}

/* One turn of a server's loop: a client's data are read and answered. The descriptor is non-blocking. */
static void serve(int calls)
{
    char byte = 1;
    struct epoll_event event;
    for (int i = 0; i < calls; i++) {
        unseen(SYS_write, client_fds[0], &byte, 1);
        sink += (uint64_t)epoll_wait(epoll_fd, &event, 1, -1);
        sink += (uint64_t)read(client_fds[1], &byte, 1);
        sink += (uint64_t)write(client_fds[1], &byte, 1);
        unseen(SYS_read, client_fds[0], &byte, 1);
    }
}

/* One turn of a loop that finds an event at once. */
static void turn(int calls)
{
    struct epoll_event event;
    for (int i = 0; i < calls; i++) {
        sink += (uint64_t)epoll_wait(worker_epoll_fd, &event, 1, -1);
    }
}

static void look(int calls)
{
    struct pollfd polled = {.fd = pipe_fds[0], .events = POLLIN};
    for (int i = 0; i < calls; i++) {
        sink += (uint64_t)poll(&polled, 1, 0);
    }
}

static void look_by_select(int calls)
{
    for (int i = 0; i < calls; i++) {
        struct timeval nothing = {0, 0};
        fd_set readable;
        FD_ZERO(&readable);
        FD_SET(pipe_fds[0], &readable);
        sink += (uint64_t)select(pipe_fds[0] + 1, &readable, NULL, NULL, &nothing);
    }
}

static void look_by_ppoll(int calls)
{
    const struct timespec nothing = {0, 0};
    struct pollfd polled = {.fd = pipe_fds[0], .events = POLLIN};
    for (int i = 0; i < calls; i++) {
        sink += (uint64_t)ppoll(&polled, 1, &nothing, NULL);
    }
}

static void ask_for_file(int calls)
{
    struct stat status;
    for (int i = 0; i < calls; i++) {
        sink += (uint64_t)stat("/", &status);
    }
}

static void open_and_close(int calls)
{
    for (int i = 0; i < calls; i++) {
        close(open("/", O_RDONLY | O_CLOEXEC));
    }
}

static void write_to_buffer(int calls)
{
    rewind(stream);
    for (int i = 0; i < calls; i++) {
        fwrite("stallbox", 1, 8, stream);
    }
}

static void print_to_buffer(int calls)
{
    rewind(stream);
    for (int i = 0; i < calls; i++) {
        fprintf(stream, "%d\n", i % 10);
    }
}

static void map(int calls)
{
    for (int i = 0; i < calls; i++) {
        munmap(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 4096);
    }
}

static void sleep_not_at_all(int calls)
{
    const struct timespec nothing = {0, 0};
    for (int i = 0; i < calls; i++) {
        nanosleep(&nothing, NULL);
    }
}

static void ask_for_mask(int calls)
{
    sigset_t mask;
    for (int i = 0; i < calls; i++) {
        pthread_sigmask(SIG_BLOCK, NULL, &mask);
    }
}

/* ---- calls that another thread answers ---- */

/* The asking thread pauses first, so that the other one waits. The answering thread pauses before it answers, so that
 * the first one waits. No hook may see these pauses. So each call has two waits and two wakes, and neither thread holds
 * a lock that the other one needs. */
static void let_the_other_wait(void)
{
    const struct timespec pause = {0, 4000000};
    sbx_raw_syscall(SYS_nanosleep, (long)(uintptr_t)&pause, 0, 0, 0, 0, 0);
}

static void tell(pthread_cond_t *told, bool *is_told)
{
    pthread_mutex_lock(&turn_mutex);
    *is_told = true;
    pthread_mutex_unlock(&turn_mutex);
    pthread_cond_signal(told);
}

static void wait_until(pthread_cond_t *told, bool *is_told)
{
    pthread_mutex_lock(&turn_mutex);
    while (!*is_told) {
        pthread_cond_wait(told, &turn_mutex);
    }
    *is_told = false;
    pthread_mutex_unlock(&turn_mutex);
}

static void *answer_by_condition(void *unused)
{
    for (;;) {
        wait_until(&asked, &is_asked);
        let_the_other_wait();
        tell(&answered, &is_answered);
    }
    return unused;
}

static void *answer_by_semaphore(void *unused)
{
    for (;;) {
        sem_wait(&question);
        let_the_other_wait();
        sem_post(&answer);
    }
    return unused;
}

static void wait_for_condition(int calls)
{
    for (int i = 0; i < calls; i++) {
        let_the_other_wait();
        tell(&asked, &is_asked);
        wait_until(&answered, &is_answered);
    }
}

static void wait_for_semaphore(int calls)
{
    for (int i = 0; i < calls; i++) {
        let_the_other_wait();
        sem_post(&question);
        sem_wait(&answer);
    }
}

static bool have_answers(void)
{
    static bool has_them;
    pthread_t thread;
    if (!has_them) {
        sem_init(&question, 0, 0);
        sem_init(&answer, 0, 0);
        has_them = pthread_create(&thread, NULL, answer_by_condition, NULL) == 0 &&
                   pthread_create(&thread, NULL, answer_by_semaphore, NULL) == 0;
    }
    return has_them;
}

/* ---- */

static int be_quiet(int fd)
{
    return fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

/* Makes a connection of this process with itself, and accepts it as a client's. */
static bool accept_one(void)
{
    socklen_t bytes = sizeof door_address;
    door_address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    door_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (door_fd < 0 || bind(door_fd, (struct sockaddr *)&door_address, bytes) != 0 || listen(door_fd, 1) != 0 ||
        getsockname(door_fd, (struct sockaddr *)&door_address, &bytes) != 0) {
        return false;
    }
    client_fds[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(client_fds[0], (struct sockaddr *)&door_address, bytes) != 0) {
        return false;
    }
    client_fds[1] = accept4(door_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    return client_fds[1] >= 0;
}

bool counted_calls_open(void)
{
    struct epoll_event event = {.events = EPOLLIN};
    sem_init(&semaphore, 0, 0);
    file_fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    worker_epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    stream = tmpfile();
    int ready_fd = eventfd(1, EFD_CLOEXEC);
    if (!have_answers() || file_fd < 0 || stream == NULL || ready_fd < 0 || pipe(pipe_fds) != 0 || !accept_one() ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair_fds) != 0 ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, quiet_fds) != 0) {
        return false;
    }
    return be_quiet(quiet_fds[0]) == 0 && be_quiet(quiet_fds[1]) == 0 &&
           epoll_ctl(epoll_fd, EPOLL_CTL_ADD, client_fds[1], &event) == 0 &&
           epoll_ctl(worker_epoll_fd, EPOLL_CTL_ADD, ready_fd, &event) == 0;
}

const struct counted_call counted_calls[] = {
    {"malloc, free", allocate, false},
    {"calloc, free", allocate_zeroed, false},
    {"realloc", allocate_again, false},
    {"mutex lock, unlock", lock_mutex, false},
    {"rwlock rdlock, unlock", lock_shared, false},
    {"sem_post, sem_wait", post, false},
    {"cond_signal, nobody waits", signal_nobody, false},
    {"cond_timedwait, already over", wait_in_vain, false},
    {"cond_timedwait, already over, by a thread", wait_in_vain, true},
    {"futex wake by syscall()", wake_nobody, false},
    {"another call by syscall()", ask_by_number, false},
    {"clock_gettime", read_clock, false},
    {"pread of a file", read_file, false},
    {"write, read of a pipe", move_through_pipe, false},
    {"write, read of a pipe by syscall()", move_by_number, false},
    {"send, recv of a socket", ping, false},
    {"write, read of a socket that does not block", ping_quietly, false},
    {"recv MSG_DONTWAIT, nothing there", read_in_vain, false},
    {"epoll_wait, read, write: a turn of a server's loop", serve, false},
    {"epoll_wait of a thread without a loop", turn, true},
    {"read, write of a client by a thread, after epoll_wait", serve, true},
    {"poll without a time-out in a message", look, false},
    {"ppoll without a time-out in a message", look_by_ppoll, false},
    {"select without a time-out in a message", look_by_select, false},
    {"sendfile to a socket", send_a_file, false},
    {"sendmsg, recvmsg of a socket", send_a_message, false},
    {"accept4, close of a client", accept_and_close, false},
    {"accept4, close of a client by a thread", accept_and_close, true},
    {"fcntl F_GETFL", ask_for_flags, false},
    {"epoll_ctl of a client", set_event, false},
    {"stat", ask_for_file, false},
    {"open, close", open_and_close, false},
    {"fwrite into the buffer", write_to_buffer, false},
    {"fprintf into the buffer", print_to_buffer, false},
    {"mmap, munmap", map, false},
    {"nanosleep of nothing", sleep_not_at_all, false},
    {"pthread_sigmask, a question", ask_for_mask, false},
    {"cond_wait, cond_signal: a question and its answer", wait_for_condition, true},
    {"sem_wait, sem_post: a question and its answer", wait_for_semaphore, true},
};
const size_t counted_call_count = sizeof counted_calls / sizeof counted_calls[0];
