/* SPDX-License-Identifier: Apache-2.0 */
/* culprit.c - which other thread had a part in it.
 *
 * A lock names its holder, and a wait that ended may name the thread that ended it. A wait for something without a
 * holder that has not ended names nobody. Then the thread that should have ended it is concluded from what the other
 * threads did. It must have done some work meanwhile. A thread that ended waits for this object before is more likely,
 * and so is a thread that was woken or started just before the wait began, because a thread that waits for a result has
 * mostly just asked for it. */
#include "culprit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cause.h"
#include "deadlock.h"
#include "known_names.h"
#include "names.h"
#include "record_kinds.h"
#include "verdict_words.h"

enum {
    CHAIN_MAX = 16,
    /* What points at a thread. The sum of the points decides; of equal candidates, the one that was busy for longer. */
    POINT_ENDED_BEFORE = 8, /* it has ended waits for this object before */
    POINT_WOKEN = 4,        /* the waiting thread woke it just before */
    POINT_ROUSED = 2,       /* its own long wait ended just before, so it got something to do */
    POINT_BORN = 2,         /* its first record lies just before */
};
/* Measured on the suite with capture points taken out, and with a sample each 200 ms (docs/ACCURACY.md). */
#define HUNCH_CERTAINTY 0.75 /* it worked meanwhile, and nothing else points at it */
#define GUESS_CERTAINTY 0.7  /* the function it computed in is known only by samples at its calls */
#define JUST_BEFORE_NS  (INT64_C(100) * 1000 * 1000)

/* ---- threads that the records name ---- */

/* The wake record of the thread that ended wait `wait`. NULL: no record tells which thread did. */
static const struct sbx_stall_record *find_wake(const struct sbx_stall *stall, uint32_t wait)
{
    for (size_t i = 0; i < stall->record_count && wait != 0; i++) {
        if (stall->records[i].kind == SBX_RECORD_WAKE && stall->records[i].wait == wait) {
            return &stall->records[i];
        }
    }
    return NULL;
}

/* ---- a thread that the records do not name ---- */

/* What a thread did while another waited. */
struct candidate {
    int points;
    double busy_ns; /* time not idle: computing, or in calls that are work */
};

/* Does this pause say that the thread has nothing to do, or only rests between two things? */
static bool is_rest(const struct sbx_pause *pause, const struct sbx_interval *waited)
{
    bool is_older = pause->wait.begin_ns < waited->begin_ns - JUST_BEFORE_NS;
    switch (pause->wait.cause) {
    case SBX_CAUSE_WAIT:
        return true;
    case SBX_CAUSE_SLEEP: /* many short sleeps: a ticker. One long sleep: perhaps what is waited for */
        return is_older || pause->ns * 3 < (double)(waited->end_ns - waited->begin_ns);
    default: /* a poll of a socket waits for an answer or for a request; for a request it began long before */
        return pause->wait.kind == SBX_RECORD_POLL && is_older;
    }
}

static int points_of_records(const struct sbx_stall *stall, uint32_t waiter, uint32_t thread_index,
                             const struct sbx_wait *wait)
{
    const struct sbx_stall_thread *thread = &stall->threads[thread_index];
    const struct sbx_stall_thread *asker = &stall->threads[waiter];
    int64_t from_ns = wait->begin_ns - JUST_BEFORE_NS, to_ns = wait->begin_ns + JUST_BEFORE_NS;
    int points = 0;
    bool has_ended = false, was_roused = false;
    for (size_t i = 0; i < thread->record_count; i++) {
        const struct sbx_stall_record *record = &stall->records[thread->record_begin + i];
        has_ended |= record->kind == SBX_RECORD_WAKE && record->object == wait->object && wait->object != 0;
        was_roused |= (record->kind == SBX_RECORD_COND || record->kind == SBX_RECORD_WAIT) &&
                      record->end_ns >= from_ns && record->end_ns <= to_ns &&
                      record->end_ns - record->begin_ns > JUST_BEFORE_NS;
    }
    points += has_ended ? POINT_ENDED_BEFORE : 0;
    points += was_roused ? POINT_ROUSED : 0;
    if (thread->record_count > 0) {
        const struct sbx_stall_record *first = &stall->records[thread->record_begin];
        bool is_history = stall->trigger.history_ns > 0 && -stall->trigger.history_ns < from_ns;
        points += is_history && first->begin_ns >= from_ns && first->begin_ns <= to_ns ? POINT_BORN : 0;
    }
    for (size_t i = 0; i < asker->record_count; i++) {
        const struct sbx_stall_record *record = &stall->records[asker->record_begin + i];
        if (record->kind == SBX_RECORD_WAKE && record->peer == (int32_t)thread_index && record->end_ns >= from_ns &&
            record->end_ns <= wait->begin_ns) {
            return points + POINT_WOKEN;
        }
    }
    return points;
}

