/* SPDX-License-Identifier: Apache-2.0 */
/* judgement.h - what is said of one thread's interval: class, cause, function, and what they rest on. */
#ifndef SBX_JUDGEMENT_H
#define SBX_JUDGEMENT_H

#include "blame.h"
#include "time_split.h"

struct sbx_judgement {
    struct sbx_time_split split;
    enum sbx_class class_;               /* by the largest share; 0 when less than half of the busy time is known, or it
                                            waited for work for most of it */
    enum sbx_cause cause;                /* UNKNOWN, CPU, CPU_CONTENTION, or what the pauses were about */
    bool is_faulting;                    /* off the processor, in no call: it waits for pages to be read */
    double class_ns;                     /* of the largest share */
    double cause_ns;                     /* of that, under this cause */
    double function_ns;                  /* of that, in this function */
    const struct sbx_location *location; /* NULL: no stack tells */
    uint32_t stack;                      /* 0 none */
    /* on_cpu */
    struct sbx_blame_path path;
    enum sbx_cause on_cpu_cause; /* what the computing was, also where it was kept from it */
    bool is_biased;         /* there were samples at its own calls only, or hardly others: the function is a guess */
    double allocator_share; /* 0..1 of the unbiased samples had their leaf in an allocator */
    double cheap_calls;     /* > 0: location is one cheap function called again and again; at least so many times */
    /* off_cpu */
    struct sbx_wait wait; /* the longest one of that cause and function, of those for the thread waited for most */
    const char *unnamed_module; /* frames without a name lie nearer to the leaf of its stack, here; NULL: none */
    struct sbx_interval waited; /* from the first to the last of those */
    const char *collector;      /* the run-time whose garbage collector this is; NULL none. On the CPU too */
    bool is_exact;              /* measured, all of it */
    size_t calls;               /* how many pauses, of that cause and function */
    uint64_t bytes;             /* moved by them */
    /* all */
    size_t samples;                   /* records with a stack in the interval */
    size_t stacks_lost;               /* records whose stack was lost to a full table */
    int64_t alloc_count, alloc_bytes; /* in the interval; -1 not known */
};

#endif
