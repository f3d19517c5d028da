/* SPDX-License-Identifier: Apache-2.0 */
/* differences.h - one comparison in progress, and the names of the differences that it finds.
 *
 * A difference has a name when docs/UNWINDING.md explains it. A difference without a name is counted in `unexplained`
 * and is a failure. */
#ifndef STACKCHECK_DIFFERENCES_H
#define STACKCHECK_DIFFERENCES_H

#include <stdint.h>
#include <stdio.h>

#include "comparison.h"
#include "tracee.h"
#include "walks.h"

enum {
    CLASSES_MAX = 1024
};

/* How the thread was brought to the stack. */
enum way {
    WAY_INTERRUPTED,
    WAY_STEPPED,
    WAY_KERNEL,
    WAY_COUNT
};
/* Differences of one kind, in one module, with one third opinion. */
struct class
{
    const char *name;
    char module[64];
    char opinion; /* of libdw: third_opinion() */
    uint64_t count;
    char example[256];
};

struct check {
    /* What is requested. */
    uint64_t stacks_wanted;
    uint32_t examples_wanted; /* stacks of each class to print completely */
    const char *label;
    FILE *report;
    uint64_t random;

    struct tracee tracee;
    struct target_memory memory;
    struct target_stack stack;
    struct our_walker ours;
    struct libunwind_walker *libunwind;
    struct libdw_walker *libdw; /* of this process and its modules; NULL: not yet made */
    uint32_t libdw_generation;  /* of the code map it was made for */
    struct walked_stack *our_stack, *blind_stack, *their_stack, *third_stack;
    struct target_stack other_stack; /* the stack that a signal handler interrupted */
    struct walked_stack *rest_stack;

    uint64_t stacks, frames, runs, deepest;
    uint64_t by_way[WAY_COUNT];
    uint64_t outcomes[OUTCOME_COUNT];
    uint64_t blind_equal, blind_shorter, blind_wrong; /* walked without the frame pointer, of all stacks */
    uint64_t blocked, blocked_shorter;                /* of those in the kernel */
    uint64_t guessed;                                 /* stacks with frames that were found by frame pointer alone */
    uint64_t unexplained;
    uint64_t asked, agreed; /* questions to libdw about stacks on which the others agree */
    uint64_t no_stack;
    struct class classes[CLASSES_MAX];
    uint32_t class_count;
};

/* Is the thread with these registers inside of a system call: waiting, or at its entry? */
bool is_in_kernel(const struct user_regs_struct *registers);

/* The last part of a path. */
const char *base_name(const char *path);

/* A stack on which the two walks differ: ask libdw, and count the difference under its kind. */
void judge_difference(struct check *check, struct difference difference);

/* A stack on which both walks agree: does libdw agree too? If it does not, both may be wrong. */
void judge_agreement(struct check *check);

#endif