static int weigh_candidate(const struct sbx_report *report, uint32_t waiter, uint32_t thread,
                           const struct sbx_wait *wait, struct candidate *candidate)
{
    struct sbx_interval waited = {wait->begin_ns, wait->end_ns};
    struct sbx_time_split split;
    *candidate = (struct candidate){0};
    int result = sbx_time_split_make(report->stall, thread, waited, &split);
    if (result != 0) {
        return result;
    }
    double rest_ns = split.idle_ns;
    candidate->busy_ns = split.on_cpu_ns + split.runnable_ns;
    for (size_t i = 0; i < split.pause_count; i++) {
        bool rests = is_rest(&split.pauses[i], &waited);
        *(rests ? &rest_ns : &candidate->busy_ns) += split.pauses[i].ns;
    }
    bool works = candidate->busy_ns > 0 && candidate->busy_ns * 4 >= split.wall_ns && candidate->busy_ns > rest_ns;
    sbx_time_split_finish(&split);
    candidate->points = works ? 1 + points_of_records(report->stall, waiter, thread, wait) : 0;
    return 0;
}

/* Which thread should have ended the wait. *thread_out -1: no thread stands out. *rivals_out: how many threads had as
 * many points. */
static int infer(const struct sbx_report *report, uint32_t waiter, const struct sbx_wait *wait, int32_t *thread_out,
                 size_t *rivals_out, bool *has_hint_out)
{
    const struct sbx_stall *stall = report->stall;
    struct candidate best = {0};
    *thread_out = -1;
    *rivals_out = 0;
    for (uint32_t thread = 0; thread < stall->thread_count; thread++) {
        struct candidate candidate;
        if (thread == waiter || stall->threads[thread].record_count == 0 || stall->threads[thread].process != 0) {
            continue;
        }
        int result = weigh_candidate(report, waiter, thread, wait, &candidate);
        if (result != 0) {
            return result;
        }
        *rivals_out = candidate.points > best.points ? 0 : *rivals_out + (candidate.points == best.points);
        if (candidate.points > best.points ||
            (candidate.points > 0 && candidate.points == best.points && candidate.busy_ns > best.busy_ns)) {
            best = candidate;
            *thread_out = (int32_t)thread;
        }
    }
    *has_hint_out = best.points > 1; /* one point only says that it worked at all */
    return 0;
}

/* ---- the chain ---- */

/* A thread that is waited for, and how that is known. */
struct link {
    uint32_t thread;
    enum sbx_culprit_source source;
    bool has_hint;                   /* of INFERRED: it ended such waits before, or was woken or started for this */
    size_t rivals;                   /* of INFERRED: how many other threads are as likely */
    const struct sbx_location *woke; /* where it, or another thread, woke the waiter; NULL not known */
    uint32_t waker;                  /* of `woke`: the thread that did */
};

/* The peer is another process that ended such waits before, or has the semaphore now. No record says that it has to end
 * this wait. */
static bool is_by_habit(const struct sbx_stall *stall, const struct sbx_wait *wait)
{
    bool is_sign = wait->kind == SBX_RECORD_WAIT || wait->kind == SBX_RECORD_COND;
    return is_sign && wait->open && wait->peer >= 0 && stall->threads[wait->peer].process != 0;
}

