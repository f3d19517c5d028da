/* SPDX-License-Identifier: Apache-2.0 */
/* triager.c - threads that take waiting payloads, pass them to a worker, and store its answers. */
#include "triager.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "monotonic_in.h"
#include "store_symbols.h"
#include "triager_inside.h"

enum {
    SHARED_LOOK_MS = 2000, /* between two looks for payloads that other servers stored or gave up */
    WISHES_MAX = 64,       /* renderings that requests wait for */
    STORE_PAUSE_MS = 2000, /* after a shortage (disk full): try again, but not in a tight loop */
};

/* ---- what is sealed ---- */

/* Open the oldest payload that one of our keys opens, and store it as waiting for triage. Returns 0, -ENOENT when there
 * is none, or -errno to try again later. */
static int unseal_one(struct sbx_triager *triager)
{
    uint8_t id[SBX_ID_BYTES], *plain = NULL;
    size_t plain_bytes = 0;
    char why[200] = "";
    int64_t received_ms;
    uint64_t app = 0;
    struct sbx_byte_buffer envelope = {0};
    struct sbx_stall *stall = NULL;
    enum sbx_stored stored = SBX_STORED_NEW;
    if (triager->unseal_keys.count == 0)
        return -ENOENT;
    int result =
        sbx_sealed_store_next(triager->settings.sealed, &triager->unseal_keys, id, &app, &received_ms, &envelope);
    if (result == -ENOENT)
        return result;
    bool has_payload = false;
    if (result == 0) {
        result = sbx_sealed_open(&triager->unseal_keys, envelope.data, envelope.used, &plain, &plain_bytes, why,
                                 sizeof(why));
        if (result == 0)
            result = sbx_stall_decode(plain, plain_bytes, &stall, why, sizeof(why));
        if (result == 0 && app != 0 && app != sbx_stall_tenant(stall)) {
            snprintf(why, sizeof(why), "it is of another application than the token it came with");
            result = -EPROTO;
        }
        has_payload = result == 0;
        /* Store it before it is removed from the other table. After a kill in between, the same is done again, with the
         * same result. */
        if (has_payload)
            result = sbx_store_put(triager->settings.store, stall, plain, plain_bytes, received_ms, &stored);
    }
    if (result == 0) {
        if (stored == SBX_STORED_NEW)
            sbx_triager_came(triager, stall);
        if (stored == SBX_STORED_CONFLICT)
            sbx_triage_log(triager, id, "was stored before with other bytes; what was sealed is dropped",
                           "the first one counts");
        result = sbx_sealed_store_opened(triager->settings.sealed, id);
    } else if (!has_payload && (result == -EPROTO || result == -ENOTSUP || result == -ENOKEY)) {
        sbx_triage_log(triager, id, "cannot be unsealed", why);
        result = sbx_sealed_store_failed(triager->settings.sealed, id, why);
    } else {
        sbx_triage_log(triager, id, "unsealing is put off", why[0] ? why : strerror(-result));
    }
    sbx_stall_destroy(stall);
    free(plain);
    sbx_byte_buffer_finish(&envelope);
    return result;
}

/* ---- the threads ---- */

/* Sleep for a while; less when stopping, or, if `can_wake`, when there is work. */
static void rest(struct sbx_triager *triager, int64_t ms, bool can_wake)
{
    struct timespec until = sbx_monotonic_in_ms(ms);
    pthread_mutex_lock(&triager->lock);
    int code = 0;
    while (!triager->stopping && code == 0 &&
           !(can_wake && (triager->wishes || sbx_triage_queue_count(triager->queue) > 0)))
        code = pthread_cond_timedwait(&triager->changed, &triager->lock, &until);
    pthread_mutex_unlock(&triager->lock);
}

/* Let workers look again for symbols that another server of the database took, because a worker remembers symbols that
 * it did not find. Returns 0 or -errno. */
static int hear_others(struct sbx_triager *triager)
{
    uint8_t build_id[32];
    size_t bytes;
    int result = 0;
    while (sbx_store_is_shared(triager->settings.store) &&
           (result = sbx_store_next_arrival(triager->settings.store, &triager->heard_arrival, build_id, &bytes)) == 0)
        sbx_triager_symbols_came(triager, build_id, bytes);
    return result == -ENOENT ? 0 : result;
}

/* Triage again one stall whose symbols came, and rest a little. Returns 0, -ENOENT when there is none, or -errno to try
 * again later. */
