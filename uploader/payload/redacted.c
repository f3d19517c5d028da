/* SPDX-License-Identifier: Apache-2.0 */
/* redacted.c - decides which records and threads stay, and converts their numbers.
 *
 * Every number that could identify the time, machine or process is made relative to something in the payload. Times are
 * relative to the trigger. CPU time and allocation counters are relative to the first record of their thread, messages
 * to the oldest of their thread. Threads and objects are numbered in order. */
#include "redacted.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "name_tables.h"
#include "redacted_records.h"
#include "redaction_work.h"

enum {
    WATCH_TIMEOUT_MAX_MS = 86400000, /* as in agent/stalls/watch_table.h and in the table of fields */
    AFTER_MAX_MS = 86400000,
    SBX_BURST_FRAMES_MAX = 32,
};

/* ---- which records ---- */

/* Do the rules allow a record to leave? It must have ended within the history and begun before the trigger, or have
 * been taken because of the trigger. Records that were requested for the time after the trigger leave, too. If the
 * process died, the trigger's end is its last noted sign of life, and later records are evidence, too. */
static bool is_in_time(const struct sbx_redaction_work *work, const struct sbx_record *record)
{
    if (record->thread >= work->snapshot->thread_count) {
        return false;
    }
    if (record->kind == SBX_RECORD_HOP && record->begin_ns <= work->now_ns) {
        return true; /* its task or thread may still run; an older begin is shown as the history's */
    }
    uint64_t history_ns = (uint64_t)work->redaction->history_ms * 1000000u;
    uint64_t oldest_ns = work->now_ns > history_ns ? work->now_ns - history_ns : 0;
    if ((record->flags & SBX_FLAG_AT_TRIGGER) != 0 && record->end_ns >= oldest_ns) {
        return true; /* an older one belongs to an earlier trigger */
    }
    uint64_t newest_ns = work->now_ns + (uint64_t)work->snapshot->header.trigger.after_ms * 1000000u;
    return record->end_ns >= oldest_ns && (record->begin_ns <= newest_ns || sbx_redaction_died(work->snapshot));
}

static void choose_records(struct sbx_redaction_work *work, size_t records_max)
{
    const struct sbx_snapshot *snapshot = work->snapshot;
    size_t kept = 0, newest = 0;
    for (size_t i = snapshot->record_count; i > 0; i--) { /* newest first: without room, the oldest are dropped */
        const struct sbx_record *record = &snapshot->records[i - 1];
        if (!is_in_time(work, record)) {
            continue;
        }
        bool at_trigger = (record->flags & SBX_FLAG_AT_TRIGGER) != 0;
        if (!at_trigger && newest == records_max) {
            continue;
        }
        newest += !at_trigger;
        work->kept[i - 1] = true;
        kept++;
    }
    work->redacted->record_count = kept;
    work->redacted->redactions.records_cut = (uint32_t)sbx_redaction_bounded(snapshot->record_count - kept);
}

/* ---- threads ---- */

static bool is_main_thread(const struct sbx_snapshot *snapshot, uint32_t thread)
{
    const struct sbx_snapshot_thread *it = &snapshot->threads[thread];
    return (it->entry.flags & SBX_THREAD_FLAG_MAIN) != 0 || it->index == snapshot->header.main_thread;
}

static void give_ordinal(struct sbx_redaction_work *work, uint32_t thread)
{
    if (work->ordinal[thread] == SBX_THREAD_NOT_KEPT) {
        work->ordinal[thread] = work->redacted->thread_count;
        work->thread_of[work->redacted->thread_count++] = thread;
    }
}

/* The main thread first, then the threads that are alive or have a record, in the order of the recording. A dead thread
 * without a record is left out, unless another thread waited for it. */