/* The thread that `waiter` waits for in `wait`. Returns 0 or -ENOMEM. link_out->source NONE: not known. */
static int find_link(const struct sbx_report *report, uint32_t waiter, const struct sbx_wait *wait, bool may_infer,
                     struct link *link_out)
{
    const struct sbx_stall_record *wake = find_wake(report->stall, wait->waker);
    *link_out = (struct link){0};
    if (wake != NULL) {
        link_out->woke = sbx_blame_leaf(report, wake->stack);
        link_out->waker = wake->thread;
    }
    if (wait->peer >= 0 || wake != NULL) {
        link_out->thread = wait->peer >= 0 ? (uint32_t)wait->peer : wake->thread;
        link_out->source = link_out->thread != waiter ? SBX_CULPRIT_NAMED : SBX_CULPRIT_NONE;
        if (link_out->source == SBX_CULPRIT_NAMED && is_by_habit(report->stall, wait)) {
            link_out->source = SBX_CULPRIT_INFERRED;
            link_out->has_hint = true;
        }
        return 0;
    }
    int32_t thread = -1;
    int result = may_infer ? infer(report, waiter, wait, &thread, &link_out->rivals, &link_out->has_hint) : 0;
    /* A wait with a time limit may be a pause by intention. Then it says nothing that another thread worked
     * meanwhile. */
    if (thread >= 0 && (!wait->timed_out || link_out->has_hint)) {
        link_out->thread = (uint32_t)thread;
        link_out->source = SBX_CULPRIT_INFERRED;
    }
    return result;
}

bool sbx_culprit_is_told(const struct sbx_judgement *judgement)
{
    return judgement->class_ == SBX_CLASS_OFF_CPU && judgement->wait.peer >= 0 &&
           (judgement->cause == SBX_CAUSE_IO || judgement->cause == SBX_CAUSE_IPC ||
            judgement->cause == SBX_CAUSE_NETWORK);
}

static bool is_wait_for_thread(const struct sbx_judgement *judgement)
{
    return sbx_culprit_is_told(judgement) ||
           (judgement->class_ == SBX_CLASS_OFF_CPU &&
            (judgement->cause == SBX_CAUSE_LOCK || judgement->cause == SBX_CAUSE_WAIT));
}

/* What a wait is for, as far as the words depend on it. */
enum wanted {
    WANTS_SIGN, /* that another thread does something */
    WANTS_LOCK,
    WANTS_ANSWER, /* an answer from the other end of a pipe or a socket */
    WANTS_CHANGE  /* a change of a semaphore */
};

static enum wanted wanted_of(const struct sbx_judgement *judgement)
{
    if (judgement->cause == SBX_CAUSE_LOCK || sbx_is_file_lock(judgement->wait.op)) {
        return WANTS_LOCK;
    }
    if (judgement->cause == SBX_CAUSE_WAIT) {
        return WANTS_SIGN;
    }
    uint8_t class = judgement->wait.fd_class;
    return class == SBX_FD_PIPE || class == SBX_FD_UNIX || class == SBX_FD_SOCKET ? WANTS_ANSWER : WANTS_CHANGE;
}

/* The part that the awaited thread has in the wait. */
static const char *part_of(const struct link *link, enum wanted wanted, bool is_open)
{
    bool is_lock = wanted == WANTS_LOCK;
    if (wanted == WANTS_ANSWER) {
        return "has the other end";
    }
    if (wanted == WANTS_CHANGE) {
        return "was the last to change it";
    }
    if (link->source == SBX_CULPRIT_INFERRED) {
        return is_lock ? "probably held it" : "should have ended the wait";
    }
    return is_lock ? "held it" : is_open ? "is to end the wait" : "ended the wait";
}

/* Where a thread was when it was last seen, and how long before the trigger. "" if that is not known, or if it was seen
 * at the trigger. */
