/* SPDX-License-Identifier: Apache-2.0 */
/* triage_one.c - one payload, or one rendering: asks a worker, and stores its answer. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "triager_inside.h"

enum {
    /* new triages of one stall because symbols came meanwhile; afterwards the mark in the store remains */
    AGAIN_MAX = 3,
    MEMORY_TRIES_MAX = 5, /* for one stall whose worker has no memory for names; then it gets a verdict without names */
    DEATHS_MAX = 2,       /* of workers by one payload; one may be an accident */
};

static int64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000ll + now.tv_nsec / 1000;
}

void sbx_triage_log(const struct sbx_triager *triager, const uint8_t id[SBX_ID_BYTES], const char *what,
                    const char *why)
{
    char text[SBX_ID_TEXT_BYTES];
    sbx_id_print(id, text);
    sbx_operator_log_of(triager->settings.log, SBX_LOG_WARNING, "triage", (struct sbx_log_subject){"snapshot", text},
                        "snapshot %s: %s: %s", text, what, why);
}

static void count(struct sbx_triager *triager, enum sbx_metric metric)
{
    sbx_metrics_add(triager->settings.metrics, metric, 1);
}

/* ---- a worker's help ---- */

static uint64_t arrivals_ever(struct sbx_triager *triager)
{
    pthread_mutex_lock(&triager->lock);
    uint64_t ever = triager->arrivals_ever;
    pthread_mutex_unlock(&triager->lock);
    return ever;
}

/* Take the arrivals that this hand's worker does not know yet. When there are more than fit, one arrival stands for
 * everything. */
static uint32_t take_arrivals(struct sbx_triage_hand *hand, struct sbx_arrival arrivals_out[ARRIVALS_MAX])
{
    struct sbx_triager *triager = hand->triager;
    uint32_t taken = 0;
    pthread_mutex_lock(&triager->lock);
    if (triager->arrivals_ever - hand->heard > ARRIVALS_MAX) {
        arrivals_out[taken++] = (struct sbx_arrival){0};
        hand->heard = triager->arrivals_ever;
    }
    for (; hand->heard < triager->arrivals_ever; hand->heard++)
        arrivals_out[taken++] = triager->arrivals[hand->heard % ARRIVALS_MAX];
    pthread_mutex_unlock(&triager->lock);
    return taken;
}

/* Ask the worker, and count a worker that exceeded a bound. */
static void ask(struct sbx_triage_hand *hand, enum sbx_task_kind kind, enum sbx_rendering rendering,
                const struct sbx_byte_buffer *envelope, const struct sbx_end_row *end,
                struct sbx_triage_answer *answer_out)
{
    static const enum sbx_metric metrics[] = {[SBX_PROCESS_SLOW] = SBX_METRIC_WORKERS_SLOW,
                                              [SBX_PROCESS_LARGE] = SBX_METRIC_WORKERS_LARGE,
                                              [SBX_PROCESS_DIED] = SBX_METRIC_WORKERS_DIED,
                                              [SBX_PROCESS_KILLED] = SBX_METRIC_WORKERS_KILLED,
                                              [SBX_PROCESS_NONE] = SBX_METRIC_WORKERS_NONE};
    struct sbx_arrival arrivals[ARRIVALS_MAX];
    struct sbx_triage_task task = {
        .kind = kind, .rendering = rendering, .end = *end, .arrivals = arrivals, .envelope = envelope};
    task.arrival_count = take_arrivals(hand, arrivals);
    sbx_triage_process_ask(hand->process, &task, answer_out);
    if (answer_out->outcome != SBX_PROCESS_ANSWERED)
        count(hand->triager, metrics[answer_out->outcome]);
    sbx_outage_note(hand->triager, answer_out->store_trouble, answer_out->store_words);
}

/* ---- one payload ---- */

enum {
    IS_BAD = -EPROTO, /* the payload is invalid; it is set aside */
    DIED = -EIO,      /* perhaps because of the payload; it is tried again, and the attempt counts */
    NOT_NOW = SBX_TRIAGE_NOT_NOW,
    WAITS = -EHOSTUNREACH, /* waits for the symbol store: like NOT_NOW, but not logged */
};

