/* SPDX-License-Identifier: Apache-2.0 */
/* test_seen_work.c - a made-up runtime that numbers its work items, under the real recorder. It reads a clock when it
 * puts an item off, and says which item runs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <sys/mman.h>
#include <time.h>

#include "recorded_process.h"
#include "stallbox/stallbox.h"

enum {
    QUEUE = 77
};

/* One thread runs it. */
static struct runtime {
    uint64_t queues;    /* the item that it puts off now; 0: none */
    uint64_t runs;      /* the item that it runs */
    uint64_t queued_in; /* the item that ran when that one was queued */
    int asked;          /* how often, about clocks */
    char *page;         /* a page to read when it is asked; NULL: none */
    bool page_is_gone;
    int reads, reads_when_gone;
} runtime;

static struct stallbox_provider *provider;

static void read_page(struct runtime *it)
{
    if (it->page != NULL && stallbox_provider_can_read(it->page, 8) != 0) {
        it->reads++;
        it->reads_when_gone += it->page_is_gone;
    }
}

static size_t walk(void *context, size_t first, uint64_t *functions, uint32_t *lines, size_t max)
{
    read_page(context);
    if (first == 0 && max > 0) {
        functions[0] = 1;
        lines[0] = 1;
    }
    return 1;
}

static int queues(void *context, struct stallbox_queued_work *work_out)
{
    struct runtime *it = context;
    it->asked++;
    read_page(it);
    *work_out = (struct stallbox_queued_work){QUEUE, it->queues, STALLBOX_WORK_SET_TIMEOUT};
    return it->queues != 0;
}

static int runs(void *context, const struct stallbox_interrupted *interrupted, struct stallbox_running_work *work_out)
{
    struct runtime *it = context;
    (void)interrupted;
    read_page(it);
    *work_out = (struct stallbox_running_work){QUEUE, it->runs, it->queued_in};
    return it->runs != 0;
}

static void *resolve(void)
{
    return &runtime;
}

static __attribute__((noinline, aligned(512))) void read_the_clock(void)
{
    struct timespec now;
    child_expect(clock_gettime(CLOCK_MONOTONIC, &now) == 0, "there is a clock");
    KEEP_FRAME();
}

static __attribute__((noinline)) void read_it_elsewhere(void)
{
    struct timespec now;
    child_expect(clock_gettime(CLOCK_MONOTONIC, &now) == 0, "there is a clock");
    KEEP_FRAME();
}

static __attribute__((noinline)) void put_off(uint64_t item)
{
    runtime.queues = item;
    read_the_clock();
    runtime.queues = 0;
    KEEP_FRAME();
}

static __attribute__((noinline)) void put_off_another(uint64_t item)
{
    runtime.queues = item;
    read_the_clock();
    runtime.queues = 0;
    KEEP_FRAME();
}

static __attribute__((noinline)) void run_for_a_while(uint64_t item, uint64_t queued_in)
{
    runtime.runs = item;
    runtime.queued_in = queued_in;
    for (int i = 0; i < 4; i++) {
        child_sleep_ms(10);
    }
    runtime.runs = runtime.queued_in = 0;
    KEEP_FRAME();
}

static __attribute__((noinline)) void wait_for_work(void)
{
    poll(NULL, 0, 5);
    KEEP_FRAME();
}

static void start(void)
{
    const struct stallbox_provider_options options = {.sizeof_options = sizeof options,
                                                      .name = "test",
                                                      .walk = walk,
                                                      .resolve = resolve,
                                                      .flags = STALLBOX_PROVIDER_SIGNAL_SAFE,
                                                      .queuing_code = (const void *)(uintptr_t)read_the_clock,
                                                      .queuing_code_bytes = 256,
                                                      .queues = queues,
                                                      .runs = runs};
    child_expect(stallbox_provider_register(&options, &provider) == STALLBOX_OK, "it is registered");
    child_start();
}

static struct sbx_snapshot *run(void (*body)(void))
{
    assert_int_equal(recorded_process_run(body), 0);
    return recorded_process_snapshot();
}

