/* SPDX-License-Identifier: Apache-2.0 */
/* runtime_queue.c - asks the runtime, walks the stack and makes a note. */
#include "runtime_queue.h"

#include <errno.h>

#include "capture_record.h"
#include "left_code.h"
#include "registers.h"
#include "task.h"
#include "the_capture.h"
#include "thread_block.h"
#include "thread_stack.h"
#include "work_notes.h"

/* A note costs ten thousand instructions, some 3 us, because its stack contains the frames of a script. */
#define LOOK_EVERY_NS UINT64_C(100000)
enum {
    BURST = 64
};

/* The numbers are those of enum stallbox_work. SBX_OP_NONE: the kind of work is not known. */
static uint8_t op_of(uint32_t work)
{
    enum {
        SET_TIMEOUT = 6,
        SET_INTERVAL = 7
    };
    return work == SET_TIMEOUT ? SBX_OP_SET_TIMEOUT : work == SET_INTERVAL ? SBX_OP_SET_INTERVAL : SBX_OP_NONE;
}

/* Does a provider say that the calling thread queues something? */
static bool ask(struct sbx_queued_work *work_out)
{
    uint32_t count = sbx_load_acquire(&sbx_the_capture.provider_count); /* order: acquire providers */
    for (uint32_t i = 0; i < count; i++) {
        void *context = sbx_the_providers[i].queues != NULL ? sbx_provider_context(i) : NULL;
        if (context != NULL && sbx_the_providers[i].queues(context, work_out) != 0) {
            return true;
        }
    }
    return false;
}

SBX_HOOK_SAFE SBX_NOINLINE void sbx_runtime_queue_look(void)
{
    struct sbx_thread *thread = sbx_self;
    if (!sbx_capture_is_open() || !sbx_thread_is_registered(thread) || sbx_thread_is_inside(thread) ||
        (sbx_load_relaxed(&sbx_the_capture.control->in_force.points) & SBX_POINT_BIT(SBX_GROUP_JAVASCRIPT)) == 0) {
        return; /* relaxed: a hint */
    }
    uint64_t now_ns = sbx_thread_wall_ns(thread);
    struct sbx_queued_work work = {0};
    if (!sbx_take_turn(&thread->seen_work.look_ns, now_ns, LOOK_EVERY_NS, BURST)) {
        return;
    }
    int saved_errno = errno;
    sbx_thread_enter(thread);
    uint64_t begin_ns = sbx_cost_begin(thread, SBX_COST_LEAF);
    sbx_page_probe_begin(&thread->probe);
    uint8_t op = ask(&work) ? op_of(work.work) : SBX_OP_NONE;
    if (op != SBX_OP_NONE && work.item != 0) {
        if (SBX_UNLIKELY(thread->stack_high == 0)) {
            sbx_thread_find_stack(thread);
        }
        struct sbx_walk_registers here;
        sbx_registers_here(&here);
        struct sbx_work_note note = {.at_ns = now_ns,
                                     .message = thread->entry->message_begin_ns != 0 ? thread->entry->message : 0,
                                     .stack = sbx_capture_stack(thread, &here),
                                     .tid = thread->tid,
                                     .op = op,
                                     .group = SBX_GROUP_JAVASCRIPT};
        if (note.stack != SBX_STACK_NONE && note.stack != SBX_STACK_OVERFLOW) {
            sbx_work_note_queued(sbx_work_key(work.queue, work.item), &note);
        }
        struct sbx_thread_cost *cost = &thread->cost;
        sbx_store_relaxed(&cost->group[SBX_GROUP_JAVASCRIPT].captures, cost->group[SBX_GROUP_JAVASCRIPT].captures + 1);
        sbx_cost_end(thread, SBX_COST_LEAF, begin_ns);
    }
    sbx_thread_leave(thread);
    errno = saved_errno;
}