/* `lacks_store`: names are missing that the unreachable symbol store may have. */
static int store_verdict(struct sbx_triager *triager, const uint8_t id[SBX_ID_BYTES],
                         const struct sbx_byte_buffer *body, bool lacks_store, char *why, size_t why_bytes)
{
    struct sbx_verdict_row row;
    struct sbx_verdict_parts parts;
    int result = sbx_verdict_unpack(body->data ? body->data : "", body->used, &row, &parts);
    if (result < 0) {
        snprintf(why, why_bytes, result == -EPROTO ? "its process returned no valid verdict" : "no memory");
        return result == -EPROTO ? IS_BAD : NOT_NOW;
    }
    row.lacks_store = lacks_store;
    result = sbx_store_put_verdict(triager->settings.store, id, &row);
    sbx_verdict_parts_free(&parts);
    if (result == 0) /* kept renderings are out of date */
        sbx_renderings_drop(triager->settings.renderings, id);
    if (result == 0 || result == -ENOENT) /* erased meanwhile */
        return 0;
    snprintf(why, why_bytes, "the verdict could not be stored: %s", strerror(-result));
    return NOT_NOW;
}

/* One stall to triage, and the reason. */
struct turn {
    const uint8_t *id;
    bool is_anew;
    unsigned tries;
};

/* A verdict came: store it, or put it off. A new verdict that lacks names does not replace an older one, which may have
 * them. */
static int take_verdict(struct sbx_triage_hand *hand, const struct turn *turn, const struct sbx_triage_answer *answer,
                        char *why, size_t why_bytes)
{
    if (answer->lack == SBX_LACKS_STORE && (turn->is_anew || sbx_outage_is_waited_for(hand->triager)))
        return WAITS;
    if (answer->lack == SBX_LACKS_MEMORY && (turn->is_anew || turn->tries < MEMORY_TRIES_MAX)) {
        snprintf(why, why_bytes, "there is no memory for its symbols");
        return turn->is_anew ? IS_BAD : NOT_NOW;
    }
    return store_verdict(hand->triager, turn->id, &answer->body, answer->lack == SBX_LACKS_STORE, why, why_bytes);
}

/* One attempt: a verdict for what is known now. */
static int judge(struct sbx_triage_hand *hand, const struct turn *turn, const struct sbx_triage_input *input, char *why,
                 size_t why_bytes)
{
    struct sbx_triage_answer answer;
    int result = NOT_NOW;
    ask(hand, SBX_TASK_VERDICT, SBX_RENDERING_PAGE, &input->envelope, &input->end, &answer);
    snprintf(why, why_bytes, "%s", answer.why);
    switch (answer.outcome) {
    case SBX_PROCESS_ANSWERED:
        if (answer.result == 0)
            result = take_verdict(hand, turn, &answer, why, why_bytes);
        else if (answer.result == -EAGAIN)
            result = NOT_NOW;
        else
            result = answer.result == -ENOMEM ? DIED : IS_BAD;
        if (answer.result < 0 && !*why)
            snprintf(why, why_bytes, "%s", strerror(-answer.result));
        break;
    case SBX_PROCESS_SLOW:
    case SBX_PROCESS_LARGE:
        result = IS_BAD;
        break;
    case SBX_PROCESS_DIED:
        result = input->attempts + 1 >= DEATHS_MAX ? IS_BAD : DIED;
        break;
    case SBX_PROCESS_KILLED:
        result = DIED;
        break;
    case SBX_PROCESS_NONE:
        break;
    }
    sbx_byte_buffer_finish(&answer.body);
    return result;
}

/* Judge until nothing new came meanwhile. The end of the stall may come while it is judged; it then finds the row not
 * triaged, and leaves the rest to this function. Symbols may come too; then a new attempt finds them in the store. */
static int judge_until_whole(struct sbx_triage_hand *hand, const struct turn *turn, struct sbx_triage_input *input,
                             char *why, size_t why_bytes)
{
    struct sbx_triager *triager = hand->triager;
    int result = 0, again = AGAIN_MAX;
    for (bool is_whole = false; result == 0 && !is_whole;) {
        uint32_t how = input->end.how;
        uint64_t arrivals = arrivals_ever(triager);
        result = judge(hand, turn, input, why, why_bytes);
        if (result == 0 && sbx_store_read_end(triager->settings.store, turn->id, &input->end) < 0)
            return NOT_NOW;
        is_whole = input->end.how == how && (arrivals_ever(triager) == arrivals || --again == 0);
    }
    return result;
}

