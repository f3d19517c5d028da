/* SPDX-License-Identifier: Apache-2.0 */
/* test_governor.c - a process that spends too much on its recorder records less, by itself, and its snapshot says so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "order.h"
#include "control_order.h"
#include "live_recording.h"
#include "stalling_process.h"

/* The pointers are volatile; otherwise the compiler removes a malloc whose memory is freed at once. */
static void allocate(int times)
{
    for (int i = 0; i < times; i++) {
        void *volatile memory = malloc(32);
        free(memory);
    }
}

static void allocate_for_ms(uint64_t ms)
{
    uint64_t end_ms = stalling_now_ms() + ms;
    while (stalling_now_ms() < end_ms) {
        allocate(20000);
    }
}

static bool order(struct sbx_recording_header *header, uint32_t permille, bool enabled)
{
    struct sbx_capture_settings wanted = sbx_control_page_of(header)->in_force;
    wanted.max_cpu_permille = permille;
    wanted.enabled = enabled;
    return stalling_order(header, &wanted);
}

static void allocate_for_a_while(void)
{
    allocate_for_ms(100);
}

static void child_allocates_all_the_time(void)
{
    struct stallbox_options options = stalling_options();
    options.max_cpu_permille = 1;
    stalling_start(&options);
    struct sbx_recording_header *header = stalling_own_recording();
    struct sbx_overhead *overhead = &header->overhead;
    const uint64_t points = SBX_POINT_BIT(SBX_GROUP_ALLOC);
    stalling_spend_until_shed(overhead, allocate_for_a_while);
    stalling_expect(overhead->changes >= 2 && overhead->budget_permille == 1, "and it is told");
    stalling_expect(overhead->calls_ns > 0 && overhead->watch_ns > 0, "with what it cost");
    stalling_expect(overhead->application_ns > 0, "and what the program took");
    for (int waited = 0; waited < 1000 && (sbx_control_page_of(header)->hooked_points & points) != 0; waited++) {
        stalling_pause_ms(5);
    }
    stalling_expect((sbx_control_page_of(header)->hooked_points & points) == 0, "their hooks are out");
    stalling_expect((sbx_control_page_of(header)->in_force.points & points) == points,
                    "what was ordered is still what was ordered");
    stalling_expect((sbx_control_page_of(header)->hooked_points & SBX_POINT_BIT(SBX_GROUP_POLL)) != 0, "others are in");
    stalling_expect(stallbox_snapshot(5000) == STALLBOX_OK, "a snapshot is made");
    /* Recording that is switched off and on again continues where it was. */
    stalling_expect(order(header, 1, false), "it is switched off");
    for (int waited = 0; waited < 1000 && sbx_control_page_of(header)->hooked_points != 0; waited++) {
        stalling_pause_ms(5);
    }
    stalling_expect(sbx_control_page_of(header)->hooked_points == 0, "no hook is in");
    stalling_expect(order(header, 1, true), "and on");
    for (int waited = 0; waited < 1000 && sbx_control_page_of(header)->hooked_points == 0; waited++) {
        stalling_pause_ms(5);
    }
    stalling_expect((sbx_control_page_of(header)->hooked_points & SBX_POINT_BIT(SBX_GROUP_POLL)) != 0,
                    "hooks are in again");
    stalling_expect((sbx_control_page_of(header)->hooked_points & points) == 0 && (overhead->shed & points) == points,
                    "but those that were shed");
    /* Other orders are tried as they are; without a budget they stay in force. */
    stalling_expect(order(header, 0, true), "another order is taken");
    stalling_expect(overhead->shed == 0 && overhead->interval_us == 1000, "it is tried as it is");
    for (int waited = 0; waited < 1000 && (sbx_control_page_of(header)->hooked_points & points) != points; waited++) {
        stalling_pause_ms(5);
    }
    stalling_expect((sbx_control_page_of(header)->hooked_points & points) == points, "the hooks are in again");
    uint32_t changes = overhead->changes;
    allocate_for_ms(8000);
    stalling_expect(overhead->changes == changes && overhead->shed == 0, "no budget, no governor");
    stalling_expect(overhead->window_ppm > 1000, "what it costs is told all the same");
    stallbox_stop(5000);
}

static void test_a_process_over_its_budget_sheds_points_and_says_so(void **state)
{
    (void)state;
    stalling_process_run(child_allocates_all_the_time);
    struct sbx_snapshot *snapshot = stalling_process_snapshot();
    assert_int_equal(snapshot->settings.max_cpu_permille, 1);
    assert_true((snapshot->header.overhead.shed & SBX_POINT_BIT(SBX_GROUP_ALLOC)) != 0);
    assert_true(snapshot->header.overhead.changes >= 2);
    sbx_snapshot_destroy(snapshot);
}

static void *accept_one(void *listener)
{
    (void)accept((int)(intptr_t)listener, NULL, NULL);
    return NULL;
}

static int zeros;

/* The allocations are between two reads, so that both groups cost much. Under an emulator reading the clock takes a
 * microsecond, and the governor knows that each read of the file includes two. */
#ifdef __aarch64__
enum {
    ALLOCATIONS = 3000
};
#else
enum {
    ALLOCATIONS = 30
};
#endif

