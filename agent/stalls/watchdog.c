/* SPDX-License-Identifier: Apache-2.0 */
/* watchdog.c - judges how long messages, frames, watches and deadlines of all threads have been open. */
#include "watchdog.h"

#include "message.h"
#include "message_loop.h"
#include "process_state.h"
#include "snapshot_maker.h"
#include "stall_ends.h"
#include "the_agent.h"
#include "the_capture.h"
#include "thread_block.h"
#include "thread_registry.h"
#include "told_stalls.h"
#include "tracer.h"
#include "watch_table.h"

/* A message that has been open so long, and longer than its limit and some time more, without firing is not close to a
 * stall any more. */
#define STANDING_NS     UINT64_C(60000000000)
#define GRACE_NS        UINT64_C(1000000000)
#define TRACER_EVERY_NS UINT64_C(100000000) /* how often we check for a debugger while an item is over its limit */

enum {
    NEAR_MESSAGE_GAPS = 2, /* a message that is open for so many gaps is close to being slow */
    LIMIT_MAX_MS = 600000, /* the longest limit that may be set */
    NEAR_SHARE = 8,        /* a watch or deadline is close when it has used this part (1/8) of its time */
};

/* The input and the findings of one look. */
struct look {
    const struct sbx_capture_settings *settings;
    const struct sbx_gaps *gaps;
    uint64_t now_ns;
    bool is_near; /* found: an item is close to being a stall */
    bool stands;  /* found: a stall that has been judged goes on */
    /* the message to be noted: the one that has been open longest */
    const struct sbx_thread *noted;
    uint64_t noted_message, noted_begin_ns;
    uint32_t noted_kind;
};

/* By index: the beat, or the begin, for which a watch or deadline has fired, so that each silence is reported once.
 * Watch thread only. */
static uint64_t fired_begin_ns[SBX_WATCHES_MAX];

static uint32_t seen_news;  /* of sbx_the_capture.news */
static bool has_left_news;  /* an item ended during our look: the next look judges it */
static bool is_standing_by; /* at the last look a stall stood, and nothing else needed close looks */
SBX_OF_ONE_PROCESS(fired_begin_ns);
SBX_OF_ONE_PROCESS(seen_news);
SBX_OF_ONE_PROCESS(has_left_news);
SBX_OF_ONE_PROCESS(is_standing_by);

/* The blocks of threads lie far apart, so they are not searched for a feature that no thread uses. */
static bool has_frames(void)
{
    return sbx_load_seq_cst(&sbx_the_capture.has_frames) != 0;
}

/* The block of an entry, whether its thread is alive or not: what the thread reported before its end is still
 * judged. */
static struct sbx_thread *block_at(uint32_t index)
{
    return sbx_load_acquire(&sbx_thread_blocks[index]); /* order: acquire block */
}

static struct sbx_open_view view_of(const struct sbx_gaps *gaps, uint64_t begin_ns, uint64_t now_ns, bool has_fired)
{
    return (struct sbx_open_view){.now_ns = now_ns,
                                  .begin_ns = begin_ns,
                                  .late_ns = sbx_gaps_between(gaps, begin_ns, now_ns),
                                  .has_fired = has_fired};
}

/* Did it end after this look began? The whole process may have been stopped in the middle of the look. The gap of such
 * a stop is only known to the next look. */
static bool is_for_the_next(const struct look *look, uint64_t end_ns)
{
    has_left_news |= end_ns > look->now_ns;
    return end_ns > look->now_ns;
}

/* Was a debugger attached while this was open? A debugger stops threads as long as its user thinks, and that is no
 * stall. This is checked only for items over a limit. Items that begin after the debugger has gone are judged again. */
static bool was_traced(uint64_t begin_ns, uint64_t now_ns)
{
    static uint64_t traced_ns, asked_ns; /* when a tracer was seen, and when we checked last */
    if (begin_ns > traced_ns && now_ns - asked_ns >= TRACER_EVERY_NS) {
        asked_ns = now_ns;
        traced_ns = sbx_tracer_is_attached() ? now_ns : traced_ns;
    }
    return begin_ns <= traced_ns;
}

