/* SPDX-License-Identifier: Apache-2.0 */
/* thread_judge.c - what one thread did in an interval, and which function stands for it.
 *
 * The class comes first, by the largest share of time. Then the cause within the class, then the function within the
 * cause. So ten functions that computed 0.1 s each do not outvote one that slept 2 s. */
#include "thread_judge.h"

#include "cpu_judge.h"
#include "pause_judge.h"

/* ---- counters ---- */

static void count_records(const struct sbx_stall *stall, uint32_t thread_index, struct sbx_judgement *judgement)
{
    const struct sbx_stall_thread *thread = &stall->threads[thread_index];
    const struct sbx_stall_record *before = NULL, *last = NULL;
    for (size_t i = 0; i < thread->record_count; i++) {
        const struct sbx_stall_record *record = &stall->records[thread->record_begin + i];
        if (record->end_ns <= judgement->split.interval.begin_ns) {
            before = record;
            continue;
        }
        if (record->begin_ns >= judgement->split.interval.end_ns && record->begin_ns > 0) {
            break;
        }
        before = before == NULL ? record : before;
        last = record;
        judgement->samples += record->stack != 0;
        judgement->stacks_lost += record->stack_lost;
    }
    bool known = last != NULL && before != last && last->alloc_count >= before->alloc_count &&
                 last->alloc_bytes >= before->alloc_bytes;
    judgement->alloc_count = known ? last->alloc_count - before->alloc_count : -1;
    judgement->alloc_bytes = known ? last->alloc_bytes - before->alloc_bytes : -1;
}

/* ---- the whole ---- */

#define BUSY_NS_MIN (100e6)

static bool has_pause_for_memory(const struct sbx_time_split *split)
{
    for (size_t i = 0; i < split->pause_count; i++) {
        if (split->pauses[i].wait.cause == SBX_CAUSE_MEMORY && split->pauses[i].ns > 0) {
            return true;
        }
    }
    return false;
}

static void pick_class(struct sbx_judgement *judgement)
{
    const struct sbx_time_split *split = &judgement->split;
    double known_ns = split->on_cpu_ns + split->paused_ns + split->runnable_ns + split->faulting_ns;
    double busy_ns = split->wall_ns - split->idle_ns;
    /* A deadline may fire when the work that missed it is over and the loop waits for work again. Then a fifth of the
     * time is enough. */
    bool is_idle = split->idle_ns * 2 >= split->wall_ns && (busy_ns < BUSY_NS_MIN || busy_ns * 5 < split->wall_ns);
    if (known_ns <= 0 || is_idle || known_ns * 2 < busy_ns) {
        return;
    }
    judgement->class_ = SBX_CLASS_ON_CPU;
    judgement->class_ns = split->on_cpu_ns;
    if (split->paused_ns + split->faulting_ns > judgement->class_ns) {
        judgement->class_ = SBX_CLASS_OFF_CPU;
        judgement->class_ns = split->paused_ns + split->faulting_ns;
        judgement->is_faulting = split->faulting_ns > split->paused_ns && !has_pause_for_memory(split);
    }
    if (split->runnable_ns > judgement->class_ns) {
        judgement->class_ = SBX_CLASS_RUNNABLE;
        judgement->class_ns = split->runnable_ns;
        judgement->is_faulting = false;
    }
}

/* Some waits were over and went on only until there was a processor. If that is nine tenths of the waiting time, the
 * waits did not keep the thread. If it is less, the busy machine only made the waits longer, and the program can
 * improve that it waits so often. */
static void move_delay_out_of_waits(struct sbx_time_split *split)
{
    double moved_ns = split->delay_in_waits_ns;
    if (moved_ns * 10 <= split->paused_ns * 9) {
        return;
    }
    double kept = 1 - moved_ns / split->paused_ns;
    for (size_t i = 0; i < split->pause_count; i++) {
        split->pauses[i].ns *= kept;
    }
    split->paused_ns -= moved_ns;
    split->runnable_ns += moved_ns;
    split->delay_in_waits_ns = 0;
}

int sbx_judge_thread(const struct sbx_report *report, uint32_t thread, struct sbx_interval interval,
                     struct sbx_judgement *judgement_out)
{
    *judgement_out = (struct sbx_judgement){0};
    int result = sbx_time_split_make(report->stall, thread, interval, &judgement_out->split);
    if (result != 0) {
        return result;
    }
    count_records(report->stall, thread, judgement_out);
    move_delay_out_of_waits(&judgement_out->split);
    pick_class(judgement_out);
    if (judgement_out->is_faulting) {
        result = sbx_judge_cpu(report, thread, judgement_out); /* it faults where it runs, between two faults */
        judgement_out->cause = judgement_out->on_cpu_cause = SBX_CAUSE_MEMORY;
        judgement_out->cause_ns = judgement_out->split.faulting_ns;
        judgement_out->function_ns = judgement_out->cause_ns * judgement_out->path.share;
    } else if (judgement_out->class_ == SBX_CLASS_OFF_CPU) {
        result = sbx_judge_pauses(report, judgement_out);
    } else if (judgement_out->class_ != 0) {
        result = sbx_judge_cpu(report, thread, judgement_out); /* RUNNABLE: the function it was ready for */
        if (judgement_out->class_ == SBX_CLASS_RUNNABLE) {
            judgement_out->cause = SBX_CAUSE_CPU_CONTENTION;
            judgement_out->cause_ns = judgement_out->split.runnable_ns;
            judgement_out->function_ns = judgement_out->split.runnable_ns;
        }
    }
    if (result != 0) {
        sbx_judgement_finish(judgement_out);
    }
    return result;
}

void sbx_judgement_finish(struct sbx_judgement *judgement)
{
    sbx_time_split_finish(&judgement->split);
}
