/* SPDX-License-Identifier: Apache-2.0 */
/* task_table.c - tasks that lie in a queue or run, and how many went through each queue. */
#include "task_table.h"

#include "cache_line.h"
#include "order.h"

/* A task that was queued or begun this long ago may have been forgotten, or its thread is gone. It is given up only
 * when its place is needed. */
#define FORGOTTEN_NS UINT64_C(60000000000)

/* The key and match of each entry, by its index: the points of its queue find it by them. They are apart from the
 * entries, and in this process only. A search looks at SBX_TASK_PROBES keys, which are four cache lines. The same
 * number of entries would be sixteen lines, most of them last written by another processor. The values of an entry that
 * is not QUEUED are left over. */
static struct task_key {
    uint64_t key, match;
} task_keys[SBX_TASKS_MAX];

/* The largest distance of a key from its own place since the process began. A search does not need to look further. */
static uint32_t key_reach;

static struct task_key *key_of_entry(const struct sbx_task_entry *entry)
{
    return &task_keys[(uint32_t)(entry - sbx_the_capture.tasks) % SBX_TASKS_MAX];
}

SBX_HOOK_SAFE void sbx_task_name(const struct sbx_task_entry *entry, uint64_t key, uint64_t match)
{
    struct task_key *own = key_of_entry(entry);
    if (sbx_load_relaxed(&own->key) != key) { /* relaxed: released by the entry's word afterwards */
        sbx_store_relaxed(&own->key, key);
    }
    /* No write if unchanged: a cache line that another processor reads is slow to get back. */
    if (key != 0 && sbx_load_relaxed(&own->match) != match) {
        sbx_store_relaxed(&own->match, match);
    }
}

SBX_HOOK_SAFE void sbx_task_name_match(const struct sbx_task_entry *entry, uint64_t match)
{
    /* relaxed: a search before this store finds the task by the old match */
    sbx_store_relaxed(&key_of_entry(entry)->match, match);
}

SBX_HOOK_SAFE uint64_t sbx_task_match(const struct sbx_task_entry *entry)
{
    const struct task_key *own = key_of_entry(entry);
    /* relaxed: read after the entry's word */
    return sbx_load_relaxed(&own->key) != 0 ? sbx_load_relaxed(&own->match) : 0;
}

/* Ids are consecutive, and keys are addresses. Multiplying by the golden ratio spreads them (Knuth, TAOCP vol. 3,
 * 6.4). */
static uint32_t place_of(uint64_t key, uint32_t hop)
{
    return key != 0 ? (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 40) : hop;
}

static struct sbx_task_entry *entry_at(uint32_t place)
{
    return &sbx_the_capture.tasks[place & sbx_the_capture.task_mask];
}

SBX_HOOK_SAFE void sbx_task_expect(uint64_t key, uint32_t hop)
{
    uint32_t place = place_of(key, hop) & sbx_the_capture.task_mask;
    sbx_line_to_write(&sbx_the_capture.tasks[place]);
    if (key != 0) {
        sbx_line_to_write(&task_keys[place]);
    }
}

/* A key now lies this far from its place. Relaxed: a searching thread got the key from the thread that stored it. */
static void reach_out(uint32_t places)
{
    uint32_t reach = sbx_load_relaxed(&key_reach);
    /* order: none; it only grows */
    while (SBX_UNLIKELY(reach < places) && !sbx_cas_acq_rel(&key_reach, &reach, places)) {
    }
}

SBX_HOOK_SAFE struct sbx_task_entry *sbx_task_take(uint64_t key, uint32_t hop, uint64_t now_ns)
{
    uint32_t place = place_of(key, hop);
    if (sbx_the_capture.task_mask == 0) {
        return NULL;
    }
    for (uint32_t i = 0; i < SBX_TASK_PROBES; i++) {
        struct sbx_task_entry *entry = entry_at(place + i);
        uint64_t word = sbx_load_relaxed(&entry->word); /* relaxed: the exchange checks again */
        if (sbx_task_state_of(word) == SBX_TASK_FREE &&
            sbx_cas_acq_rel(&entry->word, &word, sbx_task_word(hop, SBX_TASK_FILLING))) {
            reach_out(key != 0 ? i : 0);
            return entry; /* order: acq_rel task.word - the former task's thread is done with it */
        }
    }
    for (uint32_t i = 0; i < SBX_TASK_PROBES; i++) {
        struct sbx_task_entry *entry = entry_at(place + i);
        uint64_t word = sbx_load_acquire(&entry->word); /* order: acquire task.word - its fields are whole */
        uint64_t since_ns = sbx_task_state_of(word) == SBX_TASK_RUNNING ? sbx_load_relaxed(&entry->begun_ns)
                                                                        : sbx_load_relaxed(&entry->queued_ns);
        if (sbx_task_state_of(word) >= SBX_TASK_QUEUED && now_ns > since_ns && now_ns - since_ns > FORGOTTEN_NS &&
            sbx_cas_acq_rel(&entry->word, &word, sbx_task_word(hop, SBX_TASK_FILLING))) {
            sbx_count_drop(SBX_DROP_NO_TASK);
            reach_out(key != 0 ? i : 0);
            return entry;
        }
    }
    return NULL;
}

