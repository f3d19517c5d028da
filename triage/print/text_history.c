/* SPDX-License-Identifier: Apache-2.0 */
/* text_history.c - what the judged thread did before the trigger, in as few lines as tell it.
 *
 * A loop of two seconds leaves hundreds of steps that differ only in their time. Neighbouring steps that look alike are
 * joined into one stay. A run of stays of a few kinds, in any order, is joined into one fold, which has one line per
 * kind. */
#include "text_lines.h"

#include <stdlib.h>
#include <string.h>

#include "blame.h"
#include "cause.h"
#include "history.h"
#include "names.h"
#include "record_kinds.h"
#include "short_name.h"
#include "verdict_words.h"

enum {
    STEPS_MAX = 4096,
    FOLDS_SHOWN = 24,
    FOLD_KINDS = 4, /* with more kinds a reader could not follow the pattern */
    PATH_FUNCTIONS = 5,
    PATH_NAME = 40 /* bytes of a function's name in a path */
};

/* Neighbouring steps that look alike to a person. If a wait was measured, looks at the blocked thread during that wait
 * tell nothing new and are left out. */
struct stay {
    const struct sbx_stall_record *first, *last;
    size_t steps;
    int64_t ns;     /* of all steps together */
    uint64_t looks; /* samples: a run of equal ones is one step */
    double cpu_ms;  /* -1 not known */
    int64_t alloc_count, alloc_bytes;
    const char *functions[PATH_FUNCTIONS]; /* functions with names, not of base libraries, leaf first; NULL ends */
    bool unnamed_leaf;
};

static void read_path(const struct sbx_report *report, uint32_t stack, struct stay *stay)
{
    const struct sbx_stall *stall = report->stall;
    size_t count = 0;
    for (uint32_t id = stack; id != 0 && count < PATH_FUNCTIONS; id = stall->callstacks[id].parent) {
        uint32_t frame = stall->callstacks[id].frame;
        for (uint32_t at = report->location_begin[frame]; at < report->location_begin[frame + 1]; at++) {
            const struct sbx_location *location = &report->locations[at];
            if (count < PATH_FUNCTIONS && sbx_blame_counts(report, frame, location, SBX_BLAME_NAMED)) {
                stay->functions[count++] = location->function;
            } else if (count == 0 && sbx_blame_counts(report, frame, location, SBX_BLAME_CODE)) {
                stay->unnamed_leaf = true;
            }
        }
    }
}

static bool is_alike(const struct stay *stay, const struct stay *next)
{
    bool both_samples = sbx_kind_is_running_sample(stay->first->kind) && sbx_kind_is_running_sample(next->first->kind);
    bool both_calls = stay->first->kind == next->first->kind && stay->first->op == next->first->op &&
                      stay->first->amount == next->first->amount;
    return (both_samples || both_calls) && stay->first->message == next->first->message &&
           memcmp(stay->functions, next->functions, sizeof stay->functions) == 0;
}

/* Whether a measured wait among the later steps covers the moment of step `at`. Waits are recorded when they end, so
 * only the next recorded wait can cover it. */
static bool is_within_wait(const struct sbx_history_step *steps, size_t step_count, size_t at)
{
    for (size_t i = at + 1; i < step_count; i++) {
        if (sbx_kind_is_wait(steps[i].record->kind)) {
            return steps[i].record->begin_ns <= steps[at].record->begin_ns;
        }
    }
    return false;
}

static void add_stay(struct stay *sum, const struct stay *stay)
{
    sum->last = stay->last;
    sum->steps += stay->steps;
    sum->ns += stay->ns;
    sum->looks += stay->looks;
    sum->cpu_ms = sum->cpu_ms < 0 ? stay->cpu_ms : sum->cpu_ms + (stay->cpu_ms > 0 ? stay->cpu_ms : 0);
    sum->alloc_count += stay->alloc_count;
    sum->alloc_bytes += stay->alloc_bytes;
}

static size_t make_stays(const struct sbx_report *report, const struct sbx_history_step *steps, size_t step_count,
                         struct stay *stays)
{
    size_t count = 0;
    for (size_t i = 0; i < step_count; i++) {
        if (steps[i].record->kind == SBX_RECORD_BLOCKED && is_within_wait(steps, step_count, i)) {
            continue;
        }
        struct stay stay = {.first = steps[i].record,
                            .last = steps[i].record,
                            .steps = 1,
                            .ns = steps[i].record->end_ns - steps[i].record->begin_ns,
                            .looks = sbx_record_looks(steps[i].record),
                            .cpu_ms = steps[i].cpu_ms,
                            .alloc_count = steps[i].alloc_count,
                            .alloc_bytes = steps[i].alloc_bytes};
        read_path(report, steps[i].record->stack, &stay);
        if (count == 0 || !is_alike(&stays[count - 1], &stay)) {
            stays[count++] = stay;
            continue;
        }
        add_stay(&stays[count - 1], &stay);
        stays[count - 1].ns = stay.last->end_ns - stays[count - 1].first->begin_ns;
    }
    return count;
}

/* ---- folds ---- */

