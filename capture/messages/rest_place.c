/* SPDX-License-Identifier: Apache-2.0 */
/* rest_place.c - waits for work that are not polls: learns their place, and forgets it again. */
#include "rest_place.h"

#include <errno.h>

#include "loop_call.h"
#include "message.h"
#include "the_capture.h"

enum {
    LASTED_NS = 20000000, /* a wait for work lasts, though not always; a wait for a frame or a request is shorter */
    SHORT_MOST = 16,      /* after this many short waits and no long one, the place is a handler's */
    /* The mean and the total time that the loop's poll calls wait when they wait for work. The replies of a near X
     * server take less than the mean. A far one sends too few replies to reach the total. */
    POLL_MEAN_NS = 10000000,
};
static const uint64_t POLLS_RESTED_NS = UINT64_C(5000000000);

/* R2 */
static bool rests_by_polling(const struct sbx_message_loop *loop)
{
    const struct sbx_poll_place *place = &loop->places[loop->place];
    return place->is_clients || place->accepts || place->waited_ns >= POLLS_RESTED_NS ||
           (place->passes >= 4 && place->waited_ns / place->passes >= POLL_MEAN_NS);
}

/* The place that `key` names, if a wait there may be the loop's. NULL: the wait is a handler's. A new place replaces
 * the other place that has had fewer long waits. */
static struct sbx_rest_place *candidate(struct sbx_rest *rest, uint64_t key)
{
    struct sbx_rest_place *least = &rest->places[0];
    for (uint32_t i = 0; i < SBX_REST_PLACES; i++) {
        struct sbx_rest_place *place = &rest->places[i];
        if (place->key == key) {
            bool is_one = rest->loop != NULL ? place == rest->loop : place->lasted != 0 || place->shorts < SHORT_MOST;
            return is_one ? place : NULL;
        }
        least = place->lasted < least->lasted ? place : least;
    }
    if (rest->loop != NULL) {
        return NULL;
    }
    *least = (struct sbx_rest_place){.key = key};
    return least;
}

static void begin_rest(struct sbx_thread *thread, struct sbx_blocking *call)
{
    call->kind = SBX_RECORD_IDLE;
    sbx_store_release(&thread->entry->call_kind, SBX_RECORD_IDLE); /* order: release entry.call */
    sbx_message_close(thread, call->begin_ns, false);
    sbx_store_relaxed(&thread->loop.hits, thread->loop.hits + 1); /* relaxed: a count */
}

SBX_HOOK_SAFE SBX_NOINLINE void sbx_rest_wait_begin(struct sbx_blocking *call)
{
    struct sbx_thread *thread = call->thread;
    struct sbx_message_loop *loop = &thread->loop;
    struct sbx_rest *rest = &loop->rest;
    uint64_t key;
    sbx_loop_count_turns(loop);
    if (loop->is_entered || (rest->loop == NULL && rests_by_polling(loop))) {
        return;
    }
    int saved_errno = errno;
    struct sbx_rest_place *here = sbx_loop_is_away(thread, &key) ? candidate(rest, key) : NULL;
    if (here != NULL) {
        call->is_rest = true;
        rest->here = here;
        rest->polls = 0;
        sbx_store_relaxed(&rest->begin_ns, call->begin_ns); /* relaxed: the watch thread is wrong by one look */
        sbx_store_relaxed(&sbx_the_capture.rests, 1);       /* relaxed: for the watch thread */
        if (rest->loop != NULL) {
            begin_rest(thread, call);
        }
    }
    errno = saved_errno;
}

/* A wait that may have been for work is over. It was not part of the open message, and R3 may hold by now. */
static void learn(struct sbx_thread *thread, uint64_t took_ns)
{
    struct sbx_message_loop *loop = &thread->loop;
    struct sbx_rest_place *here = loop->rest.here;
    uint64_t message = thread->entry->message;
    sbx_store_relaxed(&loop->key_ns, (loop->key_in == message ? loop->key_ns : 0) + took_ns);
    sbx_store_relaxed(&loop->key_in, message);
    here->lasted += took_ns >= LASTED_NS;
    here->shorts += took_ns < LASTED_NS;
    if (here->lasted < SBX_REST_PASSES || here->waited_ns / SBX_REST_SHARE < loop->places[loop->place].waited_ns) {
        return;
    }
    loop->rest.loop = here;
    loop->is_plain = false;
    sbx_store_relaxed(&loop->hits, 1);
    loop->paused = 0;
    loop->paused_ns = 0;
    loop->pauses = false;
    thread->entry->flags |= SBX_THREAD_FLAG_LOOP;
    sbx_store_release(&thread->entry->message_begin_ns, 0); /* the message that a poll call began was not one */
    sbx_message_tell_end(thread, sbx_thread_wall_ns(thread));
}

SBX_HOOK_SAFE SBX_NOINLINE void sbx_rest_wait_end(const struct sbx_blocking *call)
{
    struct sbx_thread *thread = call->thread;
    if (thread != sbx_self || !sbx_capture_is_ours()) {
        return; /* a coroutine that came back on another thread, or a child of fork() */
    }
    struct sbx_rest *rest = &thread->loop.rest;
    if (rest->here == NULL || rest->begin_ns != call->begin_ns) {
        return; /* a jump out of the wait, or a signal handler that waited */
    }
    int saved_errno = errno;
    uint64_t now_ns = sbx_thread_wall_ns(thread);
    sbx_store_relaxed(&rest->begin_ns, 0); /* relaxed: as above */
    rest->here->waited_ns += now_ns - call->begin_ns;
    if (rest->loop == NULL) {
        learn(thread, now_ns - call->begin_ns);
    }
    if (rest->loop != NULL && thread->entry->message_begin_ns == 0 && sbx_capture_is_open()) {
        sbx_message_open(thread, now_ns);
    }
    errno = saved_errno;
}