static const char *last_seen(const struct sbx_report *report, uint32_t thread, char *text, size_t text_bytes)
{
    const struct sbx_stall_thread *it = &report->stall->threads[thread];
    const struct sbx_stall_record *records = &report->stall->records[it->record_begin];
    size_t i = it->record_count;
    while (i > 0 && records[i - 1].stack == 0) {
        i--;
    }
    const struct sbx_location *location = i > 0 ? sbx_blame_leaf(report, records[i - 1].stack) : NULL;
    text[0] = '\0';
    if (location != NULL && records[i - 1].end_ns < 0) {
        char ago[SBX_DURATION_TEXT_BYTES], function[SBX_SHORT_NAME_BYTES];
        sbx_duration_text((double)-records[i - 1].end_ns, ago);
        snprintf(text, text_bytes, "; it was last seen %s before, in %s", ago, sbx_location_text(location, function));
    }
    return text;
}

/* One sentence about what the awaited thread did. */
static void tell_link(struct sbx_report *report, const struct link *link, const struct sbx_judgement *holder,
                      const struct sbx_location *location, const char *part, bool takes_turns)
{
    struct sbx_verdict *verdict = &report->verdict;
    verdict->culprit_doing[0] = '\0';
    char thread[SBX_THREAD_TEXT_BYTES], call[48], function[SBX_SHORT_NAME_BYTES], seen[SBX_SHORT_NAME_BYTES + 64];
    sbx_thread_text(report->stall, link->thread, thread);
    sbx_location_text(location, function);
    if (holder->class_ == SBX_CLASS_OFF_CPU) {
        sbx_call_name(holder->wait.kind, holder->wait.op, holder->wait.amount, call, sizeof call);
    }
    if (location != NULL && takes_turns) {
        sbx_evidence_add(verdict, "holder", link->thread,
                         "%s %s in %s, and waited for the same object itself in between: they take turns", thread, part,
                         function);
    } else if (location == NULL && holder->class_ == SBX_CLASS_OFF_CPU) {
        sbx_evidence_add(verdict, "holder", link->thread, "%s %s and was itself in %s, of which there is no stack%s",
                         thread, part, call, last_seen(report, link->thread, seen, sizeof seen));
        snprintf(verdict->culprit_doing, sizeof verdict->culprit_doing, "was in %.36s", call);
    } else if (location == NULL) {
        sbx_evidence_add(verdict, "holder", link->thread, "%s %s; what it was doing is not known%s", thread, part,
                         last_seen(report, link->thread, seen, sizeof seen));
    } else if (holder->class_ == SBX_CLASS_OFF_CPU) {
        sbx_evidence_add(verdict, "holder", link->thread, "%s %s and was itself in %s, called by %s", thread, part,
                         call, function);
        snprintf(verdict->culprit_doing, sizeof verdict->culprit_doing, "was in %.36s", call);
    } else if (holder->class_ == SBX_CLASS_ON_CPU) {
        snprintf(verdict->culprit_doing, sizeof verdict->culprit_doing, "computed");
        sbx_evidence_add(verdict, "holder", link->thread, "%s %s and computed in %s", thread, part, function);
    } else {
        sbx_evidence_add(verdict, "holder", link->thread, "%s %s and was last seen in %s", thread, part, function);
    }
    if (link->woke != NULL) {
        sbx_thread_text(report->stall, link->waker, thread);
    }
    if (link->woke != NULL && (link->woke->named || link->waker != link->thread)) { /* an address alone tells nothing */
        sbx_evidence_add(verdict, "waker", link->waker, "let it go: %s in %s", thread,
                         sbx_location_text(link->woke, function));
    }
    if (link->source == SBX_CULPRIT_INFERRED) {
        sbx_evidence_add(verdict, "inferred", (double)link->rivals,
                         link->rivals > 0 ? "no record shows it: %s is one of several that worked meanwhile"
                                          : "no record shows it: by what the threads did, it is %s",
                         thread);
    }
}

/* The newest stack that a thread had before a wait for it ended: later the thread did other things, and may have ended.
 * 0: none is known. */