/* Is it over its limit, and is the program itself the cause? */
static bool is_over(const struct sbx_open_view *view, uint32_t limit_ms, uint64_t now_ns)
{
    return sbx_is_over(view, limit_ms) && !was_traced(view->begin_ns, now_ns);
}

/* ---- the note ---- */

void sbx_watchdog_withdraw_note(void)
{
    if (sbx_the_capture.header->note.open != 0) {
        sbx_store_release(&sbx_the_capture.header->note.open, 0); /* order: release note.open */
    }
}

static void leave_note(const struct look *look)
{
    struct sbx_note *note = &sbx_the_capture.header->note;
    if (look->noted == NULL) {
        sbx_watchdog_withdraw_note();
        return;
    }
    if (note->open != 0 && note->message == look->noted_message && note->thread == look->noted->index) {
        return;
    }
    sbx_store_release(&note->open, 0); /* order: release note.open - a reader after a kill finds only complete notes */
    note->thread = look->noted->index;
    note->message = look->noted_message;
    note->message_kind = look->noted_kind;
    note->scene = sbx_load_relaxed(&sbx_the_agent.scene);
    note->begin_ns = look->noted_begin_ns;
    sbx_store_release(&note->open, 1); /* order: release note.open */
}

/* ---- messages ---- */

/* Judges the message that just ended as slow, unless the process was stopped meanwhile, or the message fired as `anr`
 * already. */
static void judge_slow_message(const struct look *look, struct sbx_thread *thread)
{
    struct sbx_message_loop *loop = &thread->loop;
    uint64_t message = sbx_load_acquire(&loop->slow_message); /* order: acquire loop.slow_message */
    if (message == 0 || is_for_the_next(look, loop->slow_end_ns)) {
        return;
    }
    struct sbx_open_view view =
        view_of(look->gaps, loop->slow_begin_ns, loop->slow_end_ns, loop->anr_message == message);
    uint32_t limit_ms = look->settings->slow_message_ms;
    struct sbx_trigger_entry trigger = {.kind = SBX_TRIGGER_SLOW_MESSAGE,
                                        .thread = thread->index,
                                        .begin_ns = view.begin_ns,
                                        .end_ns = view.now_ns,
                                        .message = message,
                                        .message_kind = loop->slow_kind,
                                        .threshold_ms = limit_ms};
    sbx_store_release(&loop->slow_message, 0); /* order: release loop.slow_message - may report the next */
    if (is_over(&view, limit_ms, look->now_ns)) {
        sbx_snapshot_maker_fire(&trigger, look->settings, look->now_ns);
    }
}

/* Has the message been judged, or been open so long that it is not judged any more? Then only its end is left to be
 * seen, and its thread will report that. */
static bool stands(const struct look *look, const struct sbx_thread *thread, uint64_t message, uint64_t begin_ns)
{
    bool is_judged = look->settings->anr_ms <= LIMIT_MAX_MS; /* 0, and values above the longest limit: never */
    uint64_t limit_ns = is_judged ? (uint64_t)look->settings->anr_ms * 1000000u + GRACE_NS : 0;
    limit_ns = limit_ns > STANDING_NS ? limit_ns : STANDING_NS;
    return thread->loop.anr_message == message || look->now_ns - begin_ns >= limit_ns;
}

