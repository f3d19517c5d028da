/* SPDX-License-Identifier: Apache-2.0 */
/* stall_facts.h - facts about a stall, in a few words each, that are summed over many stalls. Pure. */
#ifndef SBX_STALL_FACTS_H
#define SBX_STALL_FACTS_H

#include "report.h"
#include "stable_name.h"

/* Numbers are stored: append only. */
enum sbx_fact_kind {
    SBX_FACT_CAUSE = 0,    /* one per stall, so shares add up; its time is the judged interval */
    SBX_FACT_DETAIL = 1,   /* one per stall: "io > fsync", "lock > flush_log" (the holder), or only the cause */
    SBX_FACT_FUNCTION = 2, /* the function to blame */
    SBX_FACT_HOLDER = 3,   /* the function that held the lock; its time is that of the wait */
    SBX_FACT_WAKER = 4,    /* the function of the thread that woke the waiter, or should have; the same time */
    SBX_FACT_RIVAL = 5,    /* what used the processor; its time is the thread's wait for a processor */
    SBX_FACT_PAIR = 6,     /* "waiter < holder", for locks and for other waits */
    SBX_FACT_TIME = 7,     /* how the judged thread spent its time; the times add up to the interval */
    SBX_FACT_TRIGGER = 8,
    SBX_FACT_OS = 9,
    SBX_FACT_KERNEL = 10,
    SBX_FACT_CORES = 11,
    SBX_FACT_MEMORY = 12,
    SBX_FACT_BEFORE = 13, /* what the thread did in the seconds before (stall_before.h): several per stall, or none */
    SBX_FACT_SCENE = 14,  /* the scene of the application, if it named one: one per stall */
    SBX_FACT_KINDS,
};

struct sbx_stall_fact {
    enum sbx_fact_kind kind;
    int64_t us; /* how much of the stall's time the fact stands for; 0 if it has no time */
    char word[2 * SBX_STABLE_NAME_BYTES + 8];
};

enum {
    SBX_STALL_FACTS_MAX = 40
};

/* The facts of a report that sbx_attribute() has judged. Returns their number; each word of a kind is there once. */
size_t sbx_stall_facts(const struct sbx_report *report, struct sbx_stall_fact facts_out[SBX_STALL_FACTS_MAX]);

#endif
