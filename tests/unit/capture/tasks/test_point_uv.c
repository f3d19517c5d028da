/* SPDX-License-Identifier: Apache-2.0 */
/* test_point_uv.c - libuv's pool: what is recorded of it; the program sees no difference. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <uv.h>

#include "capture_settings.h"
#include "recorded_process.h"

#define OWN_PLACE __attribute__((noinline))

static int worked, followed, cancelled, again;
static uv_loop_t loop;

static void work(uv_work_t *request)
{
    child_expect(request->data == &loop, "the request is the program's");
    __atomic_add_fetch(&worked, 1, __ATOMIC_SEQ_CST);
    child_pause_ms(5);
}

static void follow(uv_work_t *request, int status)
{
    child_expect(request->data == &loop, "the request is the program's");
    followed += status == 0;
    cancelled += status == UV_ECANCELED;
    child_pause_ms(3);
    if (again > 0) {
        again--;
        child_expect(uv_queue_work(&loop, request, work, follow) == 0, "it is queued again in its own answer");
    }
}

OWN_PLACE static void queue_here(uv_work_t *request)
{
    request->data = &loop;
    child_expect(uv_queue_work(&loop, request, work, follow) == 0, "it is queued");
    KEEP_FRAME();
}

static void child_queues_work(void)
{
    enum {
        MANY = 40
    };
    static uv_work_t requests[MANY], alone;
    child_expect(uv_loop_init(&loop) == 0, "a loop");
    child_expect(uv_queue_work(&loop, &requests[0], NULL, follow) == UV_EINVAL, "without work it is refused");
    again = 2;
    queue_here(&requests[0]);
    uv_run(&loop, UV_RUN_DEFAULT);
    child_expect(worked == 3 && followed == 3, "each is worked at and answered once");
    for (int i = 0; i < MANY; i++) {
        queue_here(&requests[i]);
    }
    int gone = 0;
    for (int i = MANY - 1; i > 0; i--) {
        gone += uv_cancel((uv_req_t *)&requests[i]) == 0;
    }
    uv_run(&loop, UV_RUN_DEFAULT);
    child_expect(gone > 0 && cancelled == gone, "what is cancelled is told so");
    child_expect(worked == 3 + MANY - gone && followed == worked, "and the rest is worked at");
    alone.data = &loop;
    child_expect(uv_queue_work(&loop, &alone, work, NULL) == 0, "without an answer");
    uv_run(&loop, UV_RUN_DEFAULT);
    child_expect(worked == 4 + MANY - gone, "it is worked at");
    child_expect(uv_loop_close(&loop) == 0, "nothing is left in the loop");
}

static void test_work_is_done_and_told_with_who_queued_it(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_queues_work);
    bool in_pool = false, on_loop = false;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *record = &snapshot->records[i];
        if (record->op != SBX_OP_UV_QUEUE_WORK) {
            continue;
        }
        assert_int_equal(record->kind == SBX_RECORD_HOP ? record->flags & SBX_FLAG_OPEN : 0, 0);
        if (record->kind == SBX_RECORD_TASK && passes_through(snapshot, record, (void *)queue_here)) {
            bool is_main = tid_of_record(snapshot, record) == snapshot->header.pid;
            in_pool |= !is_main;
            on_loop |= is_main;
        }
    }
    assert_true(in_pool);
    assert_true(on_loop);
    assert_int_equal(snapshot->queues[0].queued, snapshot->queues[0].begun + snapshot->queues[0].cancelled);
    sbx_snapshot_destroy(snapshot);
}

/* Two loops with many more tasks at once than are followed. */
static void child_has_two_loops(void)
{
    enum {
        MANY = 150
    };
    static uv_work_t requests[MANY];
    static uv_loop_t other;
    child_expect(uv_loop_init(&loop) == 0 && uv_loop_init(&other) == 0, "two loops");
    for (int i = 0; i < MANY; i++) {
        requests[i].data = &loop;
        child_expect(uv_queue_work(i % 2 == 0 ? &loop : &other, &requests[i], work, NULL) == 0, "it is queued");
    }
    uv_run(&loop, UV_RUN_DEFAULT);
    uv_run(&other, UV_RUN_DEFAULT);
    child_expect(worked == MANY, "all of it is done");
    requests[0].data = &loop;
    child_expect(uv_queue_work(&loop, &requests[0], work, follow) == 0, "one with an answer");
    uv_run(&loop, UV_RUN_DEFAULT);
    child_expect(uv_loop_close(&loop) == 0 && uv_loop_close(&other) == 0, "nothing is left in the loops");
}

static void test_the_pool_is_one_queue_whichever_loop_the_work_comes_from_and_each_work_counts_once(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_has_two_loops);
    assert_int_equal(snapshot->queue_count, 1);
    assert_int_equal(snapshot->queues[0].queued, 151);
    assert_int_equal(snapshot->queues[0].begun, 151);
    assert_int_equal(snapshot->queues[0].cancelled, 0);
    sbx_snapshot_destroy(snapshot);
}

static void child_has_the_points_out(void)
{
    static uv_work_t request;
    child_set_points(SBX_POINTS_ALL & ~SBX_POINT_BIT(SBX_GROUP_UV)); /* the first group behind bit 31 */
    child_expect(uv_loop_init(&loop) == 0, "a loop");
    queue_here(&request);
    uv_run(&loop, UV_RUN_DEFAULT);
    child_expect(worked == 1 && followed == 1, "it is worked at");
    child_expect(uv_loop_close(&loop) == 0, "nothing is left in the loop");
}

static void test_the_group_is_switched_by_itself(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_has_the_points_out);
    for (size_t i = 0; i < snapshot->record_count; i++) {
        assert_int_not_equal(snapshot->records[i].op, SBX_OP_UV_QUEUE_WORK);
    }
    sbx_snapshot_destroy(snapshot);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_work_is_done_and_told_with_who_queued_it),
        cmocka_unit_test(test_the_pool_is_one_queue_whichever_loop_the_work_comes_from_and_each_work_counts_once),
        cmocka_unit_test(test_the_group_is_switched_by_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
