/* SPDX-License-Identifier: Apache-2.0 */
/* point_uv.c - libuv's pool: who queued the work that runs in it, and what follows on the loop.
 *
 * uv_queue_work() takes two functions, which libuv keeps in the request and calls from inside: no slot is passed. So ours are given in their place, and call the
 * program's with what they were given. A job is kept for each request from then until its second function is called, which libuv
 * always does, once, on the loop's thread, also when the request was cancelled; where there is no room for a job the call passes as it is. */
#include "point.h"
#include "task.h"

#include <errno.h>

enum {
    JOBS = 512, /* power of two; requests under way that are followed */
    JOB_PROBES = 16,
};

typedef void work_function(void *request);
typedef void after_function(void *request, int status);

static struct job {
    void *request; /* NULL: free; (void *)1: being filled in */
    work_function *work;
    after_function *after;
    uint64_t task;
} jobs[JOBS];

static uint32_t place_of(const void *request)
{
    return (uint32_t)((uint64_t)(uintptr_t)request * UINT64_C(0x9e3779b97f4a7c15) >> 40);
}

static struct job *take_job(const void *request)
{
    for (uint32_t i = 0; i < JOB_PROBES; i++) {
        struct job *job = &jobs[(place_of(request) + i) % JOBS];
        void *nobody = NULL;
        /* order: acq_rel job.request - the one before is done with it */
        if (sbx_load_relaxed(&job->request) == NULL && sbx_cas_acq_rel(&job->request, &nobody, (void *)1)) {
            return job;
        }
    }
    return NULL;
}

/* The job of a request that was queued by us: it is there until run_after() has taken it. */
static struct job *find_job(const void *request)
{
    for (uint32_t i = 0; i < JOB_PROBES; i++) {
        struct job *job = &jobs[(place_of(request) + i) % JOBS];
        if (sbx_load_acquire(&job->request) == request) { /* order: acquire job.request - its fields are whole */
            return job;
        }
    }
    return NULL;
}

static void run_work(void *request)
{
    struct job *job = find_job(request);
    if (job == NULL) {
        return; /* never: a request has its job until it is over */
    }
    sbx_task_begin(job->task);
    job->work(request);
    job->task = sbx_task_end_and_queue(job->task); /* what follows was queued by who queued this */
}

static void run_after(void *request, int status)
{
    struct job *job = find_job(request);
    if (job == NULL) {
        return;
    }
    after_function *after = job->after;
    uint64_t task = job->task;
    sbx_store_release(&job->request, NULL); /* order: release job.request - what follows may queue the request again */
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
    struct job *job = sbx_capture_is_open() && request != NULL && work != NULL ? take_job(request) : NULL;
    if (job == NULL) {
        return real_uv_queue_work(loop, request, work, after);
    }
    uint64_t task = sbx_task_queued(SBX_GROUP_UV, SBX_OP_UV_QUEUE_WORK, (uint64_t)(uintptr_t)loop, 0, 0);
    job->work = work;
    job->after = after;
    job->task = task;
    sbx_store_release(&job->request, request); /* order: release job.request - the fields are whole */
    int result = real_uv_queue_work(loop, request, run_work, run_after);
    if (SBX_UNLIKELY(result != 0)) {
        sbx_task_cancelled(task);
        sbx_store_release(&job->request, NULL); /* order: release job.request */
    }
    return result;
}

static const struct sbx_point points[] = {
    SBX_POINT("uv_queue_work", hook_uv_queue_work, real_uv_queue_work, SBX_GROUP_UV),
};
const struct sbx_point_list sbx_points_uv = SBX_POINT_LIST(points);
