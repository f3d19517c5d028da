/* SPDX-License-Identifier: Apache-2.0 */
/* traced.c - a tracer that counts the signals that it sees of a traced program: the program's own signals, and no
 * others. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tap.h"

enum {
    SIGNALS = 50
};
static volatile sig_atomic_t handled;

static void on_signal(int number)
{
    handled += number == SIGUSR1;
}

static void compute(long ms)
{
    struct timespec now, begin;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        for (volatile int i = 0; i < 10000; i++) {
        }
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < ms);
}

static void *compute_long(void *unused)
{
    compute(400);
    return unused;
}

static int be_traced(void)
{
    signal(SIGUSR1, on_signal);
    ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    raise(SIGSTOP);
    pthread_t thread;
    pthread_create(&thread, NULL, compute_long, NULL);
    for (int i = 0; i < SIGNALS; i++) {
        compute(5);
        raise(SIGUSR1);
    }
    pthread_join(thread, NULL);
    return handled == SIGNALS ? 0 : 1;
}

int main(int count, char **arguments)
{
    if (count > 1) {
        return be_traced();
    }
    pid_t child = fork();
    if (child == 0) {
        execl("/proc/self/exe", arguments[0], "traced", (char *)NULL);
        _exit(126);
    }
    int status;
    long own = 0, others = 0;
    while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
        int number = WSTOPSIG(status);
        own += number == SIGUSR1;
        others += number != SIGUSR1 && number != SIGSTOP;
        if (number != SIGUSR1 && number != SIGSTOP) {
            printf("# stopped for signal %d\n", number);
        }
        ptrace(PTRACE_CONT, child, NULL, number == SIGSTOP ? 0 : number);
    }
    tap_equal("stops for its own signals", own, SIGNALS);
    tap_equal("stops for signals of others", others, 0);
    tap_equal("handled", WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0);
    return tap_end();
}
