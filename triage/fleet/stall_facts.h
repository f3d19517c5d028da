/* SPDX-License-Identifier: Apache-2.0 */
/* stall_facts.h - what is said of a stall in a few words each, to be summed over stalls. Pure. */
#ifndef SBX_STALL_FACTS_H
#define SBX_STALL_FACTS_H

#include "report.h"
#include "stable_name.h"

/* Numbers are kept in stores: they are appended, never moved. */
enum sbx_fact_kind {
    SBX_FACT_CAUSE = 0,    /* one a stall: shares add up. Its time is the judged interval */
    SBX_FACT_DETAIL = 1,   /* one a stall: "io > fsync", "lock > held by flush_log", or the cause alone */
    SBX_FACT_FUNCTION = 2, /* to blame */
    SBX_FACT_HOLDER = 3,   /* what held the lock; its time is the wait's */
    SBX_FACT_WAKER = 4,    /* the thread that woke, or should have; likewise */
    SBX_FACT_RIVAL = 5,    /* the user of the processor; its time is the thread's wait for one */
    SBX_FACT_PAIR = 6,     /* "waiter < holder", of both kinds of wait */
    SBX_FACT_TIME = 7,     /* where the judged thread's time went: adds up to the interval */
    SBX_FACT_TRIGGER = 8,
    SBX_FACT_OS = 9,
    SBX_FACT_KERNEL = 10,
    SBX_FACT_CORES = 11,
    SBX_FACT_MEMORY = 12,
    SBX_FACT_BEFORE = 13, /* what its thread did in the seconds before (stall_before.h): several a stall, or none */
    SBX_FACT_SCENE = 14,  /* that the application was in: one a stall, where it was told */
    SBX_FACT_KINDS,
};

struct sbx_stall_fact {
    enum sbx_fact_kind kind;
    int64_t us; /* of the stall's time that it stands for */
    char word[2 * SBX_STABLE_NAME_BYTES + 8];
};

enum {
    SBX_STALL_FACTS_MAX = 40
};

/* Of a report that sbx_attribute() has judged. Returns how many: each word of a kind once. */
size_t sbx_stall_facts(const struct sbx_report *report, struct sbx_stall_fact facts_out[SBX_STALL_FACTS_MAX]);

#endif