static void read_and_allocate(void)
{
    for (int i = 0; i < 200; i++) {
        char byte;
        stalling_expect(pread(zeros, &byte, 1, 0) == 1, "a byte");
        allocate(ALLOCATIONS);
    }
}

/* Recording its reads from a file costs much of their time, and reads for its clients would cost the same. */
static void child_waits_for_clients_while_it_reads(void)
{
    struct stallbox_options options = stalling_options();
    options.max_cpu_permille = 1;
    stalling_start(&options);
    struct sbx_overhead *overhead = &stalling_own_recording()->overhead;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    zeros = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    pthread_t thread;
    stalling_expect(zeros >= 0 && listen(listener, 1) == 0, "a listener");
    stalling_expect(pthread_create(&thread, NULL, accept_one, (void *)(intptr_t)listener) == 0, "a thread");
    stalling_spend_until_shed(overhead, read_and_allocate);
    stalling_expect((overhead->shed & SBX_POINTS_OF_CLIENTS) == 0, "and none that sees a client");
    stallbox_stop(5000);
}

static void test_a_process_that_waits_for_clients_keeps_the_points_that_see_them(void **state)
{
    (void)state;
    stalling_process_run(child_waits_for_clients_while_it_reads);
}

static void answer_slowly(void)
{
    stallbox_message_begin(1);
    allocate_for_ms(900);
    stallbox_message_end();
}

/* Each of its messages is open for longer than note_ms (500), so a stall is almost always near. */
static void child_answers_slowly_all_the_time(void)
{
    struct stallbox_options options = stalling_options();
    options.max_cpu_permille = 1;
    stalling_start(&options);
    struct sbx_overhead *overhead = &stalling_own_recording()->overhead;
    stalling_spend_until_shed(overhead, answer_slowly);
    stallbox_stop(5000);
}

static void test_a_process_whose_messages_are_always_slow_keeps_its_budget_too(void **state)
{
    (void)state;
    stalling_process_run(child_answers_slowly_all_the_time);
}

static void *be_there(void *is_over)
{
    while (sbx_load_relaxed((uint32_t *)is_over) == 0) {
        stalling_pause_ms(5);
    }
    return NULL;
}

/* The process hardly works, but never rests. */
static bool is_in_while_it_works(struct sbx_recording_header *header, uint64_t points, bool wanted)
{
    const struct sbx_control_page *control = sbx_control_page_of(header);
    for (int turn = 0; turn < 10000; turn++) {
        if (((sbx_load_relaxed(&control->hooked_points) & points) == points) == wanted &&
            (wanted || (sbx_load_relaxed(&control->hooked_points) & points) == 0)) {
            return true;
        }
        allocate(2000);
        stalling_pause_ms(2);
    }
    return false;
}

static void child_has_one_thread_for_a_while(void)
{
    struct stallbox_options options = stalling_options();
    options.max_cpu_permille = 5;
    stalling_start(&options);
    struct sbx_recording_header *header = stalling_own_recording();
    const uint64_t points = SBX_POINT_BIT(SBX_GROUP_WAKE), locks = SBX_POINT_BIT(SBX_GROUP_LOCK);
    uint32_t is_over = 0;
    pthread_t thread;
    stalling_expect(is_in_while_it_works(header, points, true), "releases are hooked");
    stalling_expect(is_in_while_it_works(header, points, false), "and are no more: nobody else waits for one");
    stalling_expect((header->overhead.shed & points) == points, "which is told");
    stalling_expect((sbx_load_relaxed(&sbx_control_page_of(header)->hooked_points) & locks) == locks,
                    "a lock may be held by the thread itself, or by another process: locks are hooked");
    stalling_expect(pthread_create(&thread, NULL, be_there, &is_over) == 0, "a second thread begins");
    stalling_expect(is_in_while_it_works(header, points, true), "releases are hooked again");
    sbx_store_relaxed(&is_over, 1);
    pthread_join(thread, NULL);
}

/* An emulator has a thread of its own in the process, and the kernel lists it with the others. */
static unsigned threads_of_kernel(void)
{
    unsigned count = 0;
    DIR *tasks = opendir("/proc/self/task");
    while (tasks != NULL && readdir(tasks) != NULL) {
        count++;
    }
    if (tasks != NULL) {
        closedir(tasks);
    }
    return count >= 2 ? count - 2 : 0; /* "." and ".." */
}

static void test_releases_in_a_process_of_one_thread_are_left_alone_until_it_has_a_second(void **state)
{
    (void)state;
    if (threads_of_kernel() > 1) {
        skip();
    }
    stalling_process_run(child_has_one_thread_for_a_while);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_process_over_its_budget_sheds_points_and_says_so,
                                        stalling_process_set_up, stalling_process_tear_down),
        cmocka_unit_test_setup_teardown(test_releases_in_a_process_of_one_thread_are_left_alone_until_it_has_a_second,
                                        stalling_process_set_up, stalling_process_tear_down),
        cmocka_unit_test_setup_teardown(test_a_process_whose_messages_are_always_slow_keeps_its_budget_too,
                                        stalling_process_set_up, stalling_process_tear_down),
        cmocka_unit_test_setup_teardown(test_a_process_that_waits_for_clients_keeps_the_points_that_see_them,
                                        stalling_process_set_up, stalling_process_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