/* A run of stays of a few kinds: the sum of each kind, in the order of their first stays. */
struct fold {
    size_t stays, kind_count;
    struct stay kinds[FOLD_KINDS];
    size_t times[FOLD_KINDS];
};

/* Whether two stays are alike, ignoring their message and how many bytes were moved. */
static bool is_same_kind(const struct stay *a, const struct stay *b)
{
    bool both_samples = sbx_kind_is_running_sample(a->first->kind) && sbx_kind_is_running_sample(b->first->kind);
    bool both_calls = a->first->kind == b->first->kind && a->first->op == b->first->op;
    return (both_samples || both_calls) && a->unnamed_leaf == b->unnamed_leaf &&
           memcmp(a->functions, b->functions, sizeof a->functions) == 0;
}

/* The longest run from the beginning of `stays` that has at most `kinds_max` kinds. */
static void fold_run(const struct stay *stays, size_t count, size_t kinds_max, struct fold *fold)
{
    *fold = (struct fold){0};
    while (fold->stays < count) {
        const struct stay *stay = &stays[fold->stays];
        size_t kind = 0;
        while (kind < fold->kind_count && !is_same_kind(&fold->kinds[kind], stay)) {
            kind++;
        }
        if (kind == kinds_max) {
            return;
        }
        if (kind == fold->kind_count) {
            fold->kinds[fold->kind_count++] = *stay;
        } else {
            add_stay(&fold->kinds[kind], stay);
        }
        fold->times[kind]++;
        fold->stays++;
    }
}

/* A fold must save lines, and no stay that came only once may be hidden in it. */
static bool is_worth_folding(const struct fold *fold)
{
    for (size_t kind = 0; kind < fold->kind_count; kind++) {
        if (fold->times[kind] < 2) {
            return false;
        }
    }
    return fold->stays > fold->kind_count + 1 || fold->kind_count == 1;
}

/* The fold that begins here and shows the most stays in the fewest lines; a fold of one stay if nothing repeats. */
static void make_fold(const struct stay *stays, size_t count, struct fold *fold_out)
{
    fold_run(stays, count > 0 ? 1 : 0, 1, fold_out);
    size_t saved = 0;
    for (size_t kinds = 1; kinds <= FOLD_KINDS; kinds++) {
        struct fold fold;
        fold_run(stays, count, kinds, &fold);
        if (is_worth_folding(&fold) && fold.stays - fold.kind_count > saved) {
            saved = fold.stays - fold.kind_count;
            *fold_out = fold;
        }
    }
}

/* ---- lines ---- */

/* What the stay was: "199 samples, every 10.0 ms", "nanosleep, 2.00 s". */
static void put_stay_kind(FILE *text, const struct sbx_report *report, const struct stay *stay)
{
    const struct sbx_stall_record *first = stay->first;
    char call[48], duration[SBX_DURATION_TEXT_BYTES];
    sbx_duration_text((double)(stay->last->end_ns - first->begin_ns), duration);
    sbx_call_name(first->kind, first->op, first->amount, call, sizeof call);
    const char *plural = stay->looks == 1 ? "" : "s";
    if (sbx_kind_is_running_sample(first->kind)) {
        fprintf(text, "%llu sample%s", (unsigned long long)stay->looks, plural);
        /* If the first record of the stay is a run, all of its looks come after its begin: each has a gap before it. */
        uint64_t gaps = stay->looks - (first->repeats == 0);
        if (gaps > 0) {
            fprintf(text, ", every %.1f ms", (double)(stay->last->end_ns - first->begin_ns) / 1e6 / (double)gaps);
        }
    } else if (first->kind == SBX_RECORD_BLOCKED && first->op == SBX_OP_RUNNING) {
        fprintf(text, "seen ready to run, %llu time%s", (unsigned long long)stay->looks, plural);
    } else if (first->kind == SBX_RECORD_BLOCKED) {
        fprintf(text, "seen blocked in %s, %llu time%s", call, (unsigned long long)stay->looks, plural);
    } else if (first->kind == SBX_RECORD_MESSAGE) {
        char kind[SBX_KIND_TEXT_BYTES];
        sbx_report_kind_text(report, first->op, kind);
        fprintf(text, "%s%s%s that took %s ended", first->amount > 1 ? "messages" : "the message",
                kind[0] != '\0' ? " " : "", kind, duration);
    } else if (first->kind == SBX_RECORD_FRAME) {
        fprintf(text, "%s that took %s ended", first->amount > 1 ? "frames" : "the frame", duration);
    } else if (first->kind == SBX_RECORD_WAKE) {
        fprintf(text, "let a waiter go: %s", call);
    } else {
        fprintf(text, "%s, %s%s", call, duration, stay->steps > 1 ? " with several calls" : "");
    }
}

