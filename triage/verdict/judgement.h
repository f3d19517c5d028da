/* SPDX-License-Identifier: Apache-2.0 */
/* judgement.h - what is concluded about one thread's interval: class, cause, function, and what they rest on. */
#ifndef SBX_JUDGEMENT_H
#define SBX_JUDGEMENT_H

#include "blame.h"
#include "time_split.h"

struct sbx_judgement {
    struct sbx_time_split split;
    enum sbx_class class_;               /* by the largest share; 0 if less than half of the busy time is known, or the
                                          * thread mostly waited for work */
    enum sbx_cause cause;                /* UNKNOWN, CPU, CPU_CONTENTION, or the cause of the pauses */
    bool is_faulting;                    /* off the processor, outside of any call: it waits for pages to be read */
    double class_ns;                     /* of the largest share */
    double cause_ns;                     /* part of class_ns under this cause */
    double function_ns;                  /* part of cause_ns in this function */
    const struct sbx_location *location; /* NULL: no stack tells it */
    uint32_t stack;                      /* 0 none */
    /* if on_cpu */
    struct sbx_blame_path path;
    enum sbx_cause on_cpu_cause; /* what the thread computed, also if it was ready and did not run */
    bool is_biased;              /* all or nearly all samples lie at its own calls: the function is a guess */
    double allocator_share;      /* 0..1 of the unbiased samples that have their leaf in an allocator */
    double cheap_calls;          /* > 0: location is one cheap function, called again and again, at least this often */
    /* if off_cpu */
    struct sbx_wait wait;       /* the longest of that cause and function that was for the thread waited for most */
    const char *unnamed_module; /* the module of frames without a name nearer to the leaf of its stack; NULL: none */
    struct sbx_interval waited; /* from the first to the last of those waits */
    const char *collector;      /* the run-time whose garbage collector this is; NULL none. Also if on_cpu */
    bool is_exact;              /* all of it is measured */
    size_t calls;               /* number of pauses of that cause and function */
    uint64_t bytes;             /* moved by those calls */
    /* always */
    size_t samples;                   /* records with a stack in the interval */
    size_t stacks_lost;               /* records that have no stack because the table was full */
    int64_t alloc_count, alloc_bytes; /* in the interval; -1 not known */
};

#endif
