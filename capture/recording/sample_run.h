/* SPDX-License-Identifier: Apache-2.0 */
/* sample_run.h - equal neighbouring samples become one record with a begin, an end and a count.
 *
 * A sample that finds what the one before it found (stack, message, kind) only moves the run of its thread on, in the
 * thread's entry: a few stores instead of a record. The first sample of a run is in the ring already; when the run ends,
 * one record tells of the others. A run is ended after SBX_RUN_NS, so that CPU time and counters are known that often.
 *
 * Synchronization: one writer at a time (the thread itself under its `inside` flag, or the watch thread for `observed`,
 * or whoever retires a dead thread). Readers copy and look at `sequence` before and after (copy_run() in
 * agent/snapshot/snapshot_copy.c, word by word); they exclude nobody. */
#ifndef SBX_SAMPLE_RUN_H
#define SBX_SAMPLE_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "marks.h"
#include "order.h"
#include "recording_format.h"

/* 100 ms: a stall worth telling lasts longer, so what is lost in a run is finer than what is judged. */
#define SBX_RUN_NS UINT64_C(100000000)

static inline void sbx_run_open(struct sbx_repeat *run)
{
    /* Odd, also when it was odd before: a writer that ended in the middle of a run left it so.
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
    run->amount = sample->kind == SBX_RECORD_ASYNC ? 0 : sample->amount; /* a signal's delay is that one sample's */
    sbx_run_close(run);
}

/* Does the sample only say again what the run says? Then the run has it now. */
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

/* The record of what the run has to tell; false: nothing, or its writer ended in the middle of it. For the writer, or
 * for who stands in for one that is gone. */
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

/* No run is open any more. */
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