static void choose_threads(struct sbx_redaction_work *work)
{
    const struct sbx_snapshot *snapshot = work->snapshot;
    for (uint32_t i = 0; i < snapshot->thread_count; i++) {
        work->ordinal[i] = SBX_THREAD_NOT_KEPT;
    }
    for (uint32_t i = 0; i < snapshot->thread_count; i++) {
        if (is_main_thread(snapshot, i)) {
            give_ordinal(work, i);
            break;
        }
    }
    for (uint32_t i = 0; i < snapshot->thread_count; i++) {
        if (snapshot->threads[i].entry.state == SBX_THREAD_LIVE ||
            snapshot->threads[i].index == snapshot->header.trigger.thread) {
            give_ordinal(work, i);
        }
    }
    for (size_t i = 0; i < snapshot->record_count; i++) {
        uint32_t peer = 0;
        if (!work->kept[i]) {
            continue;
        }
        give_ordinal(work, snapshot->records[i].thread);
        if (sbx_redaction_find_tid(snapshot, snapshot->records[i].peer, &peer)) {
            give_ordinal(work, peer);
        }
    }
}

static int fill_thread(struct sbx_redaction_work *work, uint32_t ordinal)
{
    const struct sbx_snapshot *snapshot = work->snapshot;
    uint32_t index = work->thread_of[ordinal];
    const struct sbx_thread_entry *entry = &snapshot->threads[index].entry;
    struct sbx_redacted_thread *thread = &work->redacted->threads[ordinal];
    bool is_main = is_main_thread(snapshot, index);
    bool ended = entry->state == SBX_THREAD_DEAD && entry->died_ns <= work->now_ns && entry->away_ns == 0;
    bool leads = is_main || snapshot->threads[index].leads_process;
    thread->name = leads ? 1 : sbx_thread_name_index(entry->name);
    thread->process = snapshot->threads[index].process;
    if (thread->name == 0 && entry->name[0] != '\0') {
        work->redacted->redactions.thread_names_hidden++;
    }
    thread->flags = (is_main ? (uint32_t)SBX_THREAD_FLAG_MAIN : 0) | (entry->flags & SBX_THREAD_FLAG_LOOP) |
                    (ended ? (uint32_t)SBX_THREAD_FLAG_ENDED : 0);
    /* A call that began after the trigger is not the call in which the thread was when the trigger fired. */
    if (entry->call_kind != 0 && !ended && (entry->call_begin_ns <= work->now_ns || sbx_redaction_died(snapshot))) {
        thread->call_kind = entry->call_kind < SBX_RECORD_KINDS ? entry->call_kind : 0;
        thread->call_op = entry->call_op < SBX_OP_MAX ? entry->call_op : 0;
        thread->call_us =
            entry->call_begin_ns < work->now_ns ? sbx_redaction_longest_us(work->now_ns - entry->call_begin_ns) : 0;
        thread->call_peer = sbx_redaction_peer(work, entry->call_peer);
        int result = sbx_redaction_object(work, entry->call_object, &thread->call_object);
        if (result != 0) {
            return result;
        }
    }
    if (entry->last_stack == SBX_STACK_OVERFLOW) {
        return 0;
    }
    return sbx_callstack_forest_put(&work->forest, entry->last_stack, &thread->last_stack);
}

/* ---- watches and deadlines ---- */

/* The threads with watches or deadlines are kept. */
static void choose_threads_of_watches(struct sbx_redaction_work *work)
{
    const struct sbx_snapshot *snapshot = work->snapshot;
    for (uint32_t i = 0; i < snapshot->watch_count; i++) {
        if (snapshot->watches[i].thread < snapshot->thread_count) {
            give_ordinal(work, snapshot->watches[i].thread);
        }
    }
}

/* Of a name, only its hash leaves, shortened so that it cannot be confused with an address. A watch that began after
 * the trigger is left out. */