SBX_HOOK_SAFE uint64_t sbx_task_publish(struct sbx_task_entry *entry, uint32_t hop)
{
    /* order: release task.word - the fields are whole */
    sbx_store_release(&entry->word, sbx_task_word(hop, SBX_TASK_QUEUED));
    return (uint64_t)hop << 16 | (uint64_t)(entry - sbx_the_capture.tasks);
}

SBX_HOOK_SAFE uint64_t sbx_task_find(uint64_t key, uint64_t match)
{
    uint32_t place = place_of(key, 0), found = 0, found_hop = 0, mask = sbx_the_capture.task_mask;
    uint32_t reach = sbx_load_relaxed(&key_reach); /* relaxed: like the keys */
    uint64_t oldest_ns = UINT64_MAX;
    if (mask == 0) {
        return 0;
    }
    for (uint32_t i = 0; i <= reach; i++) {
        const struct task_key *own = &task_keys[(place + i) & mask];
        /* relaxed: the thread that handed the item over has made it visible */
        if (SBX_LIKELY(sbx_load_relaxed(&own->key) != key)) {
            continue;
        }
        const struct sbx_task_entry *entry = &sbx_the_capture.tasks[(place + i) & mask];
        sbx_line_to_write(entry);                       /* the searching thread is about to begin it */
        uint64_t word = sbx_load_acquire(&entry->word); /* order: acquire task.word - its name is whole */
        if (sbx_task_state_of(word) != SBX_TASK_QUEUED || sbx_load_relaxed(&own->key) != key ||
            (match != 0 && sbx_load_relaxed(&own->match) != match)) {
            continue;
        }
        uint64_t queued_ns = sbx_load_relaxed(&entry->queued_ns);
        if (match > 1) { /* a match greater than 1 names one task */
            return (uint64_t)sbx_task_hop_of(word) << 16 | ((place + i) & mask);
        }
        if (queued_ns < oldest_ns) {
            oldest_ns = queued_ns;
            found = (place + i) & mask;
            found_hop = sbx_task_hop_of(word);
        }
    }
    return found_hop != 0 ? (uint64_t)found_hop << 16 | found : 0;
}

SBX_HOOK_SAFE bool sbx_task_move(struct sbx_task_entry *entry, uint32_t hop, enum sbx_task_state from,
                                 enum sbx_task_state to)
{
    uint64_t word = sbx_task_word(hop, from);
    /* order: acq_rel task.word - a reader of the new state sees what was stored before it */
    return sbx_cas_acq_rel(&entry->word, &word, sbx_task_word(hop, to));
}

/* ---- queues ---- */

static struct sbx_queue_entry *queue_at(uint64_t queue, uint32_t probe)
{
    uint32_t place = (uint32_t)(queue * UINT64_C(0x9e3779b97f4a7c15) >> 40);
    return &sbx_the_capture.queues[(place + probe) & sbx_the_capture.queue_mask];
}

static uint32_t queue_probes(void)
{
    uint32_t mask = sbx_the_capture.queue_mask;
    return mask == 0 ? 0 : mask < SBX_QUEUE_PROBES ? mask + 1 : SBX_QUEUE_PROBES;
}

SBX_HOOK_SAFE struct sbx_queue_entry *sbx_queue_known(uint64_t queue)
{
    for (uint32_t i = 0; i < queue_probes() && sbx_queue_is_one(queue); i++) {
        struct sbx_queue_entry *entry = queue_at(queue, i);
        if (sbx_load_acquire(&entry->queue) == queue) { /* order: acquire queue.queue - its counts are its own */
            return entry;
        }
    }
    return NULL;
}

SBX_HOOK_SAFE void sbx_queue_expect(uint64_t queue)
{
    const struct sbx_queue_entry *entry = sbx_queue_known(queue);
    if (entry != NULL) {
        sbx_line_to_write(&entry->begun);
    }
}

static uint32_t number_of(uint64_t now_ns)
{
    return (uint32_t)(now_ns >> SBX_QUEUE_WINDOW_SHIFT);
}