static uint32_t stack_by_then(const struct sbx_stall *stall, uint32_t thread_index, int64_t end_ns)
{
    const struct sbx_stall_thread *thread = &stall->threads[thread_index];
    bool is_last_later = end_ns < 0 && thread->call_kind != 0 && -thread->call_ns > end_ns;
    for (size_t i = thread->record_count; end_ns < 0 && i-- > 0;) {
        const struct sbx_stall_record *record = &stall->records[thread->record_begin + i];
        if (record->stack != 0 && record->begin_ns <= end_ns) {
            return is_last_later ? record->stack : thread->last_stack;
        }
        is_last_later = is_last_later || record->stack != 0;
    }
    return is_last_later ? 0 : thread->last_stack;
}

static const struct sbx_location *place_of(const struct sbx_report *report, const struct link *link,
                                           const struct sbx_judgement *holder, int64_t end_ns, bool is_lock)
{
    const struct sbx_location *location = holder->location;
    if (location == NULL && !is_lock) {
        location = link->woke;
    }
    return location != NULL ? location : sbx_blame_leaf(report, stack_by_then(report->stall, link->thread, end_ns));
}

/* A thread that takes turns with others: the place where it usually wakes those that wait. The wake-up that ended this
 * wait may have been its last one, at the thread's end. NULL: it is not known to have woken a thread. */
static const struct sbx_location *usual_place(const struct sbx_report *report, const struct link *link, uint64_t object)
{
    enum {
        PLACES_MAX = 16
    };
    const struct sbx_stall_thread *thread = &report->stall->threads[link->thread];
    struct {
        const struct sbx_location *location;
        size_t count;
    } places[PLACES_MAX];
    size_t place_count = 0, usual = 0;
    for (size_t i = 0; i < thread->record_count && object != 0; i++) {
        const struct sbx_stall_record *record = &report->stall->records[thread->record_begin + i];
        const struct sbx_location *location =
            record->kind == SBX_RECORD_WAKE && record->object == object ? sbx_blame_leaf(report, record->stack) : NULL;
        size_t k = 0;
        while (location != NULL && k < place_count && strcmp(places[k].location->function, location->function) != 0) {
            k++;
        }
        if (location == NULL || k == PLACES_MAX) {
            continue;
        }
        if (k == place_count) {
            places[place_count].location = location;
            places[place_count++].count = 0;
        }
        usual = ++places[k].count > places[usual].count ? k : usual;
    }
    return place_count > 0 ? places[usual].location : NULL;
}

/* Where a thread held the thing for which it takes turns. It holds an interpreter's lock until the place where it waits
 * to get the lock back. NULL: not known. */
static const struct sbx_location *place_in_turns(const struct sbx_report *report, const struct link *link,
                                                 const struct sbx_judgement *holder, const struct sbx_wait *wait)
{
    if (wait->op == SBX_OP_RUNTIME_LOCK && holder->location != NULL) {
        return holder->location;
    }
    const struct sbx_location *usual = usual_place(report, link, wait->object);
    return usual != NULL ? usual : link->waker == link->thread ? link->woke : NULL;
}

/* The run-time whose single lock the thread waited for; NULL: another lock, or none. */
static const char *runtime_lock_of(const struct sbx_judgement *judgement)
{
    bool is_lock = judgement->cause == SBX_CAUSE_LOCK && judgement->location != NULL;
    return is_lock ? sbx_interpreter_lock_of(judgement->location->function) : NULL;
}

/* A runtime that reports such waits has one lock for all its threads. The objects would show this, but by default they
 * do not leave the machine. */
static bool is_interpreter_lock_of_both(const struct sbx_wait *one, const struct sbx_wait *other)
{
    return one->op == SBX_OP_RUNTIME_LOCK && other->op == SBX_OP_RUNTIME_LOCK;
}

/* A wait that is older than the records is measured in full, but what other threads did is known only as far as the
 * records reach. Judged over the whole wait, another thread would mostly have done nothing known. So the recorded part
 * is judged. */