static int fill_watches(struct sbx_redaction_work *work)
{
    const struct sbx_snapshot *snapshot = work->snapshot;
    struct sbx_redacted *redacted = work->redacted;
    redacted->watches = calloc((size_t)snapshot->watch_count + 1, sizeof *redacted->watches);
    if (redacted->watches == NULL) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < snapshot->watch_count; i++) {
        const struct sbx_watch_entry *watch = &snapshot->watches[i];
        bool is_triggers = snapshot->header.trigger.watch == i + 1;
        if (watch->opened_ns > work->now_ns && !is_triggers) {
            continue;
        }
        /* A beat after the trigger, while recording went on, is not the beat that triggered. */
        uint64_t begin_ns = is_triggers ? snapshot->header.trigger.begin_ns : watch->begin_ns;
        uint32_t thread = watch->thread < snapshot->thread_count ? work->ordinal[watch->thread] : SBX_THREAD_NOT_KEPT;
        redacted->watches[redacted->watch_count++] = (struct sbx_redacted_watch){
            .kind = watch->kind,
            .state = sbx_watch_state_of(watch->word),
            .thread = thread != SBX_THREAD_NOT_KEPT ? thread + 1 : 0,
            .what = watch->what & SBX_NUMBER_MAX,
            .timeout_ms = watch->timeout_ms < WATCH_TIMEOUT_MAX_MS ? watch->timeout_ms : WATCH_TIMEOUT_MAX_MS,
            .age_us = begin_ns < work->now_ns ? sbx_redaction_longest_us(work->now_ns - begin_ns) : 0,
        };
        redacted->trigger.watch = is_triggers ? redacted->watch_count : redacted->trigger.watch;
    }
    return 0;
}

/* ---- queues ---- */

/* The numbers of queued and begun tasks cover the last seconds only. Totals would show how long the process has run. */
static int fill_queues(struct sbx_redaction_work *work)
{
    const struct sbx_snapshot *snapshot = work->snapshot;
    struct sbx_redacted *redacted = work->redacted;
    const uint32_t now = (uint32_t)(work->now_ns >> SBX_QUEUE_WINDOW_SHIFT);
    const uint32_t window_ms = (uint32_t)((UINT64_C(1) << SBX_QUEUE_WINDOW_SHIFT) / 1000000u);
    redacted->queues = calloc((size_t)snapshot->queue_count + 1, sizeof *redacted->queues);
    if (redacted->queues == NULL) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < snapshot->queue_count; i++) {
        const struct sbx_queue_entry *queue = &snapshot->queues[i];
        struct sbx_redacted_queue row = {.op = queue->op};
        uint64_t gone = queue->begun + queue->cancelled;
        row.pending = sbx_redaction_bounded(queue->queued > gone ? queue->queued - gone : 0);
        for (uint32_t k = 0, oldest = 0; k < SBX_QUEUE_WINDOWS;
             k++) { /* the totals have grown since the oldest window began */
            const struct sbx_queue_window *window = &queue->windows[k];
            if (now - window->number < SBX_QUEUE_WINDOWS && now - window->number >= oldest) {
                oldest = now - window->number;
                row.queued = (uint32_t)queue->queued - window->queued;
                row.begun = (uint32_t)queue->begun - window->begun;
                row.window_ms = SBX_QUEUE_WINDOWS * window_ms;
            }
        }
        if (row.pending == 0 && row.window_ms == 0) {
            continue;
        }
        int result = sbx_redaction_object(work, queue->queue, &row.object);
        if (result != 0) {
            return result;
        }
        redacted->queues[redacted->queue_count++] = row;
    }
    return 0;
}

/* ---- the rest ---- */