static int rename_one(struct sbx_triage_hand *hand)
{
    struct sbx_triager *triager = hand->triager;
    struct sbx_renamed renamed;
    if (sbx_outage_is_on(triager)) /* a new verdict would be worse than the old one */
        return -ENOENT;
    int result = hear_others(triager); /* before taking stalls that wait because of them */
    if (result == 0)
        result = sbx_store_next_renamed(triager->settings.store, &renamed);
    if (result < 0)
        return result;
    result = sbx_triage_one(hand, renamed.id, true, 0);
    if (result == 0)
        sbx_metrics_add(triager->settings.metrics, SBX_METRIC_TRIAGED_ANEW, 1);
    if (result == 0 || result == -ENOENT) /* the stall or its bytes were removed: its verdict stays */
        result = sbx_store_end_renamed(triager->settings.store, &renamed);
    pthread_mutex_lock(&triager->lock);
    int64_t pause_ms = sbx_triage_anew_pause_ms(sbx_monotonic_ms() - triager->used_ms);
    pthread_mutex_unlock(&triager->lock);
    if (result == 0 && pause_ms > 0)
        rest(triager, pause_ms, true);
    return result == -ENOENT ? -EIO : result;
}

/* The oldest wish; NULL: none. The lock is held. */
static struct sbx_wish *next_wish(struct sbx_triager *triager)
{
    struct sbx_wish *wish = triager->wishes;
    if (wish) {
        triager->wishes = wish->next;
        triager->wishes_end = wish->next ? triager->wishes_end : &triager->wishes;
        triager->wish_count--;
    }
    return wish;
}

static void put_pending(void *context, const uint8_t id[SBX_ID_BYTES], const uint8_t machine[8])
{
    struct sbx_triager *triager = context;
    struct sbx_waiting waiting = {.place = 0};
    memcpy(waiting.id, id, SBX_ID_BYTES);
    memcpy(&waiting.machine, machine, sizeof(waiting.machine));
    /* payloads without room are found again when the queue is empty */
    (void)sbx_triage_queue_put(triager->queue, &waiting);
}

/* Fill the queue from the store. Returns 0 or -errno. */
static int refill(struct sbx_triager *triager)
{
    pthread_mutex_lock(&triager->lock);
    int result = sbx_store_take_pending(triager->settings.store, triager->settings.pending_max, put_pending, triager,
                                        &triager->has_more);
    pthread_cond_broadcast(&triager->changed);
    pthread_mutex_unlock(&triager->lock);
    return result < 0 ? result : 0;
}

static bool has_more(struct sbx_triager *triager)
{
    pthread_mutex_lock(&triager->lock);
    bool is_so = triager->has_more;
    pthread_mutex_unlock(&triager->lock);
    return is_so;
}

/* Put it back, behind the other payloads of its machine. */
static void put_back(struct sbx_triager *triager, const struct sbx_waiting *waiting)
{
    struct sbx_waiting own = *waiting;
    own.place = 0;
    own.tries++;
    pthread_mutex_lock(&triager->lock);
    int result = sbx_triage_queue_put(triager->queue, &own);
    triager->has_more |= result < 0 && result != -EEXIST;
    pthread_mutex_unlock(&triager->lock);
}

/* Work that only one thread may do. Returns 0 when something was done, -ENOENT when there is nothing, or -errno to try
 * later. */
static int do_the_rest(struct sbx_triage_hand *hand)
{
    struct sbx_triager *triager = hand->triager;
    int result = unseal_one(triager);
    return result == -ENOENT ? rename_one(hand) : result;
}

/* Wait for work. Returns whether the thread goes on. */
static bool wait_for_work(struct sbx_triage_hand *hand, struct sbx_wish **wish_out, struct sbx_waiting *waiting_out,
                          bool *is_waiting_out, bool may_sleep)
{
    struct sbx_triager *triager = hand->triager;
    pthread_mutex_lock(&triager->lock);
    for (;;) {
        *wish_out = triager->stopping ? NULL : next_wish(triager);
        *is_waiting_out = !triager->stopping && !*wish_out && sbx_triage_queue_take(triager->queue, waiting_out);
        bool is_for_first = hand->is_first && (triager->is_woken || triager->has_more);
        if (*wish_out || *is_waiting_out)
            triager->used_ms = sbx_monotonic_ms();
        if (triager->stopping || *wish_out || *is_waiting_out || is_for_first || !may_sleep)
            break;
        bool is_shared = sbx_store_is_shared(triager->settings.store);
        bool is_tending = hand->is_first && sbx_outage_is_to_be_tended(triager);
        if (!hand->is_first || (!is_shared && !is_tending)) {
            pthread_cond_wait(&triager->changed, &triager->lock);
            continue;
        }
        struct timespec until = sbx_monotonic_in_ms(SHARED_LOOK_MS);
        bool is_over = pthread_cond_timedwait(&triager->changed, &triager->lock, &until) == ETIMEDOUT;
        triager->has_more |= is_shared && is_over;
        if (is_tending && is_over)
            break;
    }
    if (hand->is_first)
        triager->is_woken = false;
    bool goes_on = !triager->stopping;
    pthread_mutex_unlock(&triager->lock);
    return goes_on;
}

