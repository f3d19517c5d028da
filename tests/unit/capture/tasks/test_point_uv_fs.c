/* SPDX-License-Identifier: Apache-2.0 */
/* test_point_uv_fs.c - libuv's file requests: what is recorded of them; the program sees no difference. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include <uv.h>

#include "recorded_process.h"

#define OWN_PLACE __attribute__((noinline))

enum {
    MANY = 3000, /* more than are followed at a time */
    POOL = 4     /* libuv's threads */
};

static uv_loop_t loop;
static uv_file file;
static int answered, cancelled, worked;
static uv_sem_t go_on;

static void finish_loop(void)
{
    uv_run(&loop, UV_RUN_DEFAULT);
    child_expect(uv_loop_close(&loop) == 0, "nothing is left in the loop");
    const struct sbx_recording_header *header = child_header();
    const struct sbx_task_entry *tasks = (const void *)((const char *)header + header->tasks.at);
    for (uint32_t i = 0; i < header->tasks.count; i++) {
        child_expect(sbx_task_state_of(tasks[i].word) == SBX_TASK_FREE || tasks[i].group != SBX_GROUP_UV,
                     "no task is left behind");
    }
}

static void after_close(uv_fs_t *request)
{
    child_expect(request->result == 0, "it is closed");
    uv_fs_req_cleanup(request);
    answered++;
}

static void after_read(uv_fs_t *request)
{
    child_expect(request->cb == after_read, "the function in the request is the program's");
    child_expect(request->result == 4, "it is read");
    uv_fs_req_cleanup(request);
    answered++;
    child_expect(uv_fs_close(&loop, request, file, after_close) == 0, "it is to be closed");
}

static void after_open(uv_fs_t *request)
{
    static char bytes[4];
    uv_buf_t buffer = uv_buf_init(bytes, sizeof bytes);
    child_expect(request->data == &loop && request->loop == &loop, "the request is the program's");
    child_expect(request->result >= 0, "it is open");
    file = (uv_file)request->result;
    uv_fs_req_cleanup(request);
    answered++;
    child_pause_ms(3);
    child_expect(uv_fs_read(&loop, request, file, &buffer, 1, 0, after_read) == 0,
                 "it is to be read, by the same request");
}

OWN_PLACE static void open_here(uv_fs_t *request)
{
    request->data = &loop;
    child_expect(uv_fs_open(&loop, request, "/proc/self/exe", O_RDONLY, 0, after_open) == 0, "it is to be opened");
    KEEP_FRAME();
}

static void child_reads_a_file(void)
{
    static uv_fs_t request, at_once;
    child_expect(uv_loop_init(&loop) == 0, "a loop");
    open_here(&request);
    child_expect(uv_fs_stat(&loop, &at_once, "/", NULL) == 0 && at_once.result == 0,
                 "without a function it is done at once");
    uv_fs_req_cleanup(&at_once);
    child_expect(uv_fs_read(&loop, &at_once, 0, NULL, 0, 0, after_read) == UV_EINVAL,
                 "what is refused is not answered");
    finish_loop();
    child_expect(answered == 3, "each is answered once");
}

static void test_a_request_for_a_file_is_told_with_who_made_it(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_reads_a_file);
    bool is_told = false;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *record = &snapshot->records[i];
        is_told |= record->kind == SBX_RECORD_TASK && record->op == SBX_OP_UV_FS &&
                   passes_through(snapshot, record, (void *)open_here);
    }
    assert_true(is_told);
    sbx_snapshot_destroy(snapshot);
}

static void after_stat(uv_fs_t *request)
{
    answered += request->result == 0;
    cancelled += request->result == UV_ECANCELED;
    uv_fs_req_cleanup(request);
}

static void hold_up(uv_work_t *request)
{
    (void)request;
    uv_sem_wait(&go_on);
    __atomic_add_fetch(&worked, 1, __ATOMIC_SEQ_CST);
}

static void child_makes_many_and_cancels_some(void)
{
    static uv_work_t work[POOL];
    uv_fs_t *requests = calloc(MANY, sizeof *requests);
    int gone = 0;
    setenv("UV_THREADPOOL_SIZE", "4", 1);
    child_expect(uv_sem_init(&go_on, 0) == 0 && uv_loop_init(&loop) == 0, "a loop");
    for (int i = 0; i < POOL; i++) {
        child_expect(uv_queue_work(&loop, &work[i], hold_up, NULL) == 0, "the pool is busy");
    }
    for (int i = 0; i < MANY; i++) {
        child_expect(uv_fs_stat(&loop, &requests[i], "/", after_stat) == 0, "it is asked");
    }
    for (int i = 0; i < MANY; i += 2) {
        gone += uv_cancel((uv_req_t *)&requests[i]) == 0;
    }
    for (int i = 0; i < POOL; i++) {
        uv_sem_post(&go_on);
    }
    finish_loop();
    child_expect(gone == MANY / 2 && cancelled == gone && answered == MANY - gone && worked == POOL,
                 "each is answered, or told that it was cancelled");
    free(requests);
}

static void test_many_requests_and_cancelled_ones_are_answered_as_ever(void **state)
{
    (void)state;
    sbx_snapshot_destroy(run_recorded(child_makes_many_and_cancels_some));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_request_for_a_file_is_told_with_who_made_it),
        cmocka_unit_test(test_many_requests_and_cancelled_ones_are_answered_as_ever),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