static void fill_trigger(struct sbx_redaction_work *work)
{
    const struct sbx_trigger_entry *trigger = &work->snapshot->header.trigger;
    struct sbx_redacted *redacted = work->redacted;
    redacted->trigger.kind = trigger->kind < SBX_TRIGGER_KINDS ? trigger->kind : 0;
    redacted->trigger.threshold_ms = trigger->threshold_ms;
    redacted->trigger.signal = trigger->signal <= SBX_SIGNAL_MAX ? trigger->signal : 0;
    redacted->trigger.fault = trigger->fault < SBX_FAULT_KINDS ? trigger->fault : 0;
    redacted->trigger.in_progress = trigger->in_progress != 0;
    redacted->trigger.ended = trigger->ended < SBX_END_KINDS ? trigger->ended : SBX_END_UNSEEN;
    redacted->trigger.after_ms = trigger->after_ms < AFTER_MAX_MS ? trigger->after_ms : AFTER_MAX_MS;
    redacted->trigger.frames = trigger->frames < SBX_BURST_FRAMES_MAX ? trigger->frames : SBX_BURST_FRAMES_MAX;
    redacted->trigger.message_kind = trigger->message_kind < SBX_MESSAGE_KINDS ? trigger->message_kind : 0;
    redacted->trigger.scene = trigger->scene < SBX_SCENES ? trigger->scene : 0;
    redacted->trigger.duration_us = trigger->begin_ns != 0 && trigger->begin_ns < work->now_ns
                                        ? sbx_redaction_longest_us(work->now_ns - trigger->begin_ns)
                                        : 0;
    for (uint32_t i = 0; i < work->snapshot->thread_count; i++) {
        if (work->snapshot->threads[i].index == trigger->thread && work->ordinal[i] != SBX_THREAD_NOT_KEPT) {
            redacted->trigger.thread = work->ordinal[i];
        }
    }
}

/* How far back the rows reach: to the oldest begin, but not farther than the rules allow. */
static void fill_history(struct sbx_redaction_work *work)
{
    struct sbx_redacted *redacted = work->redacted;
    int64_t oldest_us = 0;
    for (size_t i = 0; i < redacted->record_count; i++) {
        if (redacted->records[i].kind == SBX_RECORD_HOP || redacted->records[i].kind == SBX_RECORD_AWAITED) {
            continue; /* a timer may be an hour old; and awaiting functions do not run */
        }
        int64_t begin_us = redacted->records[i].end_us - (int64_t)redacted->records[i].duration_us;
        oldest_us = begin_us < oldest_us ? begin_us : oldest_us;
    }
    uint64_t limit_us = (uint64_t)work->redaction->history_ms * 1000u;
    redacted->trigger.history_us = (uint64_t)-oldest_us < limit_us ? (uint64_t)-oldest_us : limit_us;
}

/* Process ids, by which the machine knows the processes, do not leave. */
static int fill_processes(struct sbx_redaction_work *work)
{
    const struct sbx_snapshot *snapshot = work->snapshot;
    struct sbx_redacted *redacted = work->redacted;
    redacted->processes = calloc((size_t)snapshot->process_count + 1, sizeof *redacted->processes);
    if (redacted->processes == NULL) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < snapshot->process_count; i++) {
        const struct sbx_snapshot_process *process = &snapshot->processes[i];
        redacted->processes[i].role = process->role <= SBX_ROLE_WORKER ? process->role : SBX_ROLE_NONE;
        memcpy(redacted->processes[i].session, process->session_id, sizeof process->session_id);
    }
    redacted->process_count = snapshot->process_count;
    return 0;
}

static void fill_age(struct sbx_redaction_work *work)
{
    static const uint64_t bucket_ends_s[] = {60, 600, 3600, 86400};
    const struct sbx_recording_header *header = &work->snapshot->header;
    uint64_t age_s = work->now_ns > header->started_ns ? (work->now_ns - header->started_ns) / 1000000000u : 0;
    uint32_t bucket = 0;
    while (bucket < SBX_COUNT_OF(bucket_ends_s) && age_s >= bucket_ends_s[bucket]) {
        bucket++;
    }
    work->redacted->uptime_bucket = bucket;
    work->redacted->has_rotating_id = work->redaction->has_rotating_id;
    memcpy(work->redacted->rotating_id, work->redaction->rotating_id, sizeof work->redacted->rotating_id);
    work->redacted->created_day = (uint32_t)((header->started_real_s + age_s) / 86400u % 100000u);
}

/* How a stall ended, without threads, records and counts. */
static int redact_end(struct sbx_redaction_work *work)
{
    fill_trigger(work);
    fill_age(work);
    work->redacted->uptime_bucket = 0; /* it is in the payload of the stall */
    return sbx_callstack_forest_write(&work->forest, work->redacted);
}

