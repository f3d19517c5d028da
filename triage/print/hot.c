/* SPDX-License-Identifier: Apache-2.0 */
/* hot.c - the functions in which a thread spent the interval, with honest durations.
 *
 * A measured wait is exact. Samples of one function in a row, within one message and with nothing else between them,
 * are one stay: it lasted at least from the first to the last of them. It lasted at most from the sight before the
 * first to the sight after the last. A run of equal samples is a stay from its first look to its last. A stay is cut at
 * the ends of messages and of the interval. The function is the one a person should look at (blame.h), so that a wait
 * and the samples taken in it are under one name. */
#include "hot.h"

#include <stdlib.h>

#include "blame.h"
#include "interval.h"
#include "record_kinds.h"

enum {
    USUAL_MAX = 64, /* number of functions; with more, none of them has a share worth reporting */
};

/* Something seen in the thread's time, in order of its begin. */
struct sight {
    int64_t begin_ns, end_ns;
    const struct sbx_location *location; /* NULL: a cut, or a stack without a function to blame */
    uint64_t message;
    bool exact; /* a measured wait, or a cut: it lasted exactly from begin to end */
};

struct sights {
    struct sight *sights;
    size_t count;
};

static int by_begin(const void *a, const void *b)
{
    const struct sight *x = a, *y = b;
    if (x->begin_ns != y->begin_ns) {
        return x->begin_ns < y->begin_ns ? -1 : 1;
    }
    return x->end_ns < y->end_ns ? -1 : x->end_ns > y->end_ns;
}

/* Add what lies in the interval, clipped to it. */
static void add_sight(struct sights *sights, struct sbx_interval interval, struct sight sight)
{
    if (sight.end_ns < interval.begin_ns || sight.begin_ns > interval.end_ns) {
        return;
    }
    sight.begin_ns = sight.begin_ns < interval.begin_ns ? interval.begin_ns : sight.begin_ns;
    sight.end_ns = sight.end_ns > interval.end_ns ? interval.end_ns : sight.end_ns;
    sights->sights[sights->count++] = sight;
}

/* Samples that a thread takes of itself lie at its calls. If a function reads the clock, that call is in all of its
 * samples, although the thread left the call each time. If there are also looks by the clock, these tell what the
 * thread does. Then a sample at a call counts for the function of its stack that the looks found most: the caller, not
 * the call. */
struct usual {
    const struct sbx_location *location;
    uint64_t looks;
};

struct places {
    const struct sbx_report *report;
    struct usual usual[USUAL_MAX]; /* functions that looks by the clock were blamed on */
    size_t usual_count;
    bool unbiased;                    /* there are enough looks by the clock */
    const struct sbx_location **memo; /* by callstack: where a sample at a call counts; valid with `is_known` */
    bool *is_known;
};

static bool is_same_function(const struct sbx_location *a, const struct sbx_location *b)
{
    return a->function == b->function && a->module == b->module; /* interned */
}

static struct usual *find_usual(struct places *places, const struct sbx_location *location)
{
    for (size_t i = 0; i < places->usual_count; i++) {
        if (is_same_function(places->usual[i].location, location)) {
            return &places->usual[i];
        }
    }
    return NULL;
}

static bool learn_places(struct places *places, const struct sbx_report *report, uint32_t thread_index,
                         struct sbx_interval interval)
{
    const struct sbx_stall *stall = report->stall;
    const struct sbx_stall_thread *thread = &stall->threads[thread_index];
    uint64_t looks = 0;
    *places = (struct places){.report = report};
    places->memo = calloc((size_t)stall->callstack_count + 1, sizeof *places->memo);
    places->is_known = calloc((size_t)stall->callstack_count + 1, sizeof *places->is_known);
    if (places->memo == NULL || places->is_known == NULL) {
        return false;
    }
    for (size_t i = 0; i < thread->record_count; i++) {
        const struct sbx_stall_record *record = &stall->records[thread->record_begin + i];
        const struct sbx_location *location = NULL;
        if (sbx_record_is_unbiased(record) && record->end_ns > interval.begin_ns && record->end_ns <= interval.end_ns) {
            looks += sbx_record_looks(record);
            location = sbx_blame_leaf(report, record->stack);
        }
        struct usual *usual = location != NULL ? find_usual(places, location) : NULL;
        if (usual == NULL && location != NULL && places->usual_count < USUAL_MAX) {
            usual = &places->usual[places->usual_count++];
            *usual = (struct usual){location, 0};
        }
        if (usual != NULL) {
            usual->looks += sbx_record_looks(record);
        }
    }
    places->unbiased = looks >= SBX_UNBIASED_ENOUGH;
    return true;
}

