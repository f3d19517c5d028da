/* SPDX-License-Identifier: Apache-2.0 */
/* watch_table.c - watches and deadlines: begun, kept and ended by any thread. */
#include "watch_table.h"

#include "clock.h"
#include "the_capture.h"
#include "thread_block.h"
#include "thread_registry.h"

static uint32_t next_place; /* where the search for a free entry begins: distributes entries over the table */

static struct sbx_watch_entry *entry_of(uint64_t id)
{
    return &sbx_the_capture.watches[(id & 0xff) % SBX_WATCHES_MAX];
}

static uint64_t generation_of(uint64_t id)
{
    return id >> 8;
}

uint64_t sbx_watch_what(const char *name)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (uint32_t i = 0; name != NULL && name[i] != 0 && i < 256; i++) { /* bounded, whatever `name` points to */
        hash = (hash ^ (uint8_t)name[i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}

/* The watch thread may sleep longer than until this is due. Either it sees the entry before it goes to sleep, or we see
 * the end of its sleep. */
static void wake_in_time(uint64_t due_ns)
{
    sbx_fence_seq_cst();
    if (due_ns <
        sbx_load_seq_cst(&sbx_the_capture.wake_ns)) { /* order: seq_cst wake_ns - Dekker with the entry's word */
        sbx_capture_ring_bell();
    }
}

static uint64_t due_ns_of(uint64_t begin_ns, uint32_t timeout_ms)
{
    return begin_ns + (uint64_t)timeout_ms * 1000000u;
}

static void count_open(int32_t change)
{
    sbx_add_acq_rel(&sbx_the_capture.header->watch_count, (uint32_t)change); /* order: release header.watch_count */
}

/* The calling thread, if it is known. A watch refers to its thread by the index, so the thread keeps its entry. */
static struct sbx_thread *caller(void)
{
    struct sbx_thread *thread = sbx_self;
    if (thread == NULL) {
        thread = sbx_thread_register_self();
    }
    if (!sbx_thread_is_registered(thread)) {
        return NULL;
    }
    thread->keeps_seat = true;
    return thread;
}

static void set_thread(struct sbx_watch_entry *entry, const struct sbx_thread *thread)
{
    sbx_store_relaxed(&entry->thread, thread != NULL ? thread->index : UINT32_MAX);
    sbx_store_relaxed(&entry->thread_generation, thread != NULL ? thread->generation : 0);
}

uint64_t sbx_watch_begin(enum sbx_watch_kind kind, const char *what, uint32_t timeout_ms)
{
    if (timeout_ms == 0 || timeout_ms > SBX_WATCH_TIMEOUT_MAX_MS || !sbx_capture_is_open()) {
        return 0;
    }
    const struct sbx_thread *thread = caller();
    uint32_t first = sbx_add_relaxed(&next_place, 1);
    for (uint32_t i = 0; i < SBX_WATCHES_MAX; i++) {
        uint32_t index = (first + i) % SBX_WATCHES_MAX;
        struct sbx_watch_entry *entry = &sbx_the_capture.watches[index];
        uint64_t word = sbx_load_relaxed(&entry->word);
        uint64_t generation = (word >> 8) + 1;
        if (sbx_watch_state_of(word) != SBX_WATCH_FREE ||
            !sbx_cas_acq_rel(&entry->word, &word, sbx_watch_word(generation, SBX_WATCH_FILLING))) {
            continue; /* order: acq_rel watch.word - the last user has finished with the entry */
        }
        uint64_t now_ns = sbx_now_ns();
        entry->kind = (uint32_t)kind;
        entry->timeout_ms = timeout_ms;
        entry->what = sbx_watch_what(what);
        entry->opened_ns = now_ns;
        entry->end_ns = 0;
        sbx_store_relaxed(&entry->told_begin_ns, 0);
        sbx_store_relaxed(&entry->beats, 0);
        sbx_store_relaxed(&entry->begin_ns, now_ns);
        set_thread(entry, thread);
        for (uint32_t k = 0, ended = 0; k < SBX_WATCH_NAME_MAX; k++) {
            ended |= what == NULL || k == SBX_WATCH_NAME_MAX - 1 || what[k] == 0;
            entry->name[k] = ended ? 0 : what[k];
        }
        count_open(1); /* before it is open: with a count of 0, no entry is open */
        sbx_store_release(&entry->word, sbx_watch_word(generation, SBX_WATCH_OPEN)); /* order: release watch.word */
        wake_in_time(due_ns_of(now_ns, timeout_ms));
        return generation << 8 | index;
    }
    sbx_count_drop(SBX_DROP_NO_WATCH);
    return 0;
}

bool sbx_watch_beat(uint64_t id)
{
    if (generation_of(id) == 0 || !sbx_capture_is_open()) {
        return false;
    }
    struct sbx_watch_entry *entry = entry_of(id);
    uint64_t word = sbx_load_acquire(&entry->word); /* order: acquire watch.word - its fields are whole */
    enum sbx_watch_state state = sbx_watch_state_of(word);
    if (word >> 8 != generation_of(id) || entry->kind != SBX_WATCH_WATCHDOG ||
        (state != SBX_WATCH_OPEN && state != SBX_WATCH_RESTING)) {
        return false;
    }
    /* Another thread may close this watch and a third one may reuse the entry between the check above and these stores.
     * Then the new watch gets our time. A thread that beats a watch which another thread closes must expect this. */
    uint64_t now_ns = sbx_now_ns();
    const struct sbx_thread *thread = caller();
    if (thread != NULL && sbx_load_relaxed(&entry->thread) != thread->index) {
        set_thread(entry, thread);
    }
    sbx_store_relaxed(&entry->beats, sbx_load_relaxed(&entry->beats) + 1);
    uint64_t silent_ns = sbx_load_relaxed(&entry->begin_ns);
    bool ends_told = SBX_UNLIKELY(sbx_load_relaxed(&entry->told_begin_ns) == silent_ns); /* relaxed: late by one beat */
    if (ends_told) {
        sbx_store_relaxed(&entry->end_ns, now_ns);
    }
    sbx_store_relaxed(&entry->begin_ns, now_ns); /* relaxed: one word; an old value is checked again before it fires */
    if (ends_told) {
        sbx_capture_ring_bell();
    }
    if (state == SBX_WATCH_RESTING) {
        /* order: acq_rel watch.word - a thread that sees it open sees the new time */
        if (sbx_cas_acq_rel(&entry->word, &word, sbx_watch_word(generation_of(id), SBX_WATCH_OPEN))) {
            wake_in_time(due_ns_of(now_ns, entry->timeout_ms));
        }
    }
    return true;
}

void sbx_watch_rest(uint64_t id)
{
    if (generation_of(id) == 0 || !sbx_capture_is_ours()) {
        return;
    }
    struct sbx_watch_entry *entry = entry_of(id);
    uint64_t word = sbx_watch_word(generation_of(id), SBX_WATCH_OPEN);
    if (entry->kind == SBX_WATCH_WATCHDOG) {
        /* order: acq_rel watch.word */
        (void)sbx_cas_acq_rel(&entry->word, &word, sbx_watch_word(generation_of(id), SBX_WATCH_RESTING));
    }
}

void sbx_watch_end(uint64_t id)
{
    if (generation_of(id) == 0 || !sbx_capture_is_ours()) {
        return;
    }
    struct sbx_watch_entry *entry = entry_of(id);
    uint64_t word = sbx_load_acquire(&entry->word); /* order: acquire watch.word */
    if (word >> 8 != generation_of(id)) {
        return; /* ended before, or judged and taken away */
    }
    enum sbx_watch_state state = sbx_watch_state_of(word);
    uint64_t now_ns = sbx_now_ns();
    if ((state == SBX_WATCH_OPEN || state == SBX_WATCH_TOLD) && entry->kind == SBX_WATCH_DEADLINE &&
        sbx_capture_is_open() && now_ns >= due_ns_of(sbx_load_relaxed(&entry->begin_ns), entry->timeout_ms)) {
        sbx_store_relaxed(&entry->end_ns, now_ns);
        /* order: acq_rel watch.word - a thread that sees LATE sees the end time */
        if (sbx_cas_acq_rel(&entry->word, &word, sbx_watch_word(generation_of(id), SBX_WATCH_LATE))) {
            sbx_capture_ring_bell();
        }
    } else if (state == SBX_WATCH_OPEN || state == SBX_WATCH_RESTING || state == SBX_WATCH_TOLD) {
        /* order: acq_rel watch.word - the next user comes after us. The exchange fails when the thread beat or rested
         * meanwhile. It is tried once more and not again: two threads that go on like that do not agree on who owns the
         * watch. */
        if (sbx_cas_acq_rel(&entry->word, &word, sbx_watch_word(generation_of(id), SBX_WATCH_FREE)) ||
            (word >> 8 == generation_of(id) && sbx_watch_state_of(word) != SBX_WATCH_FREE &&
             sbx_cas_acq_rel(&entry->word, &word, sbx_watch_word(generation_of(id), SBX_WATCH_FREE)))) {
            count_open(-1);
        }
    }
}

void sbx_watch_put_to_rest(uint32_t index, uint64_t word)
{
    /* order: acq_rel watch.word */
    (void)sbx_cas_acq_rel(&sbx_the_capture.watches[index].word, &word, sbx_watch_word(word >> 8, SBX_WATCH_RESTING));
}

bool sbx_watch_set_told(uint32_t index, uint64_t word)
{
    /* order: acq_rel watch.word */
    return sbx_cas_acq_rel(&sbx_the_capture.watches[index].word, &word, sbx_watch_word(word >> 8, SBX_WATCH_TOLD));
}

void sbx_watch_take_away(uint32_t index, uint64_t word)
{
    /* order: acq_rel watch.word - the next user comes after our look */
    if (sbx_cas_acq_rel(&sbx_the_capture.watches[index].word, &word, sbx_watch_word(word >> 8, SBX_WATCH_FREE))) {
        count_open(-1);
    }
}