/* Judges the message that is open now. */
static void judge_open_message(struct look *look, struct sbx_thread *thread)
{
    uint64_t begin_ns = sbx_load_acquire(&thread->entry->message_begin_ns); /* order: acquire entry.message_begin_ns */
    uint64_t message = thread->entry->message;
    uint32_t kind = sbx_load_relaxed(&thread->loop.kind);
    if (begin_ns == 0 || look->now_ns <= begin_ns || sbx_message_is_unseen(thread)) {
        return;
    }
    if (stands(look, thread, message, begin_ns)) {
        thread->loop.standing = message;
        look->stands = true;
    } else {
        look->is_near |= look->now_ns - begin_ns >= (uint64_t)look->settings->gap_us * 1000u * NEAR_MESSAGE_GAPS;
    }
    struct sbx_open_view view = view_of(look->gaps, begin_ns, look->now_ns, false);
    bool is_long = sbx_is_over(&view, look->settings->note_ms) || sbx_is_over(&view, look->settings->anr_ms);
    if (is_long && (sbx_message_loop_was_left(thread) || sbx_message_is_paced(thread, look->now_ns))) {
        return; /* time after a loop is no message; nor is a message whose pace is set from elsewhere */
    }
    view.late_ns += is_long ? sbx_message_awaited_ns(thread, look->now_ns) : 0;
    if (is_over(&view, look->settings->note_ms, look->now_ns) &&
        (look->noted == NULL || begin_ns < look->noted_begin_ns)) {
        look->noted = thread;
        look->noted_message = message;
        look->noted_kind = kind;
        look->noted_begin_ns = begin_ns;
    }
    view.has_fired = thread->loop.anr_message == message;
    if (is_long && sbx_message_may_have_turned(thread, look->now_ns, (uint64_t)look->settings->anr_ms * 1000000u)) {
        return;
    }
    if (is_over(&view, look->settings->anr_ms, look->now_ns)) {
        struct sbx_trigger_entry trigger = {.kind = SBX_TRIGGER_ANR,
                                            .thread = thread->index,
                                            .begin_ns = begin_ns,
                                            .end_ns = look->now_ns,
                                            .message = message,
                                            .message_kind = kind,
                                            .threshold_ms = look->settings->anr_ms,
                                            .in_progress = 1};
        sbx_store_relaxed(&thread->loop.anr_end_ns, 0);
        /* order: release loop.anr_message - one report a message; an end that is reported from now on belongs to it */
        sbx_store_release(&thread->loop.anr_message, message);
        sbx_snapshot_maker_fire(&trigger, look->settings, look->now_ns);
    }
}

/* ---- frames ---- */

/* Judges a slow frame, or a burst of dropped frames, that just ended. */
static void judge_slow_frame(const struct look *look, struct sbx_thread *thread)
{
    struct sbx_frame_pace *pace = &thread->frame;
    /* order: acquire frame.slow_frame */
    if (sbx_load_acquire(&pace->slow_frame) == 0 || is_for_the_next(look, pace->slow_end_ns)) {
        return;
    }
    uint32_t dropped = pace->slow_dropped, limit_ms = look->settings->slow_frame_ms;
    struct sbx_open_view view =
        view_of(look->gaps, pace->slow_begin_ns, pace->slow_end_ns, pace->slow_begin_ns == pace->hung_ns);
    struct sbx_trigger_entry trigger = {.kind = SBX_TRIGGER_SLOW_FRAME,
                                        .thread = thread->index,
                                        .begin_ns = view.begin_ns,
                                        .end_ns = view.now_ns,
                                        .threshold_ms = limit_ms,
                                        .frames = dropped};
    sbx_store_release(&pace->slow_frame, 0); /* order: release frame.slow_frame - the thread may report the next */
    bool fires = dropped != 0 ? limit_ms != 0 && sbx_burst_fires(&view, dropped) : sbx_is_over(&view, limit_ms);
    if (fires && !was_traced(view.begin_ns, look->now_ns)) {
        sbx_snapshot_maker_fire(&trigger, look->settings, look->now_ns);
    }
}

/* A frame that the application began and does not end has hung after the same time as a message. Frames that are only
 * known by their presents are not judged: a program that presents nothing may have nothing to show. */