static void forget_places(struct places *places)
{
    free(places->memo);
    free(places->is_known);
}

/* The function that a sample counts for. */
static const struct sbx_location *place_of(struct places *places, const struct sbx_stall_record *record)
{
    const struct sbx_report *report = places->report;
    const struct sbx_stall *stall = report->stall;
    bool is_biased = sbx_kind_is_running_sample(record->kind) && !sbx_record_is_unbiased(record);
    uint32_t stack = record->stack <= stall->callstack_count ? record->stack : 0;
    const struct sbx_location *place = sbx_blame_leaf(report, stack);
    if (!places->unbiased || !is_biased || places->is_known[stack]) {
        return places->unbiased && is_biased ? places->memo[stack] : place;
    }
    uint64_t most = 0;
    for (uint32_t id = stack; id != 0; id = stall->callstacks[id].parent) {
        uint32_t frame = stall->callstacks[id].frame;
        for (uint32_t at = report->location_begin[frame]; at < report->location_begin[frame + 1]; at++) {
            const struct usual *usual = find_usual(places, &report->locations[at]);
            if (usual != NULL && usual->looks > most) {
                most = usual->looks;
                place = &report->locations[at];
            }
        }
    }
    places->is_known[stack] = true;
    places->memo[stack] = place;
    return place;
}

static bool collect(const struct sbx_report *report, uint32_t thread_index, struct sbx_interval interval,
                    struct sights *sights)
{
    const struct sbx_stall *stall = report->stall;
    const struct sbx_stall_thread *thread = &stall->threads[thread_index];
    struct sbx_wait *waits;
    size_t wait_count;
    struct places places;
    if (!learn_places(&places, report, thread_index, interval)) {
        forget_places(&places);
        return false;
    }
    if (sbx_waits_create(stall, thread_index, &waits, &wait_count) != 0) {
        forget_places(&places);
        return false;
    }
    sights->sights = malloc((wait_count + 2 * thread->record_count + 1) * sizeof *sights->sights);
    if (sights->sights == NULL) {
        forget_places(&places);
        free(waits);
        return false;
    }
    for (size_t i = 0; i < wait_count; i++) {
        const struct sbx_wait *wait = &waits[i];
        add_sight(sights, interval,
                  (struct sight){wait->begin_ns, wait->end_ns,
                                 wait->kind == SBX_RECORD_IDLE ? NULL : sbx_blame_leaf(report, wait->stack), 0, true});
    }
    for (size_t i = 0; i < thread->record_count; i++) {
        const struct sbx_stall_record *record = &stall->records[thread->record_begin + i];
        if (sbx_kind_is_boundary(record->kind)) {
            add_sight(sights, interval, (struct sight){record->begin_ns, record->begin_ns, NULL, 0, true});
            add_sight(sights, interval, (struct sight){record->end_ns, record->end_ns, NULL, 0, true});
        } else if (sbx_kind_is_sample(record->kind) && sbx_waits_at(waits, wait_count, record->end_ns) == NULL) {
            add_sight(
                sights, interval,
                (struct sight){record->begin_ns, record->end_ns, place_of(&places, record), record->message, false});
        }
    }
    forget_places(&places);
    free(waits);
    qsort(sights->sights, sights->count, sizeof *sights->sights, by_begin);
    return true;
}

static bool is_same_stay(const struct sight *a, const struct sight *b)
{
    return !a->exact && !b->exact && a->location != NULL && b->location != NULL && a->message == b->message &&
           a->location->function == b->location->function && a->location->module == b->location->module;
}