static int redact(struct sbx_redaction_work *work, size_t records_max)
{
    const struct sbx_snapshot *snapshot = work->snapshot;
    struct sbx_redacted *redacted = work->redacted;
    for (uint32_t i = 0; i < snapshot->module_count; i++) {
        work->verdicts[i] =
            (uint8_t)sbx_redact_module(work->redaction, &snapshot->modules[i], snapshot->header.executable_path);
    }
    sbx_callstack_forest_init(&work->forest, snapshot, work->verdicts);
    if (snapshot->header.trigger.kind == SBX_TRIGGER_END) {
        for (uint32_t i = 0; i < snapshot->thread_count; i++) {
            work->ordinal[i] = SBX_THREAD_NOT_KEPT;
        }
        return redact_end(work);
    }
    choose_records(work, records_max);
    choose_threads(work);
    choose_threads_of_watches(work);
    fill_trigger(work);
    fill_age(work);
    redacted->records = calloc(redacted->record_count + 1, sizeof *redacted->records);
    redacted->threads = calloc((size_t)redacted->thread_count + 1, sizeof *redacted->threads);
    if (redacted->records == NULL || redacted->threads == NULL) {
        return -ENOMEM;
    }
    int result = sbx_redacted_fill_records(work);
    if (result == 0) {
        result = fill_processes(work);
    }
    if (result == 0) {
        result = fill_watches(work);
    }
    if (result == 0) {
        result = fill_queues(work);
    }
    for (uint32_t i = 0; i < redacted->thread_count && result == 0; i++) {
        result = fill_thread(work, i);
    }
    if (result == 0) {
        result = sbx_callstack_forest_write(&work->forest, redacted);
    }
    if (result != 0) {
        return result;
    }
    for (size_t i = 0; i < redacted->record_count; i++) {
        if (redacted->records[i].stack == UINT32_MAX) {
            redacted->records[i].stack = redacted->callstack_count + 1;
        }
    }
    fill_history(work);
    redacted->redactions.objects_renumbered = work->objects.count;
    for (int i = 0; i < SBX_DROP_COUNT; i++) {
        redacted->drops[i] = sbx_redaction_bounded(snapshot->drops[i]);
    }
    return 0;
}

int sbx_redacted_create(const struct sbx_snapshot *snapshot, const struct sbx_redaction *redaction, size_t records_max,
                        struct sbx_redacted **redacted_out)
{
    if (redaction->detail_level == 0) {
        return -EPERM;
    }
    struct sbx_redaction_work work = {.snapshot = snapshot, .redaction = redaction};
    work.now_ns = snapshot->header.trigger.end_ns != 0 ? snapshot->header.trigger.end_ns : snapshot->header.snapshot_ns;
    work.redacted = calloc(1, sizeof *work.redacted);
    work.kept = calloc(snapshot->record_count + 1, sizeof *work.kept);
    work.ordinal = calloc((size_t)snapshot->thread_count + 1, sizeof *work.ordinal);
    work.thread_of = calloc((size_t)snapshot->thread_count + 1, sizeof *work.thread_of);
    work.verdicts = calloc((size_t)snapshot->module_count + 1, sizeof *work.verdicts);
    int result = -ENOMEM;
    if (work.redacted != NULL && work.kept != NULL && work.ordinal != NULL && work.thread_of != NULL &&
        work.verdicts != NULL) {
        result = redact(&work, records_max);
    }
    sbx_callstack_forest_finish(&work.forest);
    sbx_ordinal_map_finish(&work.objects);
    sbx_ordinal_map_finish(&work.waits);
    free(work.kept);
    free(work.ordinal);
    free(work.thread_of);
    free(work.verdicts);
    if (result != 0) {
        sbx_redacted_destroy(work.redacted);
        return result;
    }
    *redacted_out = work.redacted;
    return 0;
}

void sbx_redacted_destroy(struct sbx_redacted *redacted)
{
    if (redacted == NULL) {
        return;
    }
    free(redacted->modules);
    free(redacted->threads);
    free(redacted->processes);
    free(redacted->frames);
    free(redacted->functions);
    free(redacted->callstacks);
    free(redacted->records);
    free(redacted->watches);
    free(redacted->queues);
    free(redacted);
}