static const struct sbx_record *hop_of(const struct sbx_snapshot *snapshot, uint32_t number)
{
    for (size_t i = 0; i < snapshot->record_count; i++) {
        if (snapshot->records[i].kind == SBX_RECORD_HOP && snapshot->records[i].wait == number) {
            return &snapshot->records[i];
        }
    }
    return NULL;
}

/* The single task of that op, or NULL. */
static const struct sbx_record *task_of(const struct sbx_snapshot *snapshot, uint8_t op)
{
    const struct sbx_record *found = NULL;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        if (snapshot->records[i].kind == SBX_RECORD_TASK && snapshot->records[i].op == op) {
            assert_null(found);
            found = &snapshot->records[i];
        }
    }
    return found;
}

/* ---- what was put off ---- */

static void child_runs_what_it_put_off(void)
{
    start();
    stallbox_message_begin(1);
    errno = EXDEV;
    put_off(5);
    put_off_another(6);
    child_expect(errno == EXDEV, "errno is kept");
    child_sleep_ms(20);
    run_for_a_while(5, 0);
    wait_for_work();
    stallbox_message_end();
    child_finish();
}

static void test_what_was_put_off_and_is_seen_to_run_is_told_with_who_put_it_off(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run(child_runs_what_it_put_off);
    const struct sbx_record *ran = task_of(snapshot, SBX_OP_SET_TIMEOUT);
    assert_non_null(ran);
    const struct sbx_record *lay = hop_of(snapshot, ran->wait);
    assert_non_null(lay);
    assert_true(passes_through(snapshot, ran, (void *)put_off));
    assert_false(stack_passes(snapshot, ran->stack, (void *)put_off_another));
    assert_int_equal(lay->peer, snapshot->header.pid);
    assert_int_equal(lay->end_ns, ran->begin_ns);
    assert_true(lay->end_ns - lay->begin_ns >= 20000000);
    assert_true(ran->end_ns - ran->begin_ns >= 20000000); /* from the first look to the last */
    sbx_snapshot_destroy(snapshot);
}

static void child_is_in_the_middle_of_it(void)
{
    start();
    stallbox_message_begin(1);
    put_off(5);
    runtime.runs = 5;
    child_sleep_ms(10);
    child_sleep_ms(10);
    child_finish();
}

static void test_what_runs_still_when_the_snapshot_is_made_is_told_too(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run(child_is_in_the_middle_of_it);
    const struct sbx_record *ran = task_of(snapshot, SBX_OP_SET_TIMEOUT);
    assert_non_null(ran);
    assert_true((ran->flags & SBX_FLAG_OPEN) != 0);
    assert_true(passes_through(snapshot, ran, (void *)put_off));
    sbx_snapshot_destroy(snapshot);
}

static void child_runs_one_after_the_other(void)
{
    start();
    stallbox_message_begin(1);
    put_off(5);
    run_for_a_while(5, 0);
    run_for_a_while(9, 0); /* nobody put that item off */
    wait_for_work();
    stallbox_message_end();
    child_finish();
}

static void test_what_nobody_put_off_ends_what_ran_before_and_is_not_told(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run(child_runs_one_after_the_other);
    const struct sbx_record *ran = task_of(snapshot, SBX_OP_SET_TIMEOUT);
    assert_non_null(ran);
    assert_true((ran->flags & SBX_FLAG_OPEN) == 0);
    assert_null(task_of(snapshot, SBX_OP_JS_CALLBACK));
    uint64_t last_sleep_ns = 0;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *record = &snapshot->records[i];
        last_sleep_ns =
            record->kind == SBX_RECORD_SLEEP && record->end_ns > last_sleep_ns ? record->end_ns : last_sleep_ns;
    }
    assert_true(ran->end_ns + 20000000 <= last_sleep_ns); /* the other item ran for longer than that */
    sbx_snapshot_destroy(snapshot);
}

/* ---- what was queued while another one ran ---- */

static void child_runs_what_was_queued_meanwhile(void)
{
    start();
    stallbox_message_begin(1);
    run_for_a_while(30, 0);
    run_for_a_while(31, 30);
    wait_for_work();
    stallbox_message_end();
    child_finish();
}