/* The sum of one kind of a fold: "386 samples", "nanosleep, 200 times, 1.90 s in all". */
static void put_kind_sum(FILE *text, const struct stay *sum, size_t times)
{
    char call[48], duration[SBX_DURATION_TEXT_BYTES];
    sbx_duration_text((double)sum->ns, duration);
    if (sbx_kind_is_running_sample(sum->first->kind)) {
        fprintf(text, "%llu samples, %zu times", (unsigned long long)sum->looks, times);
        return;
    }
    sbx_call_name(sum->first->kind, sum->first->op, 0, call, sizeof call);
    if (sum->first->kind == SBX_RECORD_MESSAGE || sum->first->kind == SBX_RECORD_FRAME) {
        fprintf(text, "%zu %s ended, %s in all", times, sum->first->kind == SBX_RECORD_MESSAGE ? "messages" : "frames",
                duration);
    } else if (sum->first->kind == SBX_RECORD_WAKE) {
        fprintf(text, "let a waiter go %zu times: %s", times, call);
    } else if (sum->first->kind == SBX_RECORD_BLOCKED) {
        fprintf(text, "seen %s%s, %llu times", sum->first->op == SBX_OP_RUNNING ? "ready to run" : "blocked in ",
                sum->first->op == SBX_OP_RUNNING ? "" : call, (unsigned long long)sum->looks);
    } else {
        fprintf(text, "%s, %zu times, %s in all", call, times, duration);
    }
}

static void put_costs(FILE *text, const struct stay *stay)
{
    if (stay->cpu_ms >= 0.05) {
        fprintf(text, "; %.1f ms CPU", stay->cpu_ms);
    }
    if (stay->alloc_count > 0) {
        fprintf(text, ", %lld allocation%s, %.1f KiB", (long long)stay->alloc_count, stay->alloc_count == 1 ? "" : "s",
                (double)stay->alloc_bytes / 1024);
    }
    fputc('\n', text);
}

static void put_path(FILE *text, const struct stay *stay)
{
    char name[SBX_SHORT_NAME_BYTES];
    if (stay->first->stack == 0) {
        return;
    }
    fprintf(text, "%6s", "");
    if (stay->unnamed_leaf) {
        fputs(FAINT "(no name)" PLAIN " < ", text);
    }
    for (size_t i = 0; i < PATH_FUNCTIONS && stay->functions[i] != NULL; i++) {
        fprintf(text, "%s%s", i > 0 ? " < " : "", sbx_short_name(stay->functions[i], PATH_NAME, name));
    }
    fputs(stay->functions[PATH_FUNCTIONS - 1] != NULL ? " < ...\n" : "\n", text);
}

static void put_fold(FILE *text, const struct sbx_report *report, const struct fold *fold, const struct stay *last)
{
    const struct stay *stay = &fold->kinds[0];
    double from_ms = (double)stay->first->begin_ns / 1e6, to_ms = (double)last->last->end_ns / 1e6;
    bool is_moment = (fold->stays == 1 && sbx_kind_is_boundary(stay->first->kind)) || to_ms - from_ms < 0.05;
    if (is_moment) {
        fprintf(text, "  " STRONG "%24.1f" PLAIN " ms  ", to_ms);
    } else {
        fprintf(text, "  " STRONG "%10.1f to %10.1f" PLAIN " ms  ", from_ms, to_ms);
    }
    if (fold->kind_count > 1) {
        fprintf(text, "%zu steps of %zu kinds, in turn:\n", fold->stays, fold->kind_count);
    }
    for (size_t kind = 0; kind < fold->kind_count; kind++) {
        if (fold->kind_count > 1) {
            fputs("    - ", text);
        }
        if (fold->stays == 1) {
            put_stay_kind(text, report, stay);
        } else {
            put_kind_sum(text, &fold->kinds[kind], fold->times[kind]);
        }
        put_costs(text, &fold->kinds[kind]);
        put_path(text, &fold->kinds[kind]);
    }
}

int sbx_text_history(FILE *text, const struct sbx_report *report)
{
    char name[SBX_THREAD_TEXT_BYTES];
    struct sbx_history_step *steps = malloc(STEPS_MAX * sizeof *steps);
    struct stay *stays = malloc(STEPS_MAX * sizeof *stays);
    if (steps == NULL || stays == NULL) {
        free(stays);
        free(steps);
        return -1;
    }
    sbx_thread_text(report->stall, report->stall->trigger.thread, name);
    size_t step_count = sbx_history_steps(report, steps, STEPS_MAX);
    size_t count = make_stays(report, steps, step_count, stays), folds = 0;
    struct fold fold;
    for (size_t i = 0; i < count; i += fold.stays) {
        make_fold(stays + i, count - i, &fold);
        folds++;
    }
    fprintf(text, "\n" STRONG "Before the trigger: %s" PLAIN "\n", name);
    if (count == 0) {
        fputs("  nothing was recorded\n", text);
    }
    for (size_t i = 0, shown = 0; i < count; i += fold.stays, shown++) {
        make_fold(stays + i, count - i, &fold);
        bool is_skipped = folds > FOLDS_SHOWN && shown >= FOLDS_SHOWN / 2 && folds - shown > FOLDS_SHOWN / 2;
        if (!is_skipped) {
            put_fold(text, report, &fold, &stays[i + fold.stays - 1]);
        } else if (shown == FOLDS_SHOWN / 2) {
            fprintf(text, "  ... %zu more, in --format json ...\n", folds - FOLDS_SHOWN);
        }
    }
    free(stays);
    free(steps);
    return 0;
}
