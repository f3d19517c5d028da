/* SPDX-License-Identifier: Apache-2.0 */
/* look_target.c - a process whose threads wait in known ways, in functions with known names, compiled so that nothing is inlined.
 * Prints "NAME TID" for each thread, then "ready". With the argument "run", one more thread computes. */
#include <alloca.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define KEEP __attribute__((noinline, noclone, used))

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER, left = PTHREAD_MUTEX_INITIALIZER,
                       right = PTHREAD_MUTEX_INITIALIZER;
/* One behind the other, as in many programs. A thread that waits for the first must not be reported as waiting for the
 * second. */
static struct {
    pthread_cond_t condition;
    pthread_mutex_t mutex;
} queue = {PTHREAD_COND_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t begun;
static int input[2];
static int is_consuming; /* under queue.mutex */
static volatile unsigned long counted;

#define STAY() __asm__ volatile("" ::: "memory") /* after a call: no tail call, so its caller stays on the stack */

static void tell(const char *name)
{
    char line[64];
    int length = snprintf(line, sizeof line, "%s %d\n", name, (int)gettid());
    prctl(PR_SET_NAME, name);
    if (write(STDOUT_FILENO, line, (size_t)length) != length) {
        _exit(3);
    }
    pthread_barrier_wait(&begun);
}

KEEP static void poll_for_ever(void)
{
    struct pollfd nothing = {.fd = input[0], .events = POLLIN};
    for (;;) {
        poll(&nothing, 1, -1);
    }
}

static void *hold(void *unused)
{
    pthread_mutex_lock(&held);
    pthread_rwlock_wrlock(&table);
    tell("holder");
    poll_for_ever();
    return unused;
}

KEEP static void wait_inner(void)
{
    pthread_mutex_lock(&held);
    STAY();
}

/* The function needs a frame pointer. */
KEEP static int wait_with_alloca(size_t bytes)
{
    char *room = alloca(bytes);
    memset(room, 1, bytes);
    wait_inner();
    return room[bytes / 2];
}

KEEP static int wait_outer(void)
{
    return wait_with_alloca((size_t)getpid() % 1000 + 100) + 1;
}

static void *wait_for_mutex(void *unused)
{
    tell("waiter");
    return wait_outer() == 0 ? unused : NULL;
}

KEEP static void lock_other(pthread_mutex_t *mutex)
{
    pthread_mutex_lock(mutex);
    STAY();
}

static void *take_left_then_right(void *unused)
{
    pthread_mutex_lock(&left);
    tell("left");
    lock_other(&right);
    return unused;
}

static void *take_right_then_left(void *unused)
{
    pthread_mutex_lock(&right);
    tell("right");
    lock_other(&left);
    return unused;
}

static void *wait_for_condition(void *unused)
{
    tell("consumer");
    pthread_mutex_lock(&queue.mutex);
    is_consuming = 1;
    for (;;) {
        pthread_cond_wait(&queue.condition, &queue.mutex);
    }
    return unused;
}

/* Holds the mutex that belongs to the condition. */
static void *hold_queue(void *unused)
{
    tell("producer");
    pthread_mutex_lock(&queue.mutex);
    while (!is_consuming) {
        pthread_mutex_unlock(&queue.mutex);
        usleep(1000);
        pthread_mutex_lock(&queue.mutex);
    }
    poll_for_ever();
    return unused;
}

static void *read_table(void *unused)
{
    tell("reader");
    pthread_rwlock_rdlock(&table);
    return unused;
}

static void *read_input(void *unused)
{
    char byte;
    tell("input");
    return read(input[0], &byte, 1) == 0 ? unused : NULL;
}

static void *compute(void *unused)
{
    tell("running");
    for (;;) {
        counted++;
    }
    return unused;
}

int main(int argc, char **argv)
{
    void *(*const threads[])(void *) = {hold,
                                        wait_for_mutex,
                                        take_left_then_right,
                                        take_right_then_left,
                                        wait_for_condition,
                                        hold_queue,
                                        read_table,
                                        read_input,
                                        compute};
    unsigned count = sizeof threads / sizeof threads[0] - (argc < 2 || strcmp(argv[1], "run") != 0);
    pthread_t ids[sizeof threads / sizeof threads[0]];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (pipe(input) != 0) {
        return 2;
    }
    pthread_barrier_init(&begun, NULL, count + 1);
    for (unsigned i = 0; i < count; i++) {
        if (pthread_create(&ids[i], NULL, threads[i], NULL) != 0) {
            return 2;
        }
    }
    tell("main");
    if (write(STDOUT_FILENO, "ready\n", 6) != 6) {
        return 2;
    }
    pthread_join(ids[0], NULL);
    return 0;
}
