/* SPDX-License-Identifier: Apache-2.0 */
/* point_uv_handle.c - libuv's timers and async handles: which thread started the timer, and which one sent to the loop.
 *
 * Both keep a callback in their handle. A function of the agent is given in its place (uv_calls.h), and it calls the
 * program's callback with the same arguments. A handle keeps its entry until uv_close(). After that libuv calls only
 * the callback that was given to uv_close().
 *
 * uv_async_send() may be called on any thread, also in a signal handler. libuv makes one call for everything that was
 * sent before it came to the handle, and here these sends are one task too, merged. The entry's `task` is the pending
 * one: the sender puts it in, and the loop's thread takes it out.
 *
 * libuv may call its own uv_timer_stop() and uv_timer_start() through these hooks when a timer is due and begins anew.
 * A timer that is due is not taken for stopped, and a timer that already leads to the agent's function stays as it
 * is. */
#include "point.h"
#include "task.h"
#include "uv_calls.h"

#include <errno.h>

typedef void handle_function(void *handle);

enum {
    ABOUT_TO_BE_QUEUED = 1, /* `task`: a sender does not have the task's id yet */
    LOOP_BYTES =
        1024, /* at least sizeof(uv_loop_t): the loop's own handle lies in it; point_uv.c follows the work behind it */
};

static uint64_t (*real_uv_timer_get_repeat)(const void *);
static uint64_t (*real_uv_timer_get_due_in)(const void *);
static int (*real_uv_is_active)(const void *);

static uint64_t take_task(struct sbx_uv_call *call)
{
    uint64_t task = sbx_load_relaxed(&call->task);
    /* order: acq_rel call.task - only the thread that takes it out has it */
    while (task != 0 && !sbx_cas_acq_rel(&call->task, &task, 0)) {
    }
    return task == ABOUT_TO_BE_QUEUED ? 0 : task;
}

/* ---- timers ---- */

/* After the timer's callback. A timer that goes on is queued anew. The callback may have started, stopped or closed
 * it. */
static void end_timer(void *handle, uint64_t task)
{
    struct sbx_uv_call *call = sbx_uv_call_find(handle);
    bool goes_on = call != NULL && sbx_load_relaxed(&call->task) == 0 && real_uv_timer_get_repeat != NULL &&
                   real_uv_is_active != NULL && real_uv_timer_get_repeat(handle) != 0 && real_uv_is_active(handle);
    if (goes_on) {
        call->task = sbx_task_end_and_queue(task);
    } else {
        sbx_task_end(task);
    }
}

static void run_timer(void *handle)
{
    struct sbx_uv_call *call = sbx_uv_call_find(handle);
    if (call == NULL) {
        return; /* cannot happen: a handle has its entry until it is closed */
    }
    uint64_t task = take_task(call);
    handle_function *callback = call->callback;
    sbx_task_begin(task);
    callback(handle);
    if (task != 0) {
        end_timer(handle, task);
    }
}

static int (*real_uv_timer_start)(void *, handle_function *, uint64_t, uint64_t);
static int hook_uv_timer_start(void *handle, handle_function *callback, uint64_t timeout, uint64_t repeat)
{
    struct sbx_uv_call *call = sbx_capture_is_open() && handle != NULL && callback != NULL && callback != run_timer
                                   ? sbx_uv_call_take(handle)
                                   : NULL;
    if (call == NULL) {
        return real_uv_timer_start(handle, callback, timeout, repeat);
    }
    uint64_t before = take_task(call);
    call->callback = callback;
    sbx_uv_call_put(call, handle);
    int result = real_uv_timer_start(handle, run_timer, timeout, repeat);
    sbx_task_cancelled(before);
    if (SBX_UNLIKELY(result != 0)) { /* the handle is being closed and will never call back */
        sbx_uv_call_let_go(call);
        return result;
    }
    call->task = sbx_task_queued(SBX_GROUP_UV, SBX_OP_UV_TIMER_START, 0, 0, 0); /* a pending timer lies in no queue */
    return result;
}

