/* SPDX-License-Identifier: Apache-2.0 */
/* test_charged_time.c - a thread that loses its processor in the middle of a capture is charged with the time that it
 * ran, not with the time that it waited.
 *
 * Symptom: on a busy machine the waiting time was charged, sixteen times over, and the governor shed points that cost
 * nothing. In the test a made-up runtime loses the processor for a while each time it is asked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "recorded_process.h"
#include "stallbox/stallbox.h"

enum {
    CAPTURES = 32, /* two of them are timed and stand for all */
    LOST_MS = 5,   /* in each */
    QUEUE = 77,
};

static int runtime; /* any address */
static struct stallbox_provider *provider;

static size_t walk(void *context, size_t first, uint64_t *functions, uint32_t *lines, size_t max)
{
    (void)context;
    if (first == 0 && max > 0) {
        child_pause_ms(LOST_MS);
        functions[0] = lines[0] = 1;
    }
    return 1;
}

static int queues(void *context, struct stallbox_queued_work *work_out)
{
    static uint64_t item;
    (void)context;
    *work_out = (struct stallbox_queued_work){QUEUE, ++item, STALLBOX_WORK_SET_TIMEOUT};
    return 1;
}

static __attribute__((noinline, aligned(512))) void read_the_clock(void)
{
    struct timespec now;
    child_expect(clock_gettime(CLOCK_MONOTONIC, &now) == 0, "there is a clock");
    KEEP_FRAME();
}

static void queue_a_task(void)
{
    (void)stallbox_task_queued_in(&runtime);
}

static void wait_for_a_moment(void)
{
    nanosleep(&(struct timespec){0, 2000000}, NULL);
}

static uint64_t used_ns(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
}

/* A capture that `capture` makes is cheap but takes long. Under an emulator it is expensive as well, above all the
 * first one, which is timed for others too. So the charged time is compared with all the CPU time that the process
 * used. */
static void expect_cheap(void (*capture)(void))
{
    const struct stallbox_provider_options options = {.sizeof_options = sizeof options,
                                                      .name = "test",
                                                      .walk = walk,
                                                      .queuing_code = (const void *)(uintptr_t)read_the_clock,
                                                      .queuing_code_bytes = 256,
                                                      .queues = queues};
    child_expect(stallbox_provider_register(&options, &provider) == STALLBOX_OK, "it is registered");
    uint64_t used_before_ns = used_ns(), before_ns = child_charged_ns();
    for (int half = 0; half < 2; half++) {
        void *former = stallbox_provider_enter(provider, &runtime);
        for (int i = 0; i < CAPTURES / 2; i++) {
            capture();
        }
        stallbox_provider_leave(provider, former);
        wait_for_a_moment(); /* a wait makes two captures, so in the other half other captures are timed */
    }
    uint64_t charged_ns = child_charged_ns() - before_ns;
    child_expect(charged_ns < 3 * (used_ns() - used_before_ns) + CAPTURES * LOST_MS * UINT64_C(1000000) / 10,
                 "what is charged is CPU time");
}

static void child_queues_tasks(void)
{
    expect_cheap(queue_a_task);
}

static void test_a_task_that_is_followed_costs_no_time_without_a_processor(void **state)
{
    (void)state;
    sbx_snapshot_destroy(run_recorded(child_queues_tasks));
}

static void child_waits(void)
{
    expect_cheap(wait_for_a_moment);
}

static void test_the_note_of_a_call_that_may_wait_costs_no_time_without_a_processor(void **state)
{
    (void)state;
    sbx_snapshot_destroy(run_recorded(child_waits));
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static uint64_t walks;

static size_t count_walk(void *context, size_t first, uint64_t *functions, uint32_t *lines, size_t max)
{
    (void)context;
    if (first == 0 && max > 0) {
        walks++;
        functions[0] = lines[0] = 1;
    }
    return 1;
}

static void read_for_ms(int file, uint64_t ms)
{
    uint64_t end_ns = now_ns() + ms * 1000000;
    char byte;
    while (now_ns() < end_ns) {
        for (int i = 0; i < 100; i++) {
            child_expect(pread(file, &byte, 1, 0) == 1, "a byte");
        }
    }
}

/* The signal is left out, because its samples have an interval of their own. The first notes come all at once. */
static void child_reads_a_file(void)
{
    enum {
        INTERVAL_MS = 5,
        FIRST_MS = 300,
        READ_MS = 1000,
    };
    const struct stallbox_provider_options options = {
        .sizeof_options = sizeof options, .name = "test", .walk = count_walk};
    child_expect(stallbox_provider_register(&options, &provider) == STALLBOX_OK, "it is registered");
    int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    child_set_points(SBX_POINTS_DEFAULT & ~SBX_POINT_BIT(SBX_GROUP_ASYNC));
    child_set_interval(INTERVAL_MS * 1000);
    child_set_wait_min(1000000); /* calls in which the thread loses its processor are not recorded */
    void *former = stallbox_provider_enter(provider, &runtime);
    read_for_ms(file, FIRST_MS);
    uint64_t begin_ns = now_ns(), before = walks;
    read_for_ms(file, READ_MS);
    uint64_t intervals = (now_ns() - begin_ns) / (INTERVAL_MS * 1000000);
    stallbox_provider_leave(provider, former);
    close(file);
    child_expect(walks - before <= intervals * 3 / 2, "one walk an interval");
}

/* Symptom: a thread of a runtime was captured twice an interval, once for its sample and once for the note. */
static void test_the_note_of_a_call_is_the_threads_sample_of_that_interval(void **state)
{
    (void)state;
    sbx_snapshot_destroy(run_recorded(child_reads_a_file));
}

static void child_puts_work_off(void)
{
    expect_cheap(read_the_clock);
}

static void test_a_look_at_what_a_runtime_queues_costs_no_time_without_a_processor(void **state)
{
    (void)state;
    sbx_snapshot_destroy(run_recorded(child_puts_work_off));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_task_that_is_followed_costs_no_time_without_a_processor),
        cmocka_unit_test(test_the_note_of_a_call_that_may_wait_costs_no_time_without_a_processor),
        cmocka_unit_test(test_the_note_of_a_call_is_the_threads_sample_of_that_interval),
        cmocka_unit_test(test_a_look_at_what_a_runtime_queues_costs_no_time_without_a_processor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
