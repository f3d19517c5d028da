/* SPDX-License-Identifier: Apache-2.0 */
/* point_uv.c - libuv's pool: which thread queued the work that runs in it, and what follows on the loop.
 *
 * uv_queue_work() takes two functions, which libuv keeps in the request. Functions of the agent are given in their
 * place (uv_calls.h). The second one is always called once, on the loop's thread, also when the request was cancelled.
 * Before the program's functions are called, the request's fields are set back to them. So a request can be queued once
 * more with what its fields contain. */
#include "point.h"
#include "task.h"
#include "uv_calls.h"

typedef void work_function(void *request);
typedef void after_function(void *request, int status);

/* The first fields of a uv_work_t. Their layout is part of libuv 1's binary interface (uv.h). */
struct work {
    void *data;
    int type;
    void *reserved[6];
    void *loop;
    work_function *work;
    after_function *after;
};

static const char queue_of_pool; /* its address is the queue's number: libuv has one pool for all loops of a process */

static void run_work(void *request);
static void run_after(void *request, int status);

static void put_back(struct work *request, const struct sbx_uv_call *call)
{
    request->work = request->work == run_work ? call->work : request->work;
    request->after = request->after == run_after ? call->after : request->after;
}

static void run_work(void *request)
{
    if (SBX_LIKELY(sbx_capture_is_open())) {
        sbx_queue_expect((uint64_t)(uintptr_t)&queue_of_pool);
    }
    struct sbx_uv_call *call = sbx_uv_call_find(request);
    if (call == NULL) {
        return; /* cannot happen: a request has its entry until it is over */
    }
    sbx_task_begin(call->task);
    call->work(request);
    call->task = sbx_task_end_and_follow(
        call->task); /* what follows was queued by the same thread, and is not in the pool's queue */
}

static void run_after(void *request, int status)
{
    struct sbx_uv_call *call = sbx_uv_call_find(request);
    if (call == NULL) {
        return;
    }
    after_function *after = call->after;
    uint64_t task = call->task;
    put_back(request, call);
    sbx_uv_call_let_go(call); /* the code below may queue the request again */
    if (status != 0) {
        sbx_task_cancelled(task);
        task = 0;
    }
    if (after == NULL) {
        sbx_task_cancelled(task);
        return;
    }
    sbx_task_begin(task);
    after(request, status);
    sbx_task_end(task);
}

static int (*real_uv_queue_work)(void *, void *, work_function *, after_function *);
static int hook_uv_queue_work(void *loop, void *request, work_function *work, after_function *after)
{
    struct sbx_uv_call *call =
        sbx_capture_is_open() && request != NULL && work != NULL ? sbx_uv_call_take(request) : NULL;
    if (call == NULL) {
        return real_uv_queue_work(loop, request, work, after);
    }
    uint64_t task = sbx_task_queued(SBX_GROUP_UV, SBX_OP_UV_QUEUE_WORK, (uint64_t)(uintptr_t)&queue_of_pool, 0, 0);
    call->work = work;
    call->after = after;
    call->task = task;
    sbx_uv_call_put(call, request);
    int result = real_uv_queue_work(loop, request, run_work, run_after);
    if (SBX_UNLIKELY(result != 0)) {
        sbx_task_cancelled(task);
        sbx_uv_call_let_go(call);
    }
    return result;
}

static const struct sbx_point points[] = {
    SBX_POINT("uv_queue_work", hook_uv_queue_work, real_uv_queue_work, SBX_GROUP_UV),
};
const struct sbx_point_list sbx_points_uv = SBX_POINT_LIST(points);
