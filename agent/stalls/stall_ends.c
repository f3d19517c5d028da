/* SPDX-License-Identifier: Apache-2.0 */
/* stall_ends.c - when and how a reported stall ended. */
#include "stall_ends.h"

#include <errno.h>
#include <stdbool.h>

#include "the_capture.h"
#include "thread_block.h"
#include "thread_registry.h"
#include "snapshot_maker.h"
#include "told_stalls.h"

/* When the stall's thread ended; now, if this is no longer known. */
static uint64_t thread_end_ns(const struct sbx_told *told, uint64_t now_ns)
{
    uint64_t died_ns = sbx_load_relaxed(&sbx_the_capture.threads[told->thread].died_ns); /* relaxed: one word */
    return died_ns > told->begin_ns ? died_ns : now_ns;
}

/* When a reported message ended: as reported by its thread, or now; 0: it is still open. */
static uint64_t message_end_ns(const struct sbx_told *told, const struct sbx_thread *thread, uint64_t now_ns)
{
    if (thread == NULL) {
        return thread_end_ns(told, now_ns);
    }
    /* order: acquire entry.message_begin_ns - the end must not be reported before the message is closed */
    bool is_open = sbx_load_acquire(&thread->entry->message_begin_ns) == told->begin_ns;
    if (is_open && thread->entry->message == told->message) {
        return 0;
    }
    uint64_t end_ns = sbx_load_acquire(&thread->loop.anr_end_ns); /* order: acquire loop.anr_end_ns */
    return thread->loop.anr_message == told->message && end_ns != 0 ? end_ns : now_ns;
}

static uint64_t frame_end_ns(const struct sbx_told *told, const struct sbx_thread *thread, uint64_t now_ns)
{
    if (thread == NULL) {
        return thread_end_ns(told, now_ns);
    }
    /* order: acquire frame.entered_ns */
    if (sbx_load_acquire(&thread->frame.entered_ns) == told->begin_ns) {
        return 0;
    }
    /* order: acquire frame.slow_frame - the times are whole; a frame that was judged keeps them until the next one */
    (void)sbx_load_acquire(&thread->frame.slow_frame);
    return thread->frame.slow_begin_ns == told->begin_ns ? thread->frame.slow_end_ns : now_ns;
}

/* A beat ends the silence before it. If a watch rests or was closed, the time is unknown. */
static uint64_t watch_end_ns(const struct sbx_told *told, uint64_t now_ns)
{
    if (told->watch == 0 || told->watch > SBX_WATCHES_MAX) {
        return now_ns;
    }
    const struct sbx_watch_entry *entry = &sbx_the_capture.watches[told->watch - 1];
    uint64_t word = sbx_load_acquire(&entry->word); /* order: acquire watch.word - its fields are whole */
    uint64_t begin_ns = sbx_load_relaxed(&entry->begin_ns);
    bool is_open = sbx_watch_state_of(word) == SBX_WATCH_OPEN && entry->kind == SBX_WATCH_WATCHDOG;
    if (!is_open) {
        return now_ns;
    }
    if (begin_ns == told->begin_ns) {
        return 0;
    }
    uint64_t end_ns = sbx_load_relaxed(&entry->end_ns);
    return sbx_load_relaxed(&entry->told_begin_ns) == told->begin_ns && end_ns != 0 ? end_ns : begin_ns;
}

/* Any thread may end a deadline late. The watch thread gives the entry back later, at the look that finds its end no
 * longer awaited. */
static uint64_t deadline_end_ns(const struct sbx_told *told, uint64_t now_ns)
{
    if (told->watch == 0 || told->watch > SBX_WATCHES_MAX) {
        return now_ns;
    }
    const struct sbx_watch_entry *entry = &sbx_the_capture.watches[told->watch - 1];
    /* order: acquire watch.word - its fields are whole */
    enum sbx_watch_state state = sbx_watch_state_of(sbx_load_acquire(&entry->word));
    if (entry->kind != SBX_WATCH_DEADLINE || sbx_load_relaxed(&entry->begin_ns) != told->begin_ns) {
        return now_ns;
    }
    if (state == SBX_WATCH_OPEN || state == SBX_WATCH_TOLD) {
        return 0;
    }
    uint64_t end_ns = sbx_load_relaxed(&entry->end_ns);
    return state == SBX_WATCH_LATE && end_ns != 0 ? end_ns : now_ns;
}

static uint64_t end_ns_of(const struct sbx_told *told, uint64_t now_ns)
{
    if (told->kind == SBX_TRIGGER_DEADLINE) {
        return deadline_end_ns(told, now_ns);
    }
    if (told->thread >= SBX_THREADS_MAX) {
        return now_ns; /* no thread is known that could end it */
    }
    const struct sbx_thread *thread = sbx_thread_at(told->thread);
    switch (told->kind) {
    case SBX_TRIGGER_ANR:
        return message_end_ns(told, thread, now_ns);
    case SBX_TRIGGER_SLOW_FRAME:
        return frame_end_ns(told, thread, now_ns);
    default:
        return watch_end_ns(told, now_ns);
    }
}

static void look(enum sbx_stall_end otherwise, uint64_t now_ns)
{
    for (uint32_t i = 0; i < SBX_TOLD_MAX; i++) {
        struct sbx_told *told = sbx_told_at(i);
        uint64_t end_ns = told->state == SBX_TOLD_STANDS ? end_ns_of(told, now_ns) : 0;
        if (end_ns != 0) {
            sbx_told_end(told, SBX_END_ANSWERED, end_ns < now_ns ? end_ns : now_ns);
        } else if (told->state == SBX_TOLD_STANDS && otherwise != SBX_END_NONE) {
            sbx_told_end(told, otherwise, now_ns);
        }
        if (told->state == SBX_TOLD_ENDED && !sbx_snapshot_maker_is_busy()) {
            struct sbx_trigger_entry trigger = sbx_told_trigger(told);
            if (sbx_snapshot_maker_end(&trigger) == -EBUSY) {
                return; /* the stall stays in the table */
            }
        }
    }
}

void sbx_stall_ends_look(uint64_t now_ns)
{
    look(SBX_END_NONE, now_ns);
}

void sbx_stall_ends_close(enum sbx_stall_end how, uint64_t now_ns)
{
    look(how, now_ns);
}
