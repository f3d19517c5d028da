/* SPDX-License-Identifier: Apache-2.0 */
/* stacks.c SECONDS - a program that switches stacks: coroutines by makecontext, handlers on an alternate stack and on
 * the ordinary one, nested handlers, and threads with small stacks. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum {
    STACK_BYTES = 64 << 10,
    COROUTINES = 8,
    ALTERNATE_BYTES = 256 << 10
};

static volatile uint64_t sink;
static ucontext_t scheduler, coroutines[COROUTINES];
static int current;

static __attribute__((noinline)) uint64_t burn(uint64_t seed, unsigned depth)
{
    volatile uint64_t local = seed * 31;
    if (depth > 0) {
        return burn(local + 7, depth - 1) + local;
    }
    char text[128];
    return (uint64_t)snprintf(text, sizeof text, "%f %d", (double)seed / 3, (int)seed) + local;
}

static __attribute__((noinline)) void yield_from(unsigned depth)
{
    volatile unsigned local = depth;
    if (depth > 0) {
        yield_from(depth - 1);
        sink += local;
        return;
    }
    sink += burn((uint64_t)current, 5);
    swapcontext(&coroutines[current], &scheduler);
}

static void coroutine(int number)
{
    for (unsigned i = 0;; i++) {
        yield_from((i + (unsigned)number) % 12);
        sink += burn(i, 3);
    }
}

static int compare(const void *left, const void *right)
{
    return *(const int *)left - *(const int *)right;
}

/* Runs on the alternate stack. Its callback is interrupted by the other signal, whose handler runs on this stack
 * too. */
static void on_alternate(int number)
{
    int values[50];
    for (int i = 0; i < 50; i++) {
        values[i] = i * 7919 % 101;
    }
    qsort(values, 50, sizeof values[0], compare);
    sink += (uint64_t)number + burn(7, 4);
    if (number == SIGUSR1) {
        raise(SIGUSR2);
    }
}

static void on_timer(int number)
{
    sink += (uint64_t)number + burn(9, 6);
}

static void take(int number, void (*handler)(int), int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART | flags};
    if (sigaction(number, &action, NULL) != 0) {
        exit(1);
    }
}

static sigjmp_buf restart;
static void jump_out(int number)
{
    siglongjmp(restart, number);
}

static time_t ends;

static void *work(void *context)
{
    stack_t alternate = {.ss_sp = malloc(ALTERNATE_BYTES), .ss_size = ALTERNATE_BYTES};
    sigaltstack(&alternate, NULL);
    for (uint64_t seed = (uintptr_t)context; time(NULL) < ends; seed++) {
        sink += burn(seed, (unsigned)(seed % 30));
        pthread_kill(pthread_self(), SIGUSR1);
        struct timespec pause = {0, 20000};
        nanosleep(&pause, NULL);
    }
    alternate.ss_flags = SS_DISABLE;
    sigaltstack(&alternate, NULL);
    free(alternate.ss_sp);
    return NULL;
}

int main(int argc, char **argv)
{
    ends = time(NULL) + (argc > 1 ? atoi(argv[1]) : 1);
    take(SIGUSR1, on_alternate, SA_ONSTACK);
    take(SIGUSR2, on_alternate, SA_ONSTACK | SA_NODEFER);
    take(SIGALRM, on_timer, 0);
    take(SIGHUP, jump_out, SA_NODEFER);
    struct itimerval interval = {{0, 700}, {0, 700}};
    setitimer(ITIMER_REAL, &interval, NULL);
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        if (pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)i) != 0) {
            return 1;
        }
    }
    for (int i = 0; i < COROUTINES; i++) {
        getcontext(&coroutines[i]);
        coroutines[i].uc_stack.ss_sp = malloc(STACK_BYTES);
        coroutines[i].uc_stack.ss_size = STACK_BYTES;
        coroutines[i].uc_link = &scheduler;
        makecontext(&coroutines[i], (void (*)(void))(uintptr_t)coroutine, 1, i);
    }
    for (uint64_t seed = 0; time(NULL) < ends; seed++) {
        current = (int)(seed % COROUTINES);
        swapcontext(&scheduler, &coroutines[current]);
        sink += burn(seed, 2);
        if (seed % 64 == 0 && sigsetjmp(restart, 1) == 0) {
            raise(SIGHUP);
        }
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
    }
    return 0;
}
