/* SPDX-License-Identifier: Apache-2.0 */
/* message.c - where a message begins and ends. */
#include "message.h"

#include "blocking_call.h"
#include "capture_record.h"
#include "loop_turn.h"
#include "process_barrier.h"
#include "the_capture.h"

enum {
    SHORT_MESSAGE_NS = SBX_SHORT_MESSAGE_NS,
    CLIENTS_MESSAGE_NS = 10000000,
};

/* How long the thread has waited for work. A loop may poll from two places, one of which only looks for input (vim). */
static uint64_t waited_ns(const struct sbx_message_loop *loop)
{
    uint64_t sum_ns = loop->rest.loop != NULL ? loop->rest.loop->waited_ns : 0;
    for (uint32_t i = 0; i < SBX_POLL_PLACES; i++) {
        sum_ns += loop->places[i].waited_ns;
    }
    return sum_ns;
}

SBX_HOOK_SAFE bool sbx_message_is_paced(const struct sbx_thread *thread, uint64_t now_ns)
{
    const struct sbx_message_loop *loop = &thread->loop;
    const struct sbx_thread_entry *entry = thread->entry;
    if (!thread->has_loop || loop->is_entered) { /* the application reports its messages itself */
        return false;
    }
    /* Not while a client waits, whatever the thread does meanwhile. The message of a thread without a loop is always a
     * client's. */
    if (loop->site_pc == 0 || sbx_load_relaxed(&loop->question_in) == entry->message) {
        return false;
    }
    struct sbx_pace pace = {.waited_ns = waited_ns(loop),
                            .paused_ns = sbx_load_relaxed(&loop->paused_ns),
                            .messages = loop->hits != 0 ? loop->hits - 1 : 0,
                            .paused = loop->paused,
                            .pauses = loop->pauses};
    /* order: acquire entry.call - the fields of that call or of a later one */
    if (now_ns != 0 && sbx_is_pause(sbx_load_acquire(&entry->call_kind), entry->call_op)) {
        uint64_t begin_ns = entry->call_begin_ns;
        pace.paused_ns += now_ns > begin_ns ? now_ns - begin_ns : 0;
        pace.paused += sbx_load_relaxed(&loop->paused_in) != entry->message;
        pace.pauses = true;
    }
    return sbx_pace_is_its_own(&pace);
}

SBX_HOOK_SAFE bool sbx_message_is_unseen(const struct sbx_thread *thread)
{
    const struct sbx_message_loop *loop = &thread->loop;
    uint64_t since_ns = sbx_load_relaxed(&sbx_the_capture.clients_since_ns); /* relaxed: late by one look */
    if (SBX_LIKELY(since_ns == 0) || loop->is_entered ||
        sbx_load_relaxed(&thread->entry->message_begin_ns) >= since_ns) {
        return false;
    }
    bool is_clients = !thread->has_loop || loop->site_pc == 0;
    for (uint32_t i = 0; i < SBX_POLL_PLACES && !is_clients; i++) {
        is_clients = loop->places[i].accepts;
    }
    return is_clients;
}

/* Put the short messages merged so far. They ended a while ago: the counters are those of that time, and the CPU time
 * was not read then. */
static void flush_merged(struct sbx_thread *thread)
{
    struct sbx_message_loop *loop = &thread->loop;
    const struct sbx_merged_messages *merged = &loop->merged;
    if (merged->count == 0) {
        return;
    }
    const struct sbx_record record = {.kind = SBX_RECORD_MESSAGE,
                                      .op = merged->kind,
                                      .begin_ns = merged->begin_ns,
                                      .end_ns = merged->end_ns,
                                      .thread = thread->index,
                                      .amount = merged->count,
                                      .message = merged->message,
                                      .alloc_count = merged->alloc_count,
                                      .alloc_bytes = merged->alloc_bytes};
    sbx_thread_enter(thread);
    sbx_ring_put(&sbx_the_capture.ring, &thread->writer, thread->index, thread->generation, thread->tid, &record);
    sbx_thread_leave(thread);
    loop->merged.count = 0;
}

static void put_message(struct sbx_thread *thread, uint64_t begin_ns, uint64_t end_ns)
{
    struct sbx_record record = {
        .kind = SBX_RECORD_MESSAGE, .op = thread->loop.kind, .begin_ns = begin_ns, .end_ns = end_ns, .amount = 1};
    sbx_thread_enter(thread);
    record.cpu_ns = sbx_thread_times(thread).cpu_ns;
    sbx_capture_read_usage(&record);
    sbx_capture_put(thread, &record);
    sbx_thread_leave(thread);
}

static void merge_message(struct sbx_thread *thread, uint64_t begin_ns, uint64_t end_ns)
{
    struct sbx_merged_messages *merged = &thread->loop.merged;
    uint8_t kind = thread->loop.kind;
    if (!sbx_messages_may_merge(merged, kind, begin_ns, end_ns)) {
        flush_merged(thread);
        merged->begin_ns = begin_ns;
        merged->kind = kind;
    }
    sbx_messages_merge(merged, thread->entry, end_ns);
}