static int (*real_uv_timer_stop)(void *);
static int hook_uv_timer_stop(void *handle)
{
    struct sbx_uv_call *call = handle != NULL ? sbx_uv_call_find(handle) : NULL;
    if (call != NULL && sbx_load_relaxed(&call->task) != 0 && real_uv_timer_get_due_in != NULL &&
        real_uv_timer_get_due_in(handle) != 0) {
        sbx_task_cancelled(take_task(call));
    }
    return real_uv_timer_stop(handle);
}

/* ---- async handles ---- */

static void run_async(void *handle)
{
    struct sbx_uv_call *call = sbx_uv_call_find(handle);
    if (call == NULL) {
        return;
    }
    uint64_t task = take_task(call);
    handle_function *callback = call->callback;
    sbx_task_begin(task);
    callback(handle); /* the callback may close it */
    sbx_task_end(task);
}

static int (*real_uv_async_init)(void *, void *, handle_function *);
static int hook_uv_async_init(void *loop, void *handle, handle_function *callback)
{
    bool is_loops_own = (uintptr_t)handle - (uintptr_t)loop < LOOP_BYTES;
    struct sbx_uv_call *call =
        sbx_capture_is_open() && handle != NULL && callback != NULL && callback != run_async && !is_loops_own
            ? sbx_uv_call_take(handle)
            : NULL;
    if (call == NULL) {
        return real_uv_async_init(loop, handle, callback);
    }
    call->callback = callback;
    call->task = 0;
    sbx_uv_call_put(call, handle);
    int result = real_uv_async_init(loop, handle, run_async);
    if (SBX_UNLIKELY(result != 0)) {
        sbx_uv_call_let_go(call);
    }
    return result;
}

static void note_send(struct sbx_uv_call *call)
{
    uint64_t none = 0, mark = ABOUT_TO_BE_QUEUED;
    int saved_errno = errno;
    /* order: acq_rel call.task - one sender puts it in */
    if (!sbx_cas_acq_rel(&call->task, &none, ABOUT_TO_BE_QUEUED)) {
        sbx_task_merged(none != ABOUT_TO_BE_QUEUED ? none : 0);
        errno = saved_errno;
        return;
    }
    uint64_t task = sbx_task_queued(SBX_GROUP_UV, SBX_OP_UV_ASYNC_SEND, 0, 0, 0);
    if (!sbx_cas_acq_rel(&call->task, &mark, task)) { /* order: acq_rel call.task - the loop's thread takes it out */
        sbx_task_cancelled(task);                     /* the loop has run meanwhile, for another sender */
    }
    errno = saved_errno;
}

static int (*real_uv_async_send)(void *);
static int hook_uv_async_send(void *handle)
{
    struct sbx_uv_call *call = sbx_capture_is_open() && handle != NULL ? sbx_uv_call_find(handle) : NULL;
    if (call != NULL) {
        note_send(call);
    }
    return real_uv_async_send(handle);
}

/* ---- the end of any handle ---- */

static void (*real_uv_close)(void *, handle_function *);
static void hook_uv_close(void *handle, handle_function *callback)
{
    struct sbx_uv_call *call = handle != NULL ? sbx_uv_call_find(handle) : NULL;
    if (call != NULL) {
        sbx_task_cancelled(take_task(call));
        sbx_uv_call_let_go(call);
    }
    real_uv_close(handle, callback);
}

#define POINT(name)  SBX_POINT(#name, hook_##name, real_##name, SBX_GROUP_UV)
#define WANTED(name) SBX_POINT(#name, NULL, real_##name, SBX_GROUP_UV)
static const struct sbx_point points[] = {
    POINT(uv_timer_start), POINT(uv_timer_stop),        POINT(uv_async_init),        POINT(uv_async_send),
    POINT(uv_close),       WANTED(uv_timer_get_repeat), WANTED(uv_timer_get_due_in), WANTED(uv_is_active),
};
const struct sbx_point_list sbx_points_uv_handle = SBX_POINT_LIST(points);
