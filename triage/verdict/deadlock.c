/* SPDX-License-Identifier: Apache-2.0 */
/* deadlock.c - threads that wait in a circle for locks that the others hold. */
#include "deadlock.h"

#include <stdio.h>

#include "blame.h"
#include "cause.h"
#include "record_kinds.h"
#include "verdict_words.h"

enum {
    CYCLE_MAX = 16 /* a longer one is not looked for */
};

/* Does the thread have an open wait for a lock, by what the payload's threads tell? Only such waits make a cycle. */
static bool waits_for_lock(const struct sbx_stall *stall, uint32_t thread)
{
    const struct sbx_stall_thread *it = &stall->threads[thread];
    /* For a wait on a condition, only a runtime that builds its locks from conditions names the awaited thread. */
    bool is_lock =
        it->call_kind == SBX_RECORD_LOCK || it->call_kind == SBX_RECORD_COND || sbx_is_file_lock(it->call_op);
    bool is_sign =
        it->call_kind == SBX_RECORD_COND && it->call_peer >= 0 && stall->threads[it->call_peer].process != it->process;
    return is_lock && it->call_peer >= 0 && !is_sign;
}

/* Does a thread of the cycle wait for an interpreter's lock, and the thread that it noted as the holder as well? Then
 * the noted holder has given the lock up since. */
static bool has_given_up(const struct sbx_stall *stall, const uint32_t *cycle, size_t count)
{
    for (size_t i = 0; i < count && count > 1; i++) {
        if (stall->threads[cycle[i]].call_op == SBX_OP_RUNTIME_LOCK &&
            stall->threads[cycle[(i + 1) % count]].call_op == SBX_OP_RUNTIME_LOCK) {
            return true;
        }
    }
    return false;
}

/* Does the judged thread's open wait for a lock lead back to a thread that was already passed? cycle_out gets the
 * threads of the cycle, in order. Returns their number, 0 for no cycle. */
static size_t find_cycle(const struct sbx_stall *stall, uint32_t cycle_out[CYCLE_MAX])
{
    uint32_t way[CYCLE_MAX], at = stall->trigger.thread;
    size_t length = 0;
    while (length < CYCLE_MAX && waits_for_lock(stall, at)) {
        for (size_t i = 0; i < length; i++) {
            if (way[i] == at) {
                for (size_t j = i; j < length; j++) {
                    cycle_out[j - i] = way[j];
                }
                return !has_given_up(stall, cycle_out, length - i) ? length - i : 0;
            }
        }
        way[length++] = at;
        at = (uint32_t)stall->threads[at].call_peer;
    }
    return 0;
}

bool sbx_deadlock_tell(struct sbx_report *report)
{
    struct sbx_verdict *verdict = &report->verdict;
    const struct sbx_stall *stall = report->stall;
    uint32_t cycle[CYCLE_MAX];
    const struct sbx_stall_thread *first = &stall->threads[stall->trigger.thread];
    bool is_lock = verdict->cause == SBX_CAUSE_LOCK || sbx_is_file_lock(first->call_op) ||
                   (verdict->cause == SBX_CAUSE_WAIT && first->call_kind == SBX_RECORD_COND);
    size_t count = is_lock ? find_cycle(stall, cycle) : 0;
    if (count == 0) {
        return false;
    }
    verdict->cause = SBX_CAUSE_DEADLOCK;
    verdict->cycle_count = (uint32_t)count;
    for (size_t i = 0; i < count; i++) {
        char waiter[SBX_THREAD_TEXT_BYTES], holder[SBX_THREAD_TEXT_BYTES], place[SBX_SHORT_NAME_BYTES];
        const struct sbx_stall_thread *thread = &stall->threads[cycle[i]];
        sbx_thread_text(stall, cycle[i], waiter);
        sbx_thread_text(stall, (uint32_t)thread->call_peer, holder);
        char lock[24] = "a lock"; /* privacy rules may hide which lock it is */
        if (thread->call_object != 0) {
            snprintf(lock, sizeof lock, "lock %u", thread->call_object);
        }
        sbx_evidence_add(verdict, "cycle", cycle[i], "%s waits in %s for %s, which %s holds", waiter,
                         sbx_location_text(sbx_blame_leaf(report, thread->last_stack), place), lock, holder);
    }
    return true;
}
