/* SPDX-License-Identifier: Apache-2.0 */
/* deoptimized.c - a stall because a runtime discarded its compiled code.
 *
 * Every program does this now and then while it warms up, and soon has compiled code again. So the number of times does
 * not decide. What decides is whether looks found this thread, for most of its time, discarding code or running in
 * functions that had been compiled before and ran without compiled code. */
#include "deoptimized.h"

#include <stdio.h>
#include <string.h>

#include "kernel_growth.h"
#include "known_names.h"
#include "look_stack.h"
#include "record_kinds.h"
#include "verdict_words.h"

enum {
    LOOKS_MIN = 4,
    FUNCTIONS_MAX = 16, /* functions whose code it was that are counted apart */
    FUNCTIONS_TOLD = 3,
    TOLD_BYTES = 160
};
#define SHARE_MIN 0.5 /* of the time in which it ran or waited; docs/ATTRIBUTION.md has values of ordinary programs */

struct function {
    const struct sbx_location *location;
    uint64_t looks;
};

struct looks {
    uint64_t all, deoptimized;
    struct function functions[FUNCTIONS_MAX]; /* that were interpreted though they had been compiled */
    size_t function_count;
};

/* Is the stack one of deoptimization? *function_out: the function whose code it was if the runtime tells it, else NULL.
 * Work that the virtual machine does for an interpreted method does not count as interpreting. The exception is the
 * count of calls that decides on compiling the method again. */
static bool is_deoptimized(const struct sbx_report *report, uint32_t stack, const struct sbx_location **function_out)
{
    static const char counting[] = "InterpreterRuntime::frequency_counter_overflow";
    const struct sbx_stall *stall = report->stall;
    bool is_behind = false, is_native = false, is_counting = false;
    *function_out = NULL;
    for (uint32_t id = stack <= stall->callstack_count ? stack : 0; id != 0; id = stall->callstacks[id].parent) {
        uint32_t frame = stall->callstacks[id].frame;
        for (uint32_t at = report->location_begin[frame]; at < report->location_begin[frame + 1]; at++) {
            const struct sbx_location *location = &report->locations[at];
            if (is_behind) {
                *function_out = location;
                return true;
            }
            if (location->named && sbx_is_deoptimization(location)) {
                if (!location->logical) {
                    return true; /* the machine discards code: no frame surely tells whose code it is */
                }
                if (is_native && !is_counting) {
                    return false;
                }
                is_behind = true;
            }
            is_native |= stall->frames[frame].kind == SBX_FRAME_CODE && !location->logical;
            is_counting |= location->named && strncmp(location->function, counting, sizeof counting - 1) == 0;
        }
    }
    return is_behind;
}

static void add_function(struct looks *looks, const struct sbx_location *location, uint64_t count)
{
    for (size_t i = 0; i < looks->function_count; i++) {
        if (looks->functions[i].location->function == location->function) {
            looks->functions[i].looks += count;
            return;
        }
    }
    if (looks->function_count < FUNCTIONS_MAX) {
        looks->functions[looks->function_count++] = (struct function){location, count};
    }
}

static void look(const struct sbx_report *report, struct sbx_interval interval, struct looks *looks)
{
    const struct sbx_stall *stall = report->stall;
    const struct sbx_stall_thread *thread = &stall->threads[stall->trigger.thread];
    memset(looks, 0, sizeof *looks);
    for (size_t i = 0; i < thread->record_count; i++) {
        const struct sbx_stall_record *record = &stall->records[thread->record_begin + i];
        if (record->kind != SBX_RECORD_ASYNC || record->end_ns <= interval.begin_ns ||
            record->end_ns > interval.end_ns) {
            continue;
        }
        const struct sbx_location *function;
        uint64_t count = sbx_record_looks(record);
        bool is = is_deoptimized(report, sbx_look_stack(stall, thread, i), &function);
        looks->all += count;
        looks->deoptimized += is ? count : 0;
        if (function != NULL) {
            add_function(looks, function, count);
        }
    }
}

