/* SPDX-License-Identifier: Apache-2.0 */
/* shared_wait.c - stores a name in the family's page, and a message for the watch thread in the thread's block. */
#include "shared_wait.h"

#include <stddef.h>

#include "shared_hands.h"
#include "the_capture.h"
#include "thread_block.h"
#include "thread_clock.h"

/* The name of the calling thread; 0: the thread has none, or nothing is recorded. */
static uint64_t own_name(void)
{
    const struct sbx_thread *thread = sbx_self;
    return sbx_thread_is_registered(thread) && sbx_capture_is_open()
               ? (uint64_t)sbx_the_capture.header->pid << 32 | thread->tid
               : 0;
}

SBX_HOOK_SAFE void sbx_shared_taken(uint64_t object)
{
    uint64_t who = own_name();
    if (who != 0) {
        sbx_hands_taken(object, who);
    }
}

SBX_HOOK_SAFE void sbx_shared_let_go(uint64_t object)
{
    uint64_t who = own_name();
    if (who != 0) {
        sbx_hands_let_go(object, who);
    }
}

SBX_HOOK_SAFE uint32_t sbx_shared_turns(uint64_t object)
{
    struct sbx_hands hands;
    return sbx_hands_find(object, &hands) ? hands.turns : 0;
}

SBX_HOOK_SAFE void sbx_shared_wait_end(const struct sbx_blocking *call, uint32_t turns_before)
{
    struct sbx_thread *thread = call->thread;
    struct sbx_hands hands;
    if (thread == NULL || thread != sbx_self || !sbx_thread_is_registered(thread) || !sbx_capture_is_open() ||
        !sbx_hands_find(call->object, &hands) || hands.turns == turns_before ||
        hands.let_go_by >> 32 == sbx_the_capture.header->pid ||
        sbx_thread_wall_ns(thread) - call->begin_ns < SBX_SHARED_WAIT_NS ||
        sbx_load_acquire(&thread->shared_wait.begin_ns) != 0) { /* order: acquire thread.shared_wait */
        return;
    }
    thread->shared_wait.object = call->object;
    thread->shared_wait.ended_by = hands.let_go_by;
    sbx_store_release(&thread->shared_wait.begin_ns, call->begin_ns); /* order: release thread.shared_wait */
}
