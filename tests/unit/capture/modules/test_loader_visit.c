/* SPDX-License-Identifier: Apache-2.0 */
/* test_loader_visit.c - a fork while another thread visits the loader waits for it. A fork by a real-time thread does
 * not wait for a visitor that cannot run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "loader_visit.h"
#include "the_capture.h"

enum {
    TURNS = 20,
    VISIT_MS = 2, /* of computing */
    LONG_MS = 150 /* fork gives up waiting after 200 */
};

static _Atomic bool is_inside, is_met, fills_the_processor, has_ended, may_leave;
static struct sbx_recording_header header;

static uint64_t clock_ms(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void *visit_again_and_again(void *unused)
{
    (void)unused;
    while (!has_ended) {
        sbx_loader_visit_begin();
        is_inside = true;
        uint64_t begin = clock_ms(CLOCK_THREAD_CPUTIME_ID);
        while (clock_ms(CLOCK_THREAD_CPUTIME_ID) - begin < VISIT_MS) {
        }
        is_inside = false;
        sbx_loader_visit_end();
        usleep(300);
    }
    return NULL;
}

/* Its priority is between the two, so the visitor does not run. */
static void *fill_the_processor(void *unused)
{
    (void)unused;
    while (!has_ended) {
        if (!fills_the_processor) {
            usleep(100);
        }
    }
    return NULL;
}

static bool set_priority(pthread_t thread, int priority)
{
    const struct sched_param wanted = {.sched_priority = priority};
    return pthread_setschedparam(thread, priority != 0 ? SCHED_FIFO : SCHED_OTHER, &wanted) == 0;
}

/* Runs in a child; its settings and threads end with the child. */
static int fork_in_real_time(void)
{
    cpu_set_t one;
    pthread_t visitor, filler;
    int long_forks = 0, beside_a_visit = 0;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sbx_loader_visit_start();
    if (sched_setaffinity(0, sizeof one, &one) != 0 || !set_priority(pthread_self(), 10)) {
        return 77;
    }
    if (pthread_create(&visitor, NULL, visit_again_and_again, NULL) != 0 || !set_priority(visitor, 0) ||
        pthread_create(&filler, NULL, fill_the_processor, NULL) != 0 || !set_priority(filler, 5)) {
        return 77;
    }
    for (int turn = 0; turn < TURNS; turn++) {
        fills_the_processor = false;
        while (!is_inside) {
            usleep(200);
        }
        fills_the_processor = true;
        usleep(300);
        beside_a_visit += is_inside;
        uint64_t begin = clock_ms(CLOCK_MONOTONIC);
        pid_t pid = fork();
        if (pid == 0) {
            _exit(0);
        }
        long_forks += clock_ms(CLOCK_MONOTONIC) - begin >= LONG_MS;
        waitpid(pid, NULL, 0);
    }
    fprintf(stderr, "%d forks beside a visit, %d of them long\n", beside_a_visit, long_forks);
    return beside_a_visit < TURNS / 4 ? 78 : long_forks == 0 ? 0 : 1;
}

static void test_a_real_time_fork_lends_its_priority_to_who_is_inside_the_loader(void **state)
{
    (void)state;
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        alarm(60);
        _exit(fork_in_real_time());
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (status == 77 << 8) {
        fputs("SKIPPED: no real-time priority is to be had\n", stderr);
        skip();
    }
    assert_int_equal(status, 0);
}

static void *visit_for_a_moment(void *unused)
{
    (void)unused;
    sbx_loader_visit_begin();
    is_inside = true;
    while (!is_met) {
        usleep(100);
    }
    usleep(20000);
    is_inside = false;
    sbx_loader_visit_end();
    has_ended = true;
    return NULL;
}

static void test_a_fork_waits_for_a_visit_to_end(void **state)
{
    (void)state;
    pthread_t visitor;
    sbx_loader_visit_start();
    has_ended = false;
    assert_int_equal(pthread_create(&visitor, NULL, visit_for_a_moment, NULL), 0);
    assert_int_equal(pthread_detach(visitor),
                     0); /* no thread joins it in the child, which the sanitizer would call a leak */
    while (!is_inside) {
        usleep(100);
    }
    is_met = true;
    pid_t pid = fork();
    if (pid == 0) {
        _exit(is_inside); /* a copy of the value at the fork */
    }
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    while (!has_ended) {
        usleep(100);
    }
}

/* A machine with little time for the visitor: it stays inside for longer than a fork waits for a visitor that
 * sleeps. */
static int compute_for_long(struct dl_phdr_info *info, size_t bytes, void *unused)
{
    (void)info;
    (void)bytes;
    (void)unused;
    is_inside = true;
    uint64_t begin = clock_ms(CLOCK_MONOTONIC);
    while (clock_ms(CLOCK_MONOTONIC) - begin < 600) {
    }
    return 1;
}

static void *visit_for_long(void *unused)
{
    (void)unused;
    sbx_loader_visit_begin();
    (void)sbx_loader_visit_each(compute_for_long, NULL);
    is_inside = false;
    sbx_loader_visit_end();
    has_ended = true;
    return NULL;
}

static pthread_mutex_t the_loaders = PTHREAD_MUTEX_INITIALIZER;

static void *visit_and_wait_for_the_loader(void *unused)
{
    (void)unused;
    sbx_loader_visit_begin();
    is_inside = true;
    pthread_mutex_lock(&the_loaders);
    pthread_mutex_unlock(&the_loaders);
    sbx_loader_visit_end();
    has_ended = true;
    return NULL;
}

/* Was the visitor inside when a child was forked? */
static bool fork_meets(void *(*visit)(void *))
{
    pthread_t visitor;
    sbx_loader_visit_start();
    has_ended = is_inside = false;
    assert_int_equal(pthread_create(&visitor, NULL, visit, NULL), 0);
    assert_int_equal(pthread_detach(visitor), 0);
    while (!is_inside) {
        usleep(100);
    }
    pid_t pid = fork();
    if (pid == 0) {
        _exit(is_inside);
    }
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status != 0;
}

static void test_a_fork_waits_for_a_visitor_that_has_no_processor_to_finish(void **state)
{
    (void)state;
    assert_false(fork_meets(visit_for_long));
    while (!has_ended) {
        usleep(100);
    }
}

static void test_a_fork_does_not_wait_for_a_visitor_that_waits_for_the_loader(void **state)
{
    (void)state;
    uint64_t held = header.drops[SBX_DROP_LOADER_HELD];
    pthread_mutex_lock(&the_loaders);
    assert_true(fork_meets(visit_and_wait_for_the_loader));
    pthread_mutex_unlock(&the_loaders);
    while (!has_ended) {
        usleep(100);
    }
    assert_int_equal(header.drops[SBX_DROP_LOADER_HELD], held);
}

static int stay_until_told(struct dl_phdr_info *info, size_t bytes, void *unused)
{
    (void)info;
    (void)bytes;
    (void)unused;
    is_inside = true;
    while (!may_leave) {
        usleep(1000);
    }
    return 1;
}

static void *visit_until_told(void *unused)
{
    (void)unused;
    sbx_loader_visit_begin();
    (void)sbx_loader_visit_each(stay_until_told, NULL);
    sbx_loader_visit_end();
    has_ended = true;
    return NULL;
}

/* The fork waits ten seconds, or five milliseconds if the forking thread may have a real-time priority. */
static void test_a_fork_that_went_on_beside_a_visitor_in_the_loader_is_counted(void **state)
{
    (void)state;
    uint64_t held = header.drops[SBX_DROP_LOADER_HELD];
    may_leave = false;
    bool is_quick = set_priority(pthread_self(), 1);
    bool has_met = fork_meets(visit_until_told);
    if (is_quick) {
        assert_true(set_priority(pthread_self(), 0));
    }
    may_leave = true;
    while (!has_ended) {
        usleep(100);
    }
    assert_true(has_met);
    assert_int_equal(header.drops[SBX_DROP_LOADER_HELD], held + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_real_time_fork_lends_its_priority_to_who_is_inside_the_loader),
        cmocka_unit_test(test_a_fork_waits_for_a_visit_to_end),
        cmocka_unit_test(test_a_fork_waits_for_a_visitor_that_has_no_processor_to_finish),
        cmocka_unit_test(test_a_fork_does_not_wait_for_a_visitor_that_waits_for_the_loader),
        cmocka_unit_test(test_a_fork_that_went_on_beside_a_visitor_in_the_loader_is_counted),
    };
    sbx_the_capture.header = &header;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