static struct sbx_interval recorded_part(const struct sbx_stall *stall, struct sbx_interval waited)
{
    int64_t history_ns = stall->trigger.history_ns;
    if (history_ns > 0 && waited.begin_ns < -history_ns && waited.end_ns > -history_ns) {
        waited.begin_ns = -history_ns;
    }
    return waited;
}

void sbx_culprit_name(struct sbx_verdict *verdict, uint32_t thread, const struct sbx_location *location)
{
    static const struct sbx_location nowhere = {.function = "", .module = ""};
    verdict->culprit_thread = (int32_t)thread;
    verdict->culprit_at = location == NULL ? nowhere : *location;
    verdict->culprit_function = verdict->culprit_at.function;
}

int sbx_culprit_of_wait(struct sbx_report *report, const struct sbx_judgement *judgement)
{
    struct sbx_verdict *verdict = &report->verdict;
    bool is_cycle = sbx_deadlock_tell(report);
    uint32_t passed[CHAIN_MAX], waiter = report->stall->trigger.thread;
    struct sbx_wait wait = judgement->wait;
    struct sbx_interval waited = judgement->waited;
    wait.begin_ns = waited.begin_ns; /* a wait that times out and is begun again every second is one wait */
    wait.end_ns = waited.end_ns;
    enum wanted wanted = wanted_of(judgement);
    const char *runtime = runtime_lock_of(judgement);
    int first_source = SBX_CULPRIT_NONE;
    for (size_t length = 0; length < CHAIN_MAX; length++) {
        struct link link;
        int result = find_link(report, waiter, &wait, length == 0 && !sbx_culprit_is_told(judgement), &link);
        if (result != 0 || link.source == SBX_CULPRIT_NONE) {
            return result != 0 ? result : first_source;
        }
        for (size_t i = 0; i < length; i++) {
            if (passed[i] == link.thread) {
                return first_source;
            }
        }
        if (link.thread == report->stall->trigger.thread) {
            return first_source;
        }
        passed[length] = link.thread;
        struct sbx_judgement holder;
        result = sbx_judge_thread(report, link.thread, recorded_part(report->stall, waited), &holder);
        if (result != 0) {
            return result;
        }
        /* The awaited thread waits for the same object itself, so it had the object in between and takes turns with the
         * others. Its own wait does not lead to another thread. */
        bool takes_turns =
            is_wait_for_thread(&holder) && ((holder.wait.object != 0 && holder.wait.object == wait.object) ||
                                            is_interpreter_lock_of_both(&wait, &holder.wait) ||
                                            (runtime != NULL && runtime_lock_of(&holder) == runtime));
        const struct sbx_location *location = takes_turns ? place_in_turns(report, &link, &holder, &wait) : NULL;
        if (location == NULL) {
            location = place_of(report, &link, &holder, waited.end_ns, wanted == WANTS_LOCK);
        }
        sbx_culprit_name(verdict, link.thread, location);
        first_source = length == 0 ? (int)link.source : first_source;
        bool is_hunch = link.source == SBX_CULPRIT_INFERRED && !link.has_hint;
        bool is_guess = holder.class_ != SBX_CLASS_OFF_CPU && !takes_turns &&
                        (holder.location != NULL ? holder.is_biased : link.woke == NULL || wanted == WANTS_LOCK);
        verdict->culprit_certainty = (is_hunch ? HUNCH_CERTAINTY : 1) * (is_guess ? GUESS_CERTAINTY : 1);
        tell_link(report, &link, &holder, location, part_of(&link, wanted, wait.open), takes_turns);
        bool goes_on = !is_cycle && !takes_turns && is_wait_for_thread(&holder);
        wait = holder.wait;
        waited = holder.waited;
        wanted = wanted_of(&holder);
        waiter = link.thread;
        sbx_judgement_finish(&holder);
        if (!goes_on) {
            break;
        }
    }
    return first_source;
}

