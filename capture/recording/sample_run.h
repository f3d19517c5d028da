/* SPDX-License-Identifier: Apache-2.0 */
/* sample_run.h - equal neighbouring samples become one record with a begin, an end and a count.
 *
 * A sample that is equal to the one before it (stack, message, kind) only updates the run in its thread's entry: a few
 * stores instead of a record. The first sample of a run is in the ring already. When the run ends, one record stands
 * for the others. A run ends after SBX_RUN_NS at the latest, so that CPU time and counters are known that often.
 *
 * Synchronization: one writer at a time: the thread itself under its `inside` flag, the watch thread for `observed`, or
 * the thread that retires a dead one. Readers copy word by word and look at `sequence` before and after (copy_run() in
 * agent/snapshot/snapshot_copy.c). They exclude nobody. */
#ifndef SBX_SAMPLE_RUN_H
#define SBX_SAMPLE_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "marks.h"
#include "order.h"
#include "recording_format.h"

/* 100 ms: a stall worth a report lasts longer, so a run hides only details shorter than what is judged. */
#define SBX_RUN_NS UINT64_C(100000000)

static inline void sbx_run_open(struct sbx_repeat *run)
{
    /* Odd, also when it was odd before, because a writer may have ended in the middle of a change.
     *
     * relaxed: the fence keeps it before the fields */
    sbx_store_relaxed(&run->sequence, (run->sequence + 1) | 1);
    sbx_fence_release(); /* order: release run.sequence - odd before any new field */
}

static inline void sbx_run_close(struct sbx_repeat *run)
{
    sbx_store_release(&run->sequence, run->sequence + 1); /* order: release run.sequence - the fields are whole */
}

/* Begin a run with a sample that has just been put into the ring. */
SBX_SIGNAL_SAFE static inline void sbx_run_begin(struct sbx_repeat *run, const struct sbx_record *sample)
{
    sbx_run_open(run);
    run->stack = sample->stack;
    run->repeats = 0;
    run->kind = sample->kind;
    run->op = sample->op;
    run->fd_class = sample->fd_class;
    run->flags = sample->flags & (uint8_t)~SBX_FLAG_USAGE;
    run->begin_ns = run->end_ns = sample->end_ns;
    run->message = sample->message;
    run->object = sample->object;
    run->amount = sample->kind == SBX_RECORD_ASYNC ? 0 : sample->amount; /* a signal's delay is only that sample's */
    sbx_run_close(run);
}

/* If the sample repeats the run, add it to the run and return true. */
SBX_SIGNAL_SAFE static inline bool sbx_run_extend(struct sbx_repeat *run, const struct sbx_record *sample)
{
    if (run->stack != sample->stack || run->kind != sample->kind || run->message != sample->message ||
        run->op != sample->op || run->object != sample->object || sample->flags != run->flags ||
        sample->end_ns - run->begin_ns > SBX_RUN_NS) {
        return false;
    }
    sbx_run_open(run);
    run->repeats++;
    run->end_ns = sample->end_ns;
    run->cpu_ns = sample->cpu_ns;
    run->alloc_count = sample->alloc_count;
    run->alloc_bytes = sample->alloc_bytes;
    sbx_run_close(run);
    return true;
}

/* Make the record of the run's repeats. False: there are none, or the writer ended in the middle of a change. For the
 * writer, or for a thread that acts for a dead writer. */
SBX_SIGNAL_SAFE static inline bool sbx_run_tell(const struct sbx_repeat *run, uint32_t thread,
                                                struct sbx_record *record_out)
{
    if (run->stack == 0 || run->repeats == 0 || run->sequence % 2 != 0) {
        return false;
    }
    *record_out = (struct sbx_record){.begin_ns = run->begin_ns,
                                      .end_ns = run->end_ns,
                                      .cpu_ns = run->cpu_ns,
                                      .alloc_count = run->alloc_count,
                                      .alloc_bytes = run->alloc_bytes,
                                      .message = run->message,
                                      .object = run->object,
                                      .amount = run->amount,
                                      .thread = thread,
                                      .stack = run->stack,
                                      .repeats = run->repeats,
                                      .kind = run->kind,
                                      .op = run->op,
                                      .fd_class = run->fd_class,
                                      .flags = run->flags};
    return true;
}

/* End the run: no run is open any more. */
SBX_SIGNAL_SAFE static inline void sbx_run_end(struct sbx_repeat *run)
{
    if (run->stack != 0 || run->sequence % 2 != 0) {
        sbx_run_open(run);
        run->stack = 0;
        run->repeats = 0;
        sbx_run_close(run);
    }
}

#endif
