/* SPDX-License-Identifier: Apache-2.0 */
/* thread_spans.h - one thread's time, cut into stretches by what is known of it.
 *
 * The records of a thread are samples, measured waits, messages and idle stretches; some lie inside others. Every
 * exporter needs the same answers: which of them follow each other, what lies between two of them, and how sure one is.
 * They are given once, here.
 *
 *        evidence        tail                    evidence of the next span
 *     |=============|- - - - - - - - -|. . . . .|======
 *   begin          end              drawn_end  until
 *
 *   begin..end        is known: measured, or between the first and last of equal samples.
 *   end..drawn_end    nothing was seen to change; drawn and weighed as the same stack. It ends at the next evidence, or
 *                     at the message boundary before it, but only where that is near enough (see reach_ns) or the
 * thread was at the same stack again without having run in between. Otherwise drawn_end == end: a duration is never
 * invented. btrace stretches a slice over any gap and does not say so. until             the earliest time at which
 * something else is known. A frame that is gone in the next span ended between `end` and `until`.
 *
 *   S1  spans are in time order and do not overlap: begin <= end <= drawn_end <= until <= begin of the next.
 *   S2  a span with `cut` shares no call with the span before: a message began or ended, or the thread idled, between.
 *   S3  a nested span lies inside the last span that is not nested; nested spans are in order and do not overlap. */
#ifndef SBX_THREAD_SPANS_H
#define SBX_THREAD_SPANS_H

#include "stall.h"

/* What the thread was doing, as colours and names of the pictures tell it. */
enum sbx_span_state {
    SBX_SPAN_UNKNOWN = 0,
    SBX_SPAN_ON_CPU,
    SBX_SPAN_RUNNABLE, /* wanted to run and did not */
    SBX_SPAN_LOCK,
    SBX_SPAN_WAIT, /* condition, poll, futex */
    SBX_SPAN_SLEEP,
    SBX_SPAN_IO,
    SBX_SPAN_NETWORK,
    SBX_SPAN_OFF_CPU, /* not running; in what is not known */
    SBX_SPAN_IDLE,    /* its loop waited for work: no stall */
    SBX_SPAN_STATES
};
const char *sbx_span_state_name(enum sbx_span_state state); /* "on CPU", "lock", ... */

struct sbx_span {
    int64_t begin_ns, end_ns;
    int64_t drawn_end_ns, until_ns;
    int64_t earliest_ns; /* a frame that is new in this span began between this and begin_ns */
    uint64_t message, amount;
    uint64_t looks;  /* how often this was observed: a measured wait once, a run of samples as often as it says */
    uint32_t stack;  /* callstack id; 0: not known */
    uint32_t object; /* ordinal + 1 */
    int32_t peer;    /* thread ordinal; -1 unknown */
    uint8_t kind, op, fd_class;
    enum sbx_span_state state; /* in begin..end */
    enum sbx_span_state tail;  /* in end..until; UNKNOWN where no CPU clock tells, and then only to drawn_end */
    double own_cpu_share;      /* part of begin..end spent running, when not measured; -1 unknown */
    double tail_cpu_share;     /* part of end..until spent running; -1 unknown */
    bool measured;             /* begin and end were measured: exact */
    bool unfinished;           /* the call it was in at the trigger: `end_ns` is the trigger */
    bool cut;                  /* S2 */
    bool nested;               /* S3 */
    bool history_begin;        /* nothing older is known of the thread: what it shows may have begun before */
};

struct sbx_message_span {
    int64_t begin_ns, end_ns;
    uint32_t kind;            /* as the application numbers them; 0: not told */
    uint64_t message, merged; /* merged: how many short messages this is; 0 or 1: one */
};

struct sbx_thread_spans {
    struct sbx_span *spans;
    size_t count;
    struct sbx_message_span *messages; /* in time order, not overlapping; the one open at the trigger included */
    size_t message_count;
    int64_t reach_ns; /* how far apart two samples may be and still be drawn as one stretch */
};

/* Returns 0, or -ENOMEM. Finish releases; a zeroed value is fine. */
int sbx_thread_spans_init(struct sbx_thread_spans *spans, const struct sbx_stall *stall, uint32_t thread);
void sbx_thread_spans_finish(struct sbx_thread_spans *spans);

/* When the history begins: at the oldest record's end, or as the trigger says, or with the judged interval. What began
 * earlier (a worker that has been idle for an hour) is clipped there in every export. */
int64_t sbx_history_begin_ns(const struct sbx_stall *stall, int64_t interval_begin_ns);

/* What a wait is called: the function it waited in ("nanosleep"), or the system call, or the kind of record. */
const char *sbx_span_wait_name(const struct sbx_span *span);

/* True if the span is a wait that deserves a leaf of its own: measured, unfinished, or a thread seen blocked in a call.
 */
bool sbx_span_is_wait(const struct sbx_span *span);

#endif