static void judge_open_frame(struct look *look, struct sbx_thread *thread)
{
    struct sbx_frame_pace *pace = &thread->frame;
    uint64_t begin_ns = sbx_load_acquire(&pace->entered_ns); /* order: acquire frame.entered_ns */
    if (begin_ns == 0 || look->settings->slow_frame_ms == 0) {
        return;
    }
    look->stands |= begin_ns == pace->hung_ns;
    struct sbx_open_view view = view_of(look->gaps, begin_ns, look->now_ns, begin_ns == pace->hung_ns);
    if (is_over(&view, look->settings->anr_ms, look->now_ns)) {
        struct sbx_trigger_entry trigger = {.kind = SBX_TRIGGER_SLOW_FRAME,
                                            .thread = thread->index,
                                            .begin_ns = begin_ns,
                                            .end_ns = look->now_ns,
                                            .threshold_ms = look->settings->anr_ms,
                                            .in_progress = 1,
                                            .frames = 1};
        pace->hung_ns = begin_ns; /* one report for each frame */
        sbx_snapshot_maker_fire(&trigger, look->settings, look->now_ns);
    }
}

/* ---- watches and deadlines ---- */

/* The thread of the entry: the one that began it or beat last, while it is alive. */
static struct sbx_thread *thread_of(const struct sbx_watch_entry *entry)
{
    uint32_t index = sbx_load_relaxed(&entry->thread);
    struct sbx_thread *thread = index < SBX_THREADS_MAX ? sbx_thread_at(index) : NULL;
    return thread != NULL && thread->generation == sbx_load_relaxed(&entry->thread_generation) ? thread : NULL;
}

static bool is_pledged(uint64_t word)
{
    enum sbx_watch_state state = sbx_watch_state_of(word);
    return state == SBX_WATCH_OPEN || state == SBX_WATCH_LATE;
}

static void judge_watch(struct look *look, uint32_t index)
{
    struct sbx_watch_entry *entry = &sbx_the_capture.watches[index];
    uint64_t word = sbx_load_acquire(&entry->word); /* order: acquire watch.word - its fields are whole */
    bool is_told = sbx_told_is_watch(index + 1, sbx_load_relaxed(&entry->begin_ns));
    if (sbx_watch_state_of(word) == SBX_WATCH_TOLD && !is_told) {
        sbx_watch_take_away(index, word); /* its end was reported, or will never be */
        return;
    }
    if (!is_pledged(word)) {
        return;
    }
    bool is_watch = entry->kind == SBX_WATCH_WATCHDOG, is_late = sbx_watch_state_of(word) == SBX_WATCH_LATE;
    if (is_late && is_for_the_next(look, entry->end_ns)) {
        return;
    }
    const struct sbx_thread *thread = thread_of(entry);
    if (is_watch && thread == NULL && sbx_load_relaxed(&entry->thread) != UINT32_MAX) {
        sbx_watch_take_away(index, word); /* a thread that ended does not hang */
        return;
    }
    uint64_t begin_ns = sbx_load_relaxed(&entry->begin_ns), end_ns = is_late ? entry->end_ns : look->now_ns;
    struct sbx_open_view view = view_of(look->gaps, begin_ns, end_ns, fired_begin_ns[index] == begin_ns);
    look->is_near |= !view.has_fired && sbx_is_over(&view, entry->timeout_ms / NEAR_SHARE);
    bool has_run_out = sbx_is_over(&view, entry->timeout_ms);
    if (has_run_out && was_traced(begin_ns, look->now_ns)) {
        fired_begin_ns[index] = begin_ns; /* excused for good: the watch thread must not wake for it again */
        has_run_out = false;
    }
    if (!has_run_out && !is_watch && (is_late || view.has_fired) && !sbx_snapshot_maker_is_busy()) {
        if (!is_told) { /* missed once, and in a snapshot; or late because the process was stopped */
            sbx_watch_take_away(index, word);
        } else if (!is_late) {
            (void)sbx_watch_set_told(index, word);
        }
    }
    if (!has_run_out || sbx_load_acquire(&entry->word) != word) { /* order: acquire watch.word - still the same */
        return;
    }
    struct sbx_trigger_entry trigger = {.kind = is_watch ? SBX_TRIGGER_WATCHDOG : SBX_TRIGGER_DEADLINE,
                                        .begin_ns = begin_ns,
                                        .end_ns = end_ns,
                                        .threshold_ms = entry->timeout_ms,
                                        .in_progress = !is_late,
                                        .watch = index + 1};
    thread = thread != NULL ? thread : sbx_thread_main();
    if (thread != NULL) {
        trigger.thread = thread->index;
        /* order: acquire entry.message_begin_ns */
        trigger.message = sbx_load_acquire(&thread->entry->message_begin_ns) != 0 ? thread->entry->message : 0;
    }
    fired_begin_ns[index] = begin_ns;
    if (is_watch) {
        sbx_store_relaxed(&entry->told_begin_ns, begin_ns); /* relaxed: the beat that ends the silence rings the bell */
    }
    sbx_snapshot_maker_fire(&trigger, look->settings, look->now_ns);
}