/* Take the entry from `owner` (0: nobody), and reset its counts. */
static bool take_entry(struct sbx_queue_entry *entry, uint64_t owner)
{
    /* order: acq_rel queue.queue - only one thread takes it */
    if (!sbx_cas_acq_rel(&entry->queue, &owner, SBX_QUEUE_BUSY)) {
        return false;
    }
    /* relaxed: a thread that counts for the former owner at this moment adds one too many */
    sbx_store_relaxed(&entry->queued, 0);
    sbx_store_relaxed(&entry->begun, 0);
    sbx_store_relaxed(&entry->cancelled, 0);
    for (uint32_t i = 0; i < SBX_QUEUE_WINDOWS; i++) {
        sbx_store_relaxed(&entry->windows[i].number, 0);
    }
    sbx_store_relaxed(&entry->turn, sbx_load_relaxed(&entry->turn) + 1);
    return true;
}

/* Is the queue empty, and did nothing come or go in this window and the one before? */
static bool rests(const struct sbx_queue_entry *entry, uint64_t now_ns)
{
    uint32_t now = number_of(now_ns);
    for (uint32_t i = 0; i < SBX_QUEUE_WINDOWS; i++) {
        if (now - sbx_load_relaxed(&entry->windows[i].number) < 2) { /* relaxed: statistics */
            return false;
        }
    }
    return sbx_load_relaxed(&entry->queued) <= sbx_load_relaxed(&entry->begun) + sbx_load_relaxed(&entry->cancelled);
}

/* Begin the current window, with the counts so far, if it has not begun. A count costs one atomic addition only: where
 * several threads use a queue, each takes a cache line from the others. Two threads at the begin of a window may put
 * one task more or less into it; the totals lose none. */
static void mark_window(struct sbx_queue_entry *queue, uint64_t now_ns)
{
    uint32_t number = number_of(now_ns);
    struct sbx_queue_window *window = &queue->windows[number % SBX_QUEUE_WINDOWS];
    if (SBX_UNLIKELY(sbx_load_relaxed(&window->number) != number)) { /* relaxed: all of these are statistics */
        sbx_store_relaxed(&window->queued, (uint32_t)sbx_load_relaxed(&queue->queued));
        sbx_store_relaxed(&window->begun, (uint32_t)sbx_load_relaxed(&queue->begun));
        sbx_store_relaxed(&window->number, number);
    }
}

SBX_HOOK_SAFE struct sbx_queue_entry *sbx_queue_of(uint64_t queue, uint8_t op, uint64_t now_ns)
{
    struct sbx_queue_entry *known = sbx_queue_known(queue);
    for (int pass = 0; pass < 2 && known == NULL && sbx_queue_is_one(queue); pass++) { /* first pass: free entries */
        for (uint32_t i = 0; i < queue_probes(); i++) {
            struct sbx_queue_entry *entry = queue_at(queue, i);
            uint64_t owner = sbx_load_acquire(&entry->queue); /* order: acquire queue.queue - its counts are its own */
            bool may_have = pass == 0 ? owner == 0 : sbx_queue_is_one(owner) && rests(entry, now_ns);
            if (owner == queue) {
                return entry;
            }
            if (may_have && take_entry(entry, owner)) {
                sbx_store_relaxed(&entry->op, op);
                mark_window(entry, now_ns);
                sbx_store_release(&entry->queue, queue); /* order: release queue.queue - its counts are its own */
                return entry;
            }
        }
    }
    return known;
}

SBX_HOOK_SAFE void sbx_queue_ends(uint64_t queue)
{
    struct sbx_queue_entry *entry = sbx_queue_known(queue);
    if (entry != NULL && take_entry(entry, queue)) {
        sbx_store_release(&entry->queue, 0); /* order: release queue.queue - it is empty */
    }
}

SBX_HOOK_SAFE void sbx_queue_counts(struct sbx_queue_entry *queue, uint64_t now_ns)
{
    mark_window(queue, now_ns);
    sbx_add_relaxed(&queue->queued, 1);
}

SBX_HOOK_SAFE uint32_t sbx_queue_comes(struct sbx_queue_entry *queue, uint64_t now_ns)
{
    mark_window(queue, now_ns);
    uint64_t gone = sbx_load_relaxed(&queue->begun) + sbx_load_relaxed(&queue->cancelled);
    uint64_t came = sbx_add_relaxed(&queue->queued, 1);
    uint64_t before = came > gone ? came - gone : 0;
    return before < UINT32_MAX ? (uint32_t)before : UINT32_MAX;
}

SBX_HOOK_SAFE void sbx_queue_goes(struct sbx_queue_entry *queue, uint64_t now_ns)
{
    mark_window(queue, now_ns);
    sbx_add_relaxed(&queue->begun, 1);
}

SBX_HOOK_SAFE void sbx_queue_loses(struct sbx_queue_entry *queue)
{
    sbx_add_relaxed(&queue->cancelled, 1);
}