static void *run(void *argument)
{
    struct sbx_triage_hand *hand = argument;
    struct sbx_triager *triager = hand->triager;
    struct sbx_wish *wish;
    struct sbx_waiting waiting;
    bool is_waiting, may_sleep = !hand->is_first;
    if (hand->is_first)
        sbx_outage_tend(hand);
    while (wait_for_work(hand, &wish, &waiting, &is_waiting, may_sleep)) {
        if (hand->is_first)
            sbx_outage_tend(hand);
        may_sleep = !hand->is_first; /* the first hand looks for other work before it sleeps */
        if (wish) {
            sbx_triage_grant(hand, wish);
        } else if (is_waiting) {
            if (sbx_triage_one(hand, waiting.id, false, waiting.tries) == SBX_TRIAGE_NOT_NOW) {
                rest(triager, STORE_PAUSE_MS, false);
                put_back(triager, &waiting);
            }
        } else if (hand->is_first) {
            int result = has_more(triager) ? refill(triager) : do_the_rest(hand);
            may_sleep = result == -ENOENT;
            if (result < 0 && result != -ENOENT)
                rest(triager, STORE_PAUSE_MS, false);
        }
    }
    return NULL;
}

static void destroy(struct sbx_triager *triager)
{
    for (unsigned i = 0; triager->hands && i < triager->settings.workers; i++)
        sbx_triage_process_destroy(triager->hands[i].process);
    free(triager->hands);
    sbx_triage_queue_destroy(triager->queue);
    sbx_byte_buffer_finish(&triager->greeting);
    sbx_unseal_keys_wipe(&triager->unseal_keys);
    pthread_cond_destroy(&triager->changed);
    pthread_mutex_destroy(&triager->lock);
    free(triager);
}

/* Prepare everything except the threads. Returns 0 or -errno. */
static int prepare(struct sbx_triager *triager, const struct sbx_triager_settings *settings)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&triager->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&triager->lock, NULL);
    triager->settings = *settings;
    triager->used_ms = sbx_monotonic_ms();
    triager->wishes_end = &triager->wishes;
    triager->outage.wants_look = true;
    if (settings->unseal_keys)
        triager->unseal_keys = *settings->unseal_keys;
    triager->queue = sbx_triage_queue_create(settings->pending_max);
    triager->hands = calloc(settings->workers, sizeof(*triager->hands));
    if (!triager->queue || !triager->hands)
        return -ENOMEM;
    int result = sbx_worker_pack_places(settings->places, &triager->greeting);
    for (unsigned i = 0; i < settings->workers && result == 0; i++) {
        triager->hands[i] = (struct sbx_triage_hand){.triager = triager, .is_first = i == 0};
        triager->hands[i].process = sbx_triage_process_create(settings->nursery, &triager->greeting, settings->cpu_ms);
        result = triager->hands[i].process ? 0 : -ENOMEM;
    }
    if (result == 0) /* before any worker looks for symbols */
        result = sbx_store_newest_arrival(settings->store, &triager->heard_arrival);
    return result < 0 ? result : refill(triager);
}

int sbx_triager_start(const struct sbx_triager_settings *settings, struct sbx_triager **triager_out)
{
    struct sbx_triager *triager = calloc(1, sizeof(*triager));
    if (!triager)
        return -ENOMEM;
    int result = prepare(triager, settings);
    if (result < 0) {
        destroy(triager);
        return result;
    }
    for (; triager->hand_count < settings->workers && result == 0; triager->hand_count += result == 0)
        result = -pthread_create(&triager->hands[triager->hand_count].thread, NULL, run,
                                 &triager->hands[triager->hand_count]);
    if (result < 0) {
        sbx_triager_stop(triager);
        return result;
    }
    *triager_out = triager;
    return 0;
}