int sbx_culprit_perhaps(struct sbx_report *report, const struct sbx_judgement *judgement)
{
    int32_t thread = -1;
    size_t rivals = 0;
    bool has_hint = false;
    struct sbx_judgement other;
    char name[SBX_THREAD_TEXT_BYTES], duration[SBX_DURATION_TEXT_BYTES], function[SBX_SHORT_NAME_BYTES];
    sbx_evidence_add(&report->verdict, "peer", 0, "which process or thread has the other end of the pipe is not known");
    int result = infer(report, report->stall->trigger.thread, &judgement->wait, &thread, &rivals, &has_hint);
    if (result != 0 || thread < 0) {
        return result;
    }
    result = sbx_judge_thread(report, (uint32_t)thread, judgement->waited, &other);
    if (result != 0) {
        return result;
    }
    sbx_thread_text(report->stall, (uint32_t)thread, name);
    sbx_duration_text(other.function_ns, duration);
    sbx_evidence_add(&report->verdict, "meanwhile", thread,
                     "of this process, %s was at work all the while, %s of it in %s: perhaps it has the other end",
                     name, duration, sbx_location_text(other.location, function));
    sbx_judgement_finish(&other);
    return 0;
}

/* ---- the processor ---- */

int sbx_culprit_rivals_ns(struct sbx_report *report, const struct sbx_judgement *judgement, double *own_ns_out)
{
    const struct sbx_stall *stall = report->stall;
    *own_ns_out = 0;
    for (uint32_t thread = 0; thread < stall->thread_count; thread++) {
        struct sbx_time_split split;
        if (thread == stall->trigger.thread || stall->threads[thread].record_count == 0 ||
            stall->threads[thread].process != 0) {
            continue;
        }
        int result = sbx_time_split_make(stall, thread, judgement->split.interval, &split);
        if (result != 0) {
            return result;
        }
        *own_ns_out += split.on_cpu_ns;
        sbx_time_split_finish(&split);
    }
    return 0;
}

int sbx_culprit_of_contention(struct sbx_report *report, const struct sbx_judgement *judgement)
{
    struct sbx_verdict *verdict = &report->verdict;
    const struct sbx_stall *stall = report->stall;
    double most_ns = 0, all_ns = 0;
    uint32_t rival = 0, rivals = 0;
    for (uint32_t thread = 0; thread < stall->thread_count; thread++) {
        struct sbx_time_split split;
        if (thread == stall->trigger.thread || stall->threads[thread].record_count == 0 ||
            stall->threads[thread].process != 0) {
            continue;
        }
        int result = sbx_time_split_make(stall, thread, judgement->split.interval, &split);
        if (result != 0) {
            return result;
        }
        all_ns += split.on_cpu_ns;
        rivals += split.on_cpu_ns * 20 > split.wall_ns;
        if (split.on_cpu_ns > most_ns) {
            most_ns = split.on_cpu_ns;
            rival = thread;
        }
        sbx_time_split_finish(&split);
    }
    char duration[SBX_DURATION_TEXT_BYTES], name[SBX_THREAD_TEXT_BYTES], function[SBX_SHORT_NAME_BYTES];
    sbx_duration_text(all_ns, duration);
    if (all_ns * 2 < judgement->split.runnable_ns) {
        verdict->culprit_function = "external";
        sbx_evidence_add(
            verdict, "external", all_ns / 1e6,
            "all other threads of this process together used %s%s CPU time meanwhile: the rival is outside",
            all_ns < 1e3 ? "no" : duration, all_ns < 1e3 ? "" : " of");
        return 0;
    }
    struct sbx_judgement other;
    int result = sbx_judge_thread(report, rival, judgement->split.interval, &other);
    if (result != 0) {
        return result;
    }
    sbx_thread_text(stall, rival, name);
    sbx_culprit_name(verdict, rival, other.location);
    sbx_evidence_add(verdict, "rival", all_ns / 1e6,
                     "%u other threads of this process used %s of CPU meanwhile, most of it %s in %s", rivals, duration,
                     name, sbx_location_text(other.location, function));
    sbx_judgement_finish(&other);
    return 0;
}