/* Is no watch or deadline begun? When this is read after a store of wake_ns, the answer holds until the bell: a thread
 * that begins one later reads wake_ns and rings. */
static bool has_none(void)
{
    return sbx_load_seq_cst(&sbx_the_capture.header->watch_count) == 0; /* order: acquire header.watch_count */
}

static void judge_watches(struct look *look)
{
    if (has_none()) {
        return;
    }
    for (uint32_t i = 0; i < SBX_WATCHES_MAX; i++) {
        judge_watch(look, i);
    }
}

uint64_t sbx_watchdog_due_ns(const struct sbx_gaps *gaps)
{
    uint64_t due_ns = UINT64_MAX;
    for (uint32_t i = 0; i < SBX_WATCHES_MAX && !has_none(); i++) {
        const struct sbx_watch_entry *entry = &sbx_the_capture.watches[i];
        /* order: seq_cst watch.word - Dekker with wake_ns: after the caller's store of it */
        uint64_t word = sbx_load_seq_cst(&entry->word);
        if (!is_pledged(word)) {
            continue;
        }
        uint64_t begin_ns = sbx_load_relaxed(&entry->begin_ns);
        struct sbx_open_view view = view_of(gaps, begin_ns, UINT64_MAX, false); /* gaps since then delay it */
        view.has_fired = fired_begin_ns[i] == begin_ns;
        uint64_t at_ns = sbx_is_over_at_ns(&view, entry->timeout_ms);
        due_ns = at_ns < due_ns ? at_ns : due_ns;
    }
    return due_ns;
}

/* ---- all of it ---- */

bool sbx_watchdog_look(const struct sbx_capture_settings *settings, const struct sbx_gaps *gaps, uint64_t now_ns)
{
    struct look look = {.settings = settings, .gaps = gaps, .now_ns = now_ns};
    uint32_t count = sbx_thread_count();
    uint32_t news = sbx_load_acquire(&sbx_the_capture.news); /* order: acquire capture.news - the boxes are filled */
    bool has_news = news != seen_news || has_left_news;
    has_left_news = false;
    for (uint32_t i = 0; i < count && has_news; i++) {
        struct sbx_thread *thread = block_at(i);
        if (thread != NULL) {
            judge_slow_message(&look, thread);
            judge_slow_frame(&look, thread);
        }
    }
    seen_news = news;
    for (uint32_t i = 0; i < count; i++) {
        struct sbx_thread *thread = sbx_thread_at(i);
        if (thread != NULL) {
            judge_open_message(&look, thread);
            if (has_frames()) {
                judge_open_frame(&look, thread);
            }
        }
    }
    leave_note(&look);
    judge_watches(&look);
    sbx_stall_ends_look(now_ns);
    is_standing_by = look.stands && !look.is_near && !has_left_news;
    return look.is_near || has_left_news || (has_frames() && !look.stands);
}

bool sbx_watchdog_stands_by(void)
{
    return is_standing_by && !sbx_snapshot_maker_is_busy() && !sbx_watchdog_is_armed();
}

