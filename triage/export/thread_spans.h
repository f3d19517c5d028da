/* SPDX-License-Identifier: Apache-2.0 */
/* thread_spans.h - one thread's time, cut into spans by what is known about it.
 *
 * The records of a thread are samples, measured waits, messages and idle times; some lie inside others. Every exporter
 * needs the same answers: in which order they follow each other, what lies between two of them, and how sure that is.
 * The answers are computed once, here.
 *
 *        evidence        tail                    evidence of the next span
 *     |=============|- - - - - - - - -|. . . . .|======
 *   begin          end              drawn_end  until
 *
 *   begin..end        is known: measured, or between the first and last of equal samples.
 *   end..drawn_end    no change was seen; drawn and weighted as the same stack. It ends at the next evidence, or at the
 *                     message boundary before it, but only if that is near enough (see reach_ns), or if the thread was
 *                     at the same stack again without having run in between. Otherwise drawn_end == end: a duration is
 *                     never invented. (btrace extends a slice over any gap and does not say so.)
 *   until             the earliest time at which something else is known. A frame that is not in the next span ended
 *                     between `end` and `until`.
 *
 *   S1  spans are in time order and do not overlap: begin <= end <= drawn_end <= until <= begin of the next.
 *   S2  a span with `cut` shares no call with the span before: a message began or ended, or the thread idled, between.
 *   S3  a nested span lies inside the last span that is not nested; nested spans are in order and do not overlap. */
#ifndef SBX_THREAD_SPANS_H
#define SBX_THREAD_SPANS_H

#include "stall.h"

/* What the thread did: the colours and names in the pictures. */
enum sbx_span_state {
    SBX_SPAN_UNKNOWN = 0,
    SBX_SPAN_ON_CPU,
    SBX_SPAN_RUNNABLE, /* was ready and did not run */
    SBX_SPAN_LOCK,
    SBX_SPAN_WAIT, /* for a condition, poll or futex */
    SBX_SPAN_SLEEP,
    SBX_SPAN_IO,
    SBX_SPAN_NETWORK,
    SBX_SPAN_OFF_CPU, /* did not run, for an unknown reason */
    SBX_SPAN_IDLE,    /* its loop waited for work: not a stall */
    SBX_SPAN_STATES
};
const char *sbx_span_state_name(enum sbx_span_state state); /* "on CPU", "lock", ... */

struct sbx_span {
    int64_t begin_ns, end_ns;
    int64_t drawn_end_ns, until_ns;
    int64_t earliest_ns; /* a frame that is new in this span began between this time and begin_ns */
    uint64_t message, amount;
    uint64_t looks;  /* number of observations: a measured wait is one, a run of samples is as many as it counts */
    uint32_t stack;  /* callstack id; 0: not known */
    uint32_t object; /* ordinal + 1 */
    int32_t peer;    /* thread ordinal; -1 unknown */
    uint8_t kind, op, fd_class;
    enum sbx_span_state state; /* the state in begin..end */
    enum sbx_span_state tail;  /* the state in end..until; without CPU clock UNKNOWN, and only to drawn_end */
    double own_cpu_share;      /* the part of begin..end spent running, if not measured; -1 unknown */
    double tail_cpu_share;     /* the part of end..until spent running; -1 unknown */
    bool measured;             /* begin and end were measured and are exact */
    bool unfinished;           /* the call the thread was in at the trigger: `end_ns` is the trigger */
    bool cut;                  /* S2 */
    bool nested;               /* S3 */
    bool history_begin;        /* nothing older is known of the thread, so its calls may have begun before */
};

struct sbx_message_span {
    int64_t begin_ns, end_ns;
    uint32_t kind;            /* the kind, as the application numbers it; 0: not told */
    uint64_t message, merged; /* if several short messages were merged: how many; 0 or 1: one */
};

struct sbx_thread_spans {
    struct sbx_span *spans;
    size_t count;
    struct sbx_message_span *messages; /* in time order, not overlapping; with the one open at the trigger */
    size_t message_count;
    int64_t reach_ns; /* how far apart two samples may be and still be drawn as one piece */
};

/* Returns 0, or -ENOMEM. Finish releases; a zeroed value is fine. */
int sbx_thread_spans_init(struct sbx_thread_spans *spans, const struct sbx_stall *stall, uint32_t thread);
void sbx_thread_spans_finish(struct sbx_thread_spans *spans);

/* When the history begins: at the oldest record's end, at the begin that the trigger tells, or with the judged
 * interval. What began earlier (a worker that has been idle for an hour) is clipped there in every export. */
int64_t sbx_history_begin_ns(const struct sbx_stall *stall, int64_t interval_begin_ns);

/* The name of a wait: the function it waited in ("nanosleep"), the system call, or the kind of record. */
const char *sbx_span_wait_name(const struct sbx_span *span);

/* True if the span is a wait that gets a leaf of its own: measured, unfinished, or a thread seen blocked in a call. */
bool sbx_span_is_wait(const struct sbx_span *span);

#endif
