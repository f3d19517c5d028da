/* SPDX-License-Identifier: Apache-2.0 */
/* prompt_call.c - the rare cases of prompt calls. */
#include "prompt_call.h"

#include "client_message.h"
#include "fd_class.h"

/* The calls that were let through are prompt calls as often as one ends the count. */
static void charge(struct sbx_thread *thread, uint8_t group)
{
    sbx_cost_prompt_passes(&thread->cost, group, thread->counted_from - thread->entry->countdown);
    thread->counted_from = (int32_t)thread->entry->countdown; /* so sbx_leaf_ask() has nothing left to charge */
}

SBX_HOOK_SAFE SBX_NOINLINE void sbx_prompt_ask(struct sbx_thread *thread, uint8_t op, uint8_t group)
{
    charge(thread, group);
    sbx_leaf_ask(thread, SBX_RECORD_LEAF, op, group);
}

SBX_HOOK_SAFE SBX_NOINLINE void sbx_prompt_was_left(struct sbx_thread *thread, int fd, uint8_t group)
{
    if (sbx_fd_can_wait(fd)) {
        sbx_prompt_say(fd, false);
    }
    charge(thread, group);
    thread->entry->countdown = thread->counted_from = 0; /* after a wait, the next leaf call asks the clock */
}

SBX_HOOK_SAFE SBX_NOINLINE void sbx_prompt_question(struct sbx_thread *thread)
{
    if (thread->loop.entered == 0) {
        sbx_client_asked(thread);
    }
}

SBX_HOOK_SAFE SBX_NOINLINE void sbx_prompt_answer(struct sbx_thread *thread)
{
    sbx_client_answered(thread, sbx_thread_wall_ns(thread));
}