/* Leave the numbers of a slow message for the watch thread. */
static void tell_slow(struct sbx_message_loop *loop, uint64_t message, uint8_t kind, uint64_t begin_ns, uint64_t end_ns)
{
    if (sbx_load_acquire(&loop->slow_message) !=
        0) { /* order: acquire loop.slow_message - the last was not taken yet */
        return;
    }
    loop->slow_kind = kind;
    loop->slow_begin_ns = begin_ns;
    loop->slow_end_ns = end_ns;
    /* order: release loop.slow_message - the watch thread reads the times above */
    sbx_store_release(&loop->slow_message, message);
    sbx_add_acq_rel(&sbx_the_capture.news, 1); /* order: release capture.news */
    sbx_capture_ring_bell();
}

/* The message in doubt was a real one: its loop polls from two places. */
SBX_HOOK_SAFE void sbx_message_tell_doubted(struct sbx_message_loop *loop)
{
    tell_slow(loop, loop->doubt_message, loop->doubt_kind, loop->doubt_begin_ns, loop->doubt_end_ns);
    loop->doubt_message = 0;
}

/* If the message that was just closed was reported while it went on, report its end at once. */
SBX_HOOK_SAFE void sbx_message_tell_end(struct sbx_thread *thread, uint64_t end_ns)
{
    struct sbx_message_loop *loop = &thread->loop;
    /* order: acquire loop.anr_message - the end of another message is not overwritten any more */
    if (SBX_LIKELY(sbx_load_acquire(&loop->anr_message) != thread->entry->message)) {
        return;
    }
    sbx_store_release(&loop->anr_end_ns, end_ns); /* order: release loop.anr_end_ns - the message is closed */
    sbx_capture_ring_bell();
}

SBX_HOOK_SAFE void sbx_message_close(struct sbx_thread *thread, uint64_t now_ns, bool is_in_doubt)
{
    struct sbx_message_loop *loop = &thread->loop;
    struct sbx_thread_entry *entry = thread->entry;
    uint64_t begin_ns = entry->message_begin_ns;
    if (begin_ns == 0) {
        return;
    }
    bool is_unseen = sbx_message_is_unseen(thread);
    sbx_store_release(&entry->message_begin_ns,
                      0); /* order: release entry.message_begin_ns - closed before it is judged */
    uint64_t took_ns = now_ns - begin_ns;
    sbx_message_tell_end(thread, now_ns);
    if (SBX_UNLIKELY(is_unseen)) {
        return;
    }
    if (!thread->has_loop && !loop->is_entered) { /* many threads answer clients: short messages are not recorded */
        if (took_ns >= CLIENTS_MESSAGE_NS) {
            put_message(thread, begin_ns, now_ns);
        }
    } else if (took_ns >= SHORT_MESSAGE_NS) {
        flush_merged(thread);
        put_message(thread, begin_ns, now_ns);
    } else {
        merge_message(thread, begin_ns, now_ns);
    }
    uint8_t kind = loop->kind;
    sbx_store_relaxed(&loop->kind, 0);            /* relaxed: the watch thread may see it late */
    if (SBX_LIKELY(took_ns < SHORT_MESSAGE_NS)) { /* a limit is a millisecond or more */
        return;
    }
    uint32_t limit_ms = sbx_load_relaxed(&sbx_the_capture.control->in_force.slow_message_ms);
    uint64_t key_ns = SBX_UNLIKELY(loop->key_in == entry->message) ? loop->key_ns : 0;
    bool is_unsure =
        key_ns == 0 && sbx_load_relaxed(&loop->seen_key_in) == entry->message; /* relaxed: late by one look */
    if (limit_ms == 0 || took_ns < (uint64_t)limit_ms * 1000000u + key_ns || is_unsure ||
        sbx_message_is_paced(thread, 0)) {
        return;
    }
    if (is_in_doubt) {
        loop->doubt_begin_ns = begin_ns;
        loop->doubt_kind = kind;
        loop->doubt_end_ns = now_ns;
        loop->doubt_message = entry->message;
    } else {
        tell_slow(loop, entry->message, kind, begin_ns, now_ns);
    }
}

SBX_HOOK_SAFE void sbx_message_open(struct sbx_thread *thread, uint64_t now_ns)
{
    if (now_ns != 0) {
        sbx_message_open_at(thread, now_ns);
        return;
    }
    thread->entry->message++;
    if (sbx_load_seq_cst(&sbx_the_capture.resting) != 0) {
        sbx_capture_ring_for(now_ns);
    }
}

SBX_HOOK_SAFE void sbx_message_turn(struct sbx_thread *thread, uint64_t now_ns)
{
    uint8_t kind = thread->loop.kind;
    sbx_message_close(thread, now_ns, false);
    sbx_message_open(thread, now_ns);
    sbx_store_relaxed(&thread->loop.kind, kind); /* relaxed: the watch thread may see it late */
}