/* One entry per stay or wait; returns their number. `hot` has room for all sights. If two overlap (a thread cannot do
 * that, but a payload may claim it), the time belongs to the first one. So the sum of the minimums is never more than
 * the interval. */
static size_t measure(const struct sights *sights, struct sbx_interval interval, struct sbx_hot *hot)
{
    size_t count = 0;
    int64_t taken_ns = interval.begin_ns; /* the time up to here belongs to earlier entries */
    for (size_t first = 0, end; first < sights->count; first = end) {
        const struct sight *sight = &sights->sights[first];
        int64_t from_ns = sight->begin_ns > taken_ns ? sight->begin_ns : taken_ns;
        int64_t to_ns = sight->end_ns > from_ns ? sight->end_ns : from_ns;
        for (end = first + 1; end < sights->count && is_same_stay(sight, &sights->sights[end]); end++) {
            to_ns = sights->sights[end].end_ns > to_ns ? sights->sights[end].end_ns : to_ns;
        }
        if (sight->location == NULL) {
            continue;
        }
        taken_ns = to_ns;
        int64_t before_ns = first > 0 ? sights->sights[first - 1].end_ns : interval.begin_ns;
        int64_t after_ns = end < sights->count ? sights->sights[end].begin_ns : interval.end_ns;
        before_ns = before_ns > from_ns || sight->exact ? from_ns : before_ns;
        after_ns = after_ns < to_ns || sight->exact ? to_ns : after_ns;
        hot[count++] = (struct sbx_hot){sight->location->function, sight->location->module,
                                        (double)(to_ns - from_ns) / 1e6, (double)(after_ns - before_ns) / 1e6};
    }
    return count;
}

static int by_function(const void *a, const void *b)
{
    const struct sbx_hot *x = a, *y = b;
    if (x->function != y->function) { /* interned: equal texts are one pointer */
        return (uintptr_t)x->function < (uintptr_t)y->function ? -1 : 1;
    }
    return (uintptr_t)x->module < (uintptr_t)y->module ? -1 : x->module != y->module;
}

static int by_time(const void *a, const void *b)
{
    const struct sbx_hot *x = a, *y = b;
    double x_ms = x->ms_min + x->ms_max, y_ms = y->ms_min + y->ms_max;
    return x_ms > y_ms ? -1 : x_ms < y_ms;
}

/* Add up the entries of one function. */
static size_t add_up(struct sbx_hot *hot, size_t count)
{
    size_t kept = 0;
    qsort(hot, count, sizeof *hot, by_function);
    for (size_t i = 0; i < count; i++) {
        if (kept > 0 && by_function(&hot[kept - 1], &hot[i]) == 0) {
            hot[kept - 1].ms_min += hot[i].ms_min;
            hot[kept - 1].ms_max += hot[i].ms_max;
        } else {
            hot[kept++] = hot[i];
        }
    }
    qsort(hot, kept, sizeof *hot, by_time);
    return kept;
}

size_t sbx_report_hot(const struct sbx_report *report, uint32_t thread, struct sbx_hot *out, size_t max)
{
    struct sbx_interval interval = {report->verdict.interval_begin_ns, report->verdict.interval_end_ns};
    struct sights sights = {NULL, 0};
    size_t given = 0;
    if (thread >= report->stall->thread_count || !collect(report, thread, interval, &sights)) {
        return 0;
    }
    struct sbx_hot *hot = malloc((sights.count + 1) * sizeof *hot);
    if (hot != NULL) {
        size_t count = add_up(hot, measure(&sights, interval, hot));
        double interval_ms = (double)(interval.end_ns - interval.begin_ns) / 1e6;
        for (; given < count && given < max; given++) {
            out[given] = hot[given];
            if (out[given].ms_max > interval_ms) { /* two neighbours may both have used the gap between them */
                out[given].ms_max = interval_ms;
            }
        }
    }
    free(hot);
    free(sights.sights);
    return given;
}