int sbx_triage_one(struct sbx_triage_hand *hand, const uint8_t id[SBX_ID_BYTES], bool is_anew, unsigned tries)
{
    struct sbx_triager *triager = hand->triager;
    struct sbx_store *store = triager->settings.store;
    struct sbx_triage_input input;
    char why[200] = "";
    int64_t begin_us = now_us();
    int result = sbx_store_triage_input(store, id, &input);
    if (result < 0 && result != -ENODATA) {
        sbx_byte_buffer_finish(&input.envelope);
        return result == -ENOENT ? result : NOT_NOW;
    }
    bool is_gone = result == -ENODATA;
    if (!is_anew && input.state != SBX_TRIAGE_PENDING) { /* it was reported twice as waiting */
        sbx_byte_buffer_finish(&input.envelope);
        return 0;
    }
    if (input.attempts >= SBX_TRIAGE_ATTEMPTS_MAX) {
        snprintf(why, sizeof(why), "triage began %d times and never came to an end", SBX_TRIAGE_ATTEMPTS_MAX);
        result = IS_BAD;
    } else if (is_gone) {
        snprintf(why, sizeof(why), "its payload is gone from the store of blobs");
        result = IS_BAD;
    } else {
        const struct turn turn = {id, is_anew, tries};
        result = judge_until_whole(hand, &turn, &input, why, sizeof(why));
    }
    sbx_byte_buffer_finish(&input.envelope);
    if (result == DIED && !is_anew) {
        sbx_store_begin_triage(store, id); /* counts the attempt; on failure it is not counted */
        result = NOT_NOW;
    }
    if (result == 0) {
        count(triager, SBX_METRIC_TRIAGED);
    } else if (result == IS_BAD || result == DIED) {
        sbx_triage_log(triager, id, is_anew ? "is not triaged anew" : "triage failed", why);
        count(triager, SBX_METRIC_TRIAGE_FAILED);
        /* An earlier verdict is better than none, so it stays. */
        result = !is_anew && sbx_store_put_failure(store, id, why) < 0 ? NOT_NOW : 0;
    } else if (result == WAITS) {
        result = NOT_NOW;
    } else {
        sbx_triage_log(triager, id, "triage is put off", why);
    }
    sbx_metrics_add(triager->settings.metrics, SBX_METRIC_TRIAGE_MICROSECONDS, (uint64_t)(now_us() - begin_us));
    return result;
}

/* ---- wishes ---- */

/* Keep a rendering for later requests, unless symbols came since and it is out of date. */
static void keep_rendering(struct sbx_triager *triager, const struct sbx_wish *wish, uint64_t arrivals)
{
    const struct sbx_store_view all = {triager->settings.store, 0};
    struct sbx_snapshot_row row;
    if (arrivals_ever(triager) != arrivals)
        return;
    int result = sbx_renderings_put(triager->settings.renderings, wish->id, wish->kind, &wish->body);
    if (result < 0)
        sbx_triage_log(triager, wish->id, "a report is not kept", strerror(-result));
    if (sbx_store_snapshot(&all, wish->id, &row) == -ENOENT) /* erased meanwhile: nothing of it stays */
        sbx_renderings_remove(triager->settings.renderings, wish->id);
}

void sbx_triage_grant(struct sbx_triage_hand *hand, struct sbx_wish *wish)
{
    struct sbx_triager *triager = hand->triager;
    struct sbx_triage_input input;
    struct sbx_triage_answer answer = {.outcome = SBX_PROCESS_NONE};
    uint64_t arrivals = arrivals_ever(triager);
    wish->result = sbx_store_triage_input(triager->settings.store, wish->id, &input);
    if (wish->result == 0) {
        ask(hand, SBX_TASK_RENDERING, wish->kind, &input.envelope, &input.end, &answer);
        bool passes = answer.outcome == SBX_PROCESS_KILLED || answer.outcome == SBX_PROCESS_NONE;
        wish->result = answer.outcome == SBX_PROCESS_ANSWERED ? answer.result : passes ? -EAGAIN : -EIO;
        wish->body = answer.body;
        snprintf(wish->why, sizeof(wish->why), "%s", answer.why);
    }
    sbx_byte_buffer_finish(&input.envelope);
    if (wish->result < 0)
        sbx_byte_buffer_finish(&wish->body);
    else if (answer.lack == SBX_LACKS_NOTHING)
        keep_rendering(triager, wish, arrivals);
    if (wish->result < 0 && !*wish->why)
        snprintf(wish->why, sizeof(wish->why), "%s", strerror(-wish->result));
    count(triager, wish->result == 0 ? SBX_METRIC_RENDERED : SBX_METRIC_NOT_RENDERED);
    wish->done(wish->context);
}

void sbx_wish_finish(struct sbx_wish *wish)
{
    sbx_byte_buffer_finish(&wish->body);
}
