/* SPDX-License-Identifier: Apache-2.0 */
/* interval.h - the time that is judged, and the waits that were measured in it. Pure. */
#ifndef SBX_INTERVAL_H
#define SBX_INTERVAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report.h"

struct sbx_interval {
    int64_t begin_ns, end_ns; /* relative to the trigger; begin <= end */
};

/* The interval that the trigger is about. It ends at the trigger and reaches back over the trigger's duration. A
 * trigger without a duration (manual) judges the open message, else what was recorded last, 5 s at most. */
struct sbx_interval sbx_interval_judged(const struct sbx_stall *stall);

/* One measured wait, or the call a thread was still in at the trigger. Waits of one list do not overlap. */
struct sbx_wait {
    int64_t begin_ns, end_ns;
    uint32_t kind; /* enum sbx_record_kind; SBX_RECORD_IDLE is not a stall */
    uint32_t op, fd_class;
    uint32_t stack;  /* 0 none */
    uint32_t object; /* ordinal + 1; 0 none */
    int32_t peer;    /* thread ordinal; -1 unknown */
    uint32_t waker;  /* wait ordinal + 1, which the WAKE record that ended it has too; 0 none */
    uint64_t amount; /* bytes, or the number of the system call */
    enum sbx_cause cause;
    bool open;      /* had not ended at the trigger */
    bool timed_out; /* a wait for another thread that ended without a waker: it failed */
};

/* The waits of a thread in all its records, in time order. If calls contain others (getaddrinfo polls), the outer call
 * stands for all of its time. Returns 0 and malloc'ed waits (given: free), or -ENOMEM. */
int sbx_waits_create(const struct sbx_stall *stall, uint32_t thread, struct sbx_wait **waits_out, size_t *count_out);

/* How much of [begin_ns, end_ns) is outside of all waits. `waits` is one list as made above. */
int64_t sbx_waits_free_ns(const struct sbx_wait *waits, size_t count, int64_t begin_ns, int64_t end_ns);

/* The wait that covers the moment, or NULL. */
const struct sbx_wait *sbx_waits_at(const struct sbx_wait *waits, size_t count, int64_t at_ns);

#endif