static void test_what_was_queued_while_another_one_was_seen_to_run_is_told_with_that_ones_stack(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run(child_runs_what_was_queued_meanwhile);
    const struct sbx_record *ran = task_of(snapshot, SBX_OP_JS_CALLBACK);
    assert_non_null(ran);
    assert_true(passes_through(snapshot, ran, (void *)run_for_a_while));
    sbx_snapshot_destroy(snapshot);
}

static void child_runs_it_messages_later(void)
{
    start();
    stallbox_message_begin(1);
    run_for_a_while(30, 0);
    stallbox_message_end();
    for (int i = 0; i < 3; i++) {
        stallbox_message_begin(1);
        child_sleep_ms(5);
        stallbox_message_end();
    }
    stallbox_message_begin(1);
    run_for_a_while(31, 30);
    wait_for_work();
    stallbox_message_end();
    child_finish();
}

static void test_of_what_runs_messages_later_nothing_is_told(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run(child_runs_it_messages_later);
    assert_null(task_of(snapshot, SBX_OP_JS_CALLBACK));
    sbx_snapshot_destroy(snapshot);
}

/* ---- which clocks are looked at ---- */

static void child_reads_clocks(void)
{
    start();
    int asked = runtime.asked;
    read_it_elsewhere();
    child_expect(runtime.asked == asked, "of other clocks nobody is asked");
    for (int i = 0; i < 100000; i++) {
        read_the_clock();
    }
    child_expect(runtime.asked > asked, "of the runtime's it is");
    child_expect(runtime.asked < asked + 50000, "and not of each of many");
    child_set_points(0);
    asked = runtime.asked;
    read_the_clock();
    child_expect(runtime.asked == asked, "and not when the group is out");
    child_finish();
}

static void test_only_clocks_of_the_runtimes_code_are_looked_at_and_not_each(void **state)
{
    (void)state;
    sbx_snapshot_destroy(run(child_reads_clocks));
}

/* ---- what is read ---- */

/* Node reads clocks while it collects garbage, and returns memory meanwhile. The test repeats this, so that also on a
 * busy machine two looks follow each other closely. */
static void child_gives_memory_back_between_looks(void)
{
    runtime.page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    child_expect(runtime.page != MAP_FAILED, "there is memory");
    start();
    for (int i = 0; i < 50; i++) {
        child_expect(mprotect(runtime.page, 4096, PROT_READ) == 0, "the page is there");
        runtime.page_is_gone = false;
        child_sleep_ms(1);
        runtime.page_is_gone = true;
        child_expect(mprotect(runtime.page, 4096, PROT_NONE) == 0, "and gone");
        int asked = runtime.asked;
        read_the_clock();
        child_expect(runtime.asked > asked, "and a look comes");
    }
    child_expect(runtime.reads > 0, "the page is read while it is there");
    child_expect(runtime.reads_when_gone == 0, "and not when it is gone");
    child_finish();
}

static void test_a_look_believes_nothing_that_was_asked_before(void **state)
{
    (void)state;
    sbx_snapshot_destroy(run(child_gives_memory_back_between_looks));
}

int main(void)
{
#define CHILD_TEST(name) cmocka_unit_test_setup_teardown(name, recorded_process_set_up, recorded_process_tear_down)
    const struct CMUnitTest tests[] = {
        CHILD_TEST(test_what_was_put_off_and_is_seen_to_run_is_told_with_who_put_it_off),
        CHILD_TEST(test_what_runs_still_when_the_snapshot_is_made_is_told_too),
        CHILD_TEST(test_what_nobody_put_off_ends_what_ran_before_and_is_not_told),
        CHILD_TEST(test_what_was_queued_while_another_one_was_seen_to_run_is_told_with_that_ones_stack),
        CHILD_TEST(test_of_what_runs_messages_later_nothing_is_told),
        CHILD_TEST(test_only_clocks_of_the_runtimes_code_are_looked_at_and_not_each),
        CHILD_TEST(test_a_look_believes_nothing_that_was_asked_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
