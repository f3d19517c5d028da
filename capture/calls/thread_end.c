/* SPDX-License-Identifier: Apache-2.0 */
/* thread_end.c - the two moments of a thread's end. */
#include "thread_end.h"

#include "capture_record.h"
#include "task.h"
#include "thread_block.h"
#include "wake.h"

SBX_HOOK_SAFE static void let_joiners_go(struct sbx_thread *thread)
{
    sbx_tasks_leave(thread);
    if (thread->seen_work.key != 0) {
        sbx_thread_enter(thread);
        sbx_capture_end_seen_work(thread, thread->seen_work.last_ns);
        sbx_thread_leave(thread);
    }
    sbx_wake_check(thread->handle, SBX_OP_THREAD_EXIT, SBX_WAKE_ALL);
}

const struct sbx_thread_end sbx_thread_end = {.begins = let_joiners_go, .completes = sbx_capture_end_run};