void sbx_triager_stop(struct sbx_triager *triager)
{
    if (!triager)
        return;
    sbx_triager_end_wishes(triager);
    pthread_mutex_lock(&triager->lock);
    triager->stopping = true;
    pthread_cond_broadcast(&triager->changed);
    pthread_mutex_unlock(&triager->lock);
    for (unsigned i = 0; i < triager->hand_count; i++)
        pthread_join(triager->hands[i].thread, NULL);
    destroy(triager);
}

void sbx_triager_wake(struct sbx_triager *triager)
{
    pthread_mutex_lock(&triager->lock);
    triager->is_woken = true;
    pthread_cond_broadcast(&triager->changed);
    pthread_mutex_unlock(&triager->lock);
}

/* Where the stalled thread was: the inner frames of its stack, as far as a payload tells them without symbols. */
static uint64_t place_of(const struct sbx_stall *stall)
{
    enum {
        FRAMES = 6
    };
    uint32_t frames[FRAMES];
    uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ stall->trigger.kind;
    if (stall->trigger.thread >= stall->thread_count)
        return hash;
    size_t frame_count = sbx_stall_frames(stall, stall->threads[stall->trigger.thread].last_stack, frames, FRAMES);
    for (size_t i = 0; i < frame_count; i++) {
        const struct sbx_stall_frame *frame = &stall->frames[frames[i]];
        uint64_t numbers[2] = {frame->offset, 0};
        if ((frame->kind == SBX_FRAME_CODE || frame->kind == SBX_FRAME_LOGICAL) && frame->module < stall->module_count)
            memcpy(&numbers[1], stall->modules[frame->module].build_id, sizeof(numbers[1]));
        for (size_t n = 0; n < 2; n++)
            hash = (hash ^ numbers[n]) * UINT64_C(0x100000001b3);
    }
    return hash ? hash : 1;
}

void sbx_triager_came(struct sbx_triager *triager, const struct sbx_stall *stall)
{
    bool is_end = sbx_stall_is_end(stall);
    struct sbx_waiting waiting = {.place = is_end ? 0 : place_of(stall)};
    memcpy(waiting.id, is_end ? stall->completes : stall->payload_id, SBX_ID_BYTES);
    memcpy(&waiting.machine, stall->has_rotating_id ? stall->rotating_id : stall->session_id, sizeof(waiting.machine));
    pthread_mutex_lock(&triager->lock);
    triager->used_ms = sbx_monotonic_ms();
    int result = sbx_triage_queue_put(triager->queue, &waiting);
    triager->has_more |= result < 0 && result != -EEXIST;
    pthread_cond_signal(&triager->changed);
    pthread_mutex_unlock(&triager->lock);
}

bool sbx_triager_has_room(struct sbx_triager *triager)
{
    pthread_mutex_lock(&triager->lock);
    bool has_room = sbx_triage_queue_count(triager->queue) < triager->settings.pending_max;
    pthread_mutex_unlock(&triager->lock);
    return has_room;
}

void sbx_triager_symbols_came(struct sbx_triager *triager, const uint8_t *build_id, size_t bytes)
{
    struct sbx_arrival arrival = {0};
    if (build_id && bytes <= sizeof(arrival.build_id)) {
        memcpy(arrival.build_id, build_id, bytes);
        arrival.bytes = (uint32_t)bytes;
    }
    pthread_mutex_lock(&triager->lock);
    triager->arrivals[triager->arrivals_ever++ % ARRIVALS_MAX] = arrival;
    pthread_mutex_unlock(&triager->lock);
    sbx_triager_wake(triager);
}

int sbx_triager_wish(struct sbx_triager *triager, struct sbx_wish *wish)
{
    wish->next = NULL;
    wish->result = 0;
    wish->why[0] = '\0';
    wish->body = (struct sbx_byte_buffer){0};
    pthread_mutex_lock(&triager->lock);
    bool is_taken = !triager->grants_no_more && triager->wish_count < WISHES_MAX;
    triager->used_ms = sbx_monotonic_ms();
    if (is_taken) {
        *triager->wishes_end = wish;
        triager->wishes_end = &wish->next;
        triager->wish_count++;
        pthread_cond_signal(&triager->changed);
    }
    pthread_mutex_unlock(&triager->lock);
    return is_taken ? 0 : -EAGAIN;
}

void sbx_triager_end_wishes(struct sbx_triager *triager)
{
    if (!triager)
        return;
    for (;;) {
        pthread_mutex_lock(&triager->lock);
        triager->grants_no_more = true;
        struct sbx_wish *wish = next_wish(triager);
        pthread_mutex_unlock(&triager->lock);
        if (!wish)
            return;
        wish->result = -ECANCELED;
        wish->done(wish->context);
    }
}
