/* SPDX-License-Identifier: Apache-2.0 */
/* test_ready_thread.c - a thread that computes and passes no point, on a machine that has no processor for it. The
 * recorder must not rest meanwhile, because nothing would wake it again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "order.h"
#include "recorded_process.h"

enum {
    ROUNDS = 4, /* where the recorder rests, one round in two contains a rest */
    STARVED_MS = 1000,
    LONGEST_TURNS = 4000, /* of 5 ms each, by count and not by a clock */
    ENOUGH_MS = 50 /* of CPU time: a thread of lowest priority gets almost none where twenty others always want it */
};

static atomic_bool has_begun, has_to_end;
static clockid_t its_clock;

/* Restrict this process to the first processor, where it runs only if no other thread wants it. */
static void be_last_on_first_processor(void)
{
    cpu_set_t mine, one;
    const struct sched_param none = {0};
    child_expect(sched_getaffinity(0, sizeof mine, &mine) == 0, "the processors are known");
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++) {
        if (CPU_ISSET(i, &mine)) {
            CPU_SET(i, &one);
        }
    }
    child_expect(sched_setaffinity(0, sizeof one, &one) == 0, "one is chosen");
    child_expect(syscall(SYS_sched_setscheduler, 0, SCHED_IDLE, &none) == 0, "others go first"); /* musl has none */
}

static void *compute_at_last(void *unused)
{
    child_sleep_ms(1); /* a point: the recorder knows the thread from here on */
    be_last_on_first_processor();
    child_expect(pthread_getcpuclockid(pthread_self(), &its_clock) == 0, "it has a clock");
    has_begun = true;
    while (!has_to_end) {
        compute_without_a_call();
    }
    return unused;
}

/* Another process, which is not recorded, takes the first processor for itself. */
static pid_t begin_to_take_it(void)
{
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        cpu_set_t mine, one;
        (void)sched_getaffinity(0, sizeof mine, &mine);
        CPU_ZERO(&one);
        for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++) {
            if (CPU_ISSET(i, &mine)) {
                CPU_SET(i, &one);
            }
        }
        (void)sched_setaffinity(0, sizeof one, &one);
        while (getppid() == parent) {
        }
        _exit(0);
    }
    child_expect(pid > 0, "a process begins");
    return pid;
}

static uint64_t its_ms(void)
{
    struct timespec used = {0};
    child_expect(syscall(SYS_clock_gettime, its_clock, &used) == 0, "its clock is read");
    return (uint64_t)used.tv_sec * 1000 + (uint64_t)used.tv_nsec / 1000000;
}

static void starve_and_look(void)
{
    const uint64_t *captures = &child_header()->captures_async;
    pid_t other = begin_to_take_it();
    child_pause_ms(STARVED_MS); /* without a point, as all of the following code */
    syscall(SYS_kill, other, SIGKILL);
    uint64_t before = sbx_load_relaxed(captures), before_ms = its_ms();
    for (int turn = 0; turn < LONGEST_TURNS && sbx_load_relaxed(captures) == before; turn++) {
        child_pause_ms(5);
    }
    child_expect(sbx_load_relaxed(captures) != before || its_ms() - before_ms < ENOUGH_MS,
                 "it is sampled once it has a processor");
    child_expect(waitpid(other, NULL, 0) == other, "the other has ended");
}

static void child_computes_where_others_go_first(void)
{
    pthread_t thread;
    child_expect(pthread_create(&thread, NULL, compute_at_last, NULL) == 0, "a thread starts");
    while (!has_begun) {
        child_pause_ms(1);
    }
    for (int round = 0; round < ROUNDS; round++) {
        starve_and_look();
    }
    has_to_end = true;
    pthread_join(thread, NULL);
}

/* Symptom: a thread jumped out of a call and computed, on a machine with twenty other threads for each processor. It
 * was not sampled for as long as it computed. */
static void test_a_thread_that_computes_is_sampled_though_it_had_no_processor_for_a_while(void **state)
{
    (void)state;
    sbx_snapshot_destroy(run_recorded(child_computes_where_others_go_first));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_thread_that_computes_is_sampled_though_it_had_no_processor_for_a_while),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