void sbx_watchdog_look_at_watches(const struct sbx_capture_settings *settings, const struct sbx_gaps *gaps,
                                  uint64_t now_ns)
{
    struct look look = {.settings = settings, .gaps = gaps, .now_ns = now_ns};
    judge_watches(&look);
}

/* Is a message open that is not known to stand? */
static bool has_open_message(const struct sbx_thread *thread)
{
    return sbx_load_seq_cst(&thread->entry->message_begin_ns) != 0 && !sbx_message_is_unseen(thread) &&
           thread->loop.standing != sbx_load_relaxed(&thread->entry->message);
}

static bool has_open_frame(const struct sbx_thread *thread)
{
    uint64_t begin_ns = has_frames() ? sbx_load_seq_cst(&thread->frame.entered_ns) : 0;
    return begin_ns != 0 && begin_ns != thread->frame.hung_ns;
}

bool sbx_watchdog_is_armed(void)
{
    uint32_t count = sbx_thread_count();
    for (uint32_t i = 0; i < count && !has_left_news; i++) {
        const struct sbx_thread *thread = sbx_thread_at(i);
        if (thread != NULL && (has_open_message(thread) || has_open_frame(thread))) {
            return true;
        }
    }
    return has_left_news;
}

bool sbx_watchdog_has_news(void)
{
    uint32_t count = sbx_thread_count();
    for (uint32_t i = 0; i < count; i++) {
        struct sbx_thread *thread = block_at(i);
        if (thread != NULL &&
            (sbx_load_acquire(&thread->loop.slow_message) != 0 || /* order: acquire loop.slow_message */
             sbx_load_acquire(&thread->frame.slow_frame) != 0)) { /* order: acquire frame.slow_frame */
            return true;
        }
    }
    /* relaxed: an entry that is just being opened is not late. Without entries, an exit need not touch eight pages. */
    bool has_watches = sbx_load_relaxed(&sbx_the_capture.header->watch_count) != 0;
    for (uint32_t i = 0; i < SBX_WATCHES_MAX && has_watches; i++) {
        /* order: acquire watch.word */
        if (sbx_watch_state_of(sbx_load_acquire(&sbx_the_capture.watches[i].word)) == SBX_WATCH_LATE) {
            return true;
        }
    }
    return false;
}

void sbx_watchdog_forget(uint64_t now_ns)
{
    uint32_t count = sbx_thread_count();
    has_left_news = is_standing_by = false;
    if (sbx_load_relaxed(&sbx_the_capture.header->consent) == SBX_CONSENT_GRANTED) { /* relaxed: written by us */
        sbx_stall_ends_close(SBX_END_UNSEEN, now_ns);
    } else {
        sbx_told_forget();
    }
    sbx_watchdog_withdraw_note();
    for (uint32_t i = 0; i < count; i++) {
        struct sbx_thread *thread = block_at(i);
        if (thread != NULL) {
            /* An open message would have ended long before recording begins again: a loop must be seen anew to be
             * judged. */
            sbx_store_relaxed(&thread->loop.hits, 0);
            sbx_store_seq_cst(&thread->entry->message_begin_ns, 0);
            sbx_store_seq_cst(&thread->frame.entered_ns, 0);
            sbx_store_release(&thread->loop.slow_message, 0); /* order: release loop.slow_message */
            sbx_store_release(&thread->frame.slow_frame, 0);  /* order: release frame.slow_frame */
        }
    }
    for (uint32_t i = 0; i < SBX_WATCHES_MAX; i++) {
        const struct sbx_watch_entry *entry = &sbx_the_capture.watches[i];
        uint64_t word = sbx_load_acquire(&entry->word); /* order: acquire watch.word */
        if (is_pledged(word) && entry->kind == SBX_WATCH_WATCHDOG) {
            sbx_watch_put_to_rest(i, word); /* its beats count again when recording is on */
        } else if (is_pledged(word)) {
            sbx_watch_take_away(i, word);
        }
    }
}
