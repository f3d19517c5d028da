/* SPDX-License-Identifier: Apache-2.0 */
/* told_stalls.c - the table of stalls that were reported while they went on. */
#include "told_stalls.h"

#include <string.h>

#include "the_capture.h"
#include "thread_block.h"
#include "thread_registry.h"
#include "stall_end.h"

struct sbx_told *sbx_told_at(uint32_t index)
{
    return &sbx_the_capture.header->told[index];
}

static void set_state(struct sbx_told *told, enum sbx_told_state state)
{
    sbx_store_release(&told->state,
                      (uint32_t)state); /* order: release told.state - a reader after a kill finds it whole */
}

static bool is_open(const struct sbx_told *told)
{
    uint32_t state = sbx_load_acquire(&told->state); /* order: acquire told.state */
    return state == SBX_TOLD_STANDS || state == SBX_TOLD_ENDED;
}

/* Does the trigger report a stall that can end? One made by hand does not. */
static bool has_an_end(const struct sbx_trigger_entry *trigger)
{
    return trigger->in_progress != 0 &&
           (trigger->kind == SBX_TRIGGER_ANR || trigger->kind == SBX_TRIGGER_SLOW_FRAME ||
            trigger->kind == SBX_TRIGGER_WATCHDOG || trigger->kind == SBX_TRIGGER_DEADLINE);
}

/* A free place, or else the place of the deadline that was missed first, because that one may never be ended. NULL:
 * there is none. */
static struct sbx_told *find_place(void)
{
    struct sbx_told *found = NULL;
    for (uint32_t i = 0; i < SBX_TOLD_MAX; i++) {
        struct sbx_told *told = sbx_told_at(i);
        if (!is_open(told)) {
            return told;
        }
        bool may_go = told->kind == SBX_TRIGGER_DEADLINE && told->state == SBX_TOLD_STANDS;
        if (may_go && (found == NULL || told->begin_ns < found->begin_ns)) {
            found = told;
        }
    }
    sbx_count_drop(SBX_DROP_STALL_END);
    return found;
}

void sbx_told_begin(const struct sbx_trigger_entry *trigger, const uint8_t snapshot_id[16])
{
    if (!has_an_end(trigger)) {
        return;
    }
    struct sbx_told *told = find_place();
    if (told == NULL) {
        return;
    }
    set_state(told, SBX_TOLD_FREE);
    told->kind = trigger->kind;
    told->thread = trigger->thread;
    told->watch = trigger->watch;
    told->message = trigger->message;
    told->begin_ns = trigger->begin_ns;
    told->end_ns = 0;
    told->ended = SBX_END_NONE;
    memcpy(told->snapshot_id, snapshot_id, sizeof told->snapshot_id);
    set_state(told, SBX_TOLD_STANDS);
}

bool sbx_told_is_watch(uint32_t watch, uint64_t begin_ns)
{
    bool is_one = false;
    for (uint32_t i = 0; i < SBX_TOLD_MAX; i++) {
        const struct sbx_told *told = sbx_told_at(i);
        is_one |= told->state == SBX_TOLD_STANDS && told->kind == SBX_TRIGGER_DEADLINE && told->watch == watch &&
                  told->begin_ns == begin_ns;
    }
    return is_one;
}

void sbx_told_end(struct sbx_told *told, enum sbx_stall_end how, uint64_t end_ns)
{
    told->ended = (uint32_t)how;
    told->end_ns = end_ns > told->begin_ns ? end_ns : told->begin_ns;
    set_state(told, SBX_TOLD_ENDED);
}

struct sbx_trigger_entry sbx_told_trigger(const struct sbx_told *told)
{
    return sbx_stall_end_trigger(told, (enum sbx_stall_end)told->ended, told->end_ns, 0);
}

void sbx_told_settle(const struct sbx_trigger_entry *trigger)
{
    for (uint32_t i = 0; i < SBX_TOLD_MAX; i++) {
        struct sbx_told *told = sbx_told_at(i);
        if (is_open(told) && memcmp(told->snapshot_id, trigger->first_id, sizeof told->snapshot_id) == 0) {
            set_state(told, SBX_TOLD_SETTLED);
        }
    }
}

void sbx_told_forget(void)
{
    for (uint32_t i = 0; i < SBX_TOLD_MAX; i++) {
        set_state(sbx_told_at(i), SBX_TOLD_FREE);
    }
}

bool sbx_told_is_open(void)
{
    bool is_any = false;
    for (uint32_t i = 0; i < SBX_TOLD_MAX; i++) {
        is_any |= is_open(sbx_told_at(i));
    }
    return is_any;
}