/* The time of the virtual machine's waits while it discards code: it makes all threads stand still for that. */
static double waited_ns(const struct sbx_report *report, const struct sbx_time_split *split)
{
    const struct sbx_location *function;
    double ns = 0;
    for (size_t i = 0; i < split->pause_count; i++) {
        ns += is_deoptimized(report, split->pauses[i].wait.stack, &function) ? split->pauses[i].ns : 0;
    }
    return ns;
}

static void tell_functions(struct looks *looks, struct sbx_verdict *verdict)
{
    char told[TOLD_BYTES] = "", name[SBX_SHORT_NAME_BYTES];
    for (int turn = 0; turn < FUNCTIONS_TOLD; turn++) {
        struct function *most = NULL;
        for (size_t i = 0; i < looks->function_count; i++) {
            bool is_more = looks->functions[i].looks > (most != NULL ? most->looks : 0);
            most = is_more ? &looks->functions[i] : most;
        }
        if (most == NULL) {
            break;
        }
        size_t used = strlen(told);
        snprintf(told + used, sizeof told - used, "%s%s", turn > 0 ? ", " : "",
                 sbx_location_text(most->location, name));
        most->looks = 0;
    }
    if (told[0] != '\0') {
        sbx_evidence_add(verdict, "given_up", (double)looks->function_count, "ran without its optimized code: %s",
                         told);
    }
}

/* The share of the time in which the thread ran or waited. */
static double share_of(const struct sbx_report *report, const struct sbx_time_split *split, const struct looks *looks)
{
    double on_cpu = looks->all >= LOOKS_MIN ? (double)looks->deoptimized / (double)looks->all : 0;
    double busy_ns = split->on_cpu_ns + split->paused_ns;
    return busy_ns > 0 ? (on_cpu * split->on_cpu_ns + waited_ns(report, split)) / busy_ns : 0;
}

static struct sbx_kernel_growth growth_of(const struct sbx_report *report, const struct sbx_judgement *judgement,
                                          enum sbx_kernel_count what)
{
    return sbx_kernel_growth_of(report->stall, report->stall->trigger.thread, what, judgement->split.interval);
}

/* How often the runtime did that meanwhile, if the counts were read around most of the time. */
static void tell_counts(const struct sbx_report *report, const struct sbx_judgement *judgement,
                        struct sbx_verdict *verdict)
{
    char span[SBX_DURATION_TEXT_BYTES];
    struct sbx_kernel_growth frames = growth_of(report, judgement, SBX_KERNEL_DEOPTIMIZED),
                             compilations = growth_of(report, judgement, SBX_KERNEL_COMPILED);
    if (frames.is_known && compilations.is_known && frames.value + compilations.value >= 1) {
        sbx_duration_text(judgement->split.wall_ns, span);
        sbx_evidence_add(verdict, "recompiled", compilations.value,
                         "in %s the runtime deoptimized %.0f frames and began %.0f compilations", span, frames.value,
                         compilations.value);
    }
}

bool sbx_deoptimized_judge(struct sbx_report *report, struct sbx_judgement *judgement)
{
    const struct sbx_stall *stall = report->stall;
    struct sbx_verdict *verdict = &report->verdict;
    struct looks looks;
    uint64_t any;
    if (judgement->class_ == 0 || !sbx_kernel_value_at(stall, stall->trigger.thread, SBX_KERNEL_DEOPTIMIZED,
                                                       judgement->split.interval.end_ns, &any)) {
        return false;
    }
    look(report, judgement->split.interval, &looks);
    double share = share_of(report, &judgement->split, &looks);
    if (share < SHARE_MIN) {
        return false;
    }
    judgement->on_cpu_cause = SBX_CAUSE_DEOPTIMIZATION;
    if (judgement->class_ != SBX_CLASS_RUNNABLE) { /* else the users of the processor come first */
        verdict->cause = judgement->cause = SBX_CAUSE_DEOPTIMIZATION;
    }
    sbx_evidence_add(verdict, "deoptimization", share,
                     "for %.0f %% of its time the thread was at giving compiled code up (deoptimization), or in the "
                     "interpreter or slower "
                     "code in what had been compiled",
                     100 * share);
    tell_counts(report, judgement, verdict);
    tell_functions(&looks, verdict);
    return true;
}
