/* SPDX-License-Identifier: Apache-2.0 */
/* differences.h - one comparison under way, and the names of what it finds.
 *
 * A difference has a name when docs/UNWINDING.md explains it. One without is counted in `unexplained`, and is a
 * failure. */
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

/* How a stack was come by. */
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
    /* what is wanted */
    uint64_t stacks_wanted;
    uint32_t examples_wanted; /* stacks printed whole, a class */
    const char *label;
    FILE *report;
    uint64_t random;

    struct tracee tracee;
    struct target_memory memory;
    struct target_stack stack;
    struct our_walker ours;
    struct libunwind_walker *libunwind;
    struct libdw_walker *libdw; /* of this process and its modules; NULL: to be made when needed */
    uint32_t libdw_generation;  /* of the code map it was made for */
    struct walked_stack *our_stack, *blind_stack, *their_stack, *third_stack;
    struct target_stack other_stack; /* the one a signal handler interrupted */
    struct walked_stack *rest_stack;

    uint64_t stacks, frames, runs, deepest;
    uint64_t by_way[WAY_COUNT];
    uint64_t outcomes[OUTCOME_COUNT];
    uint64_t blind_equal, blind_shorter, blind_wrong; /* without the frame pointer, of all stacks */
    uint64_t blocked, blocked_shorter;                /* of those in the kernel */
    uint64_t guessed;                                 /* stacks with frames found by frame pointer alone */
    uint64_t unexplained;
    uint64_t asked, agreed; /* libdw, about stacks on which the others agree */
    uint64_t no_stack;
    struct class classes[CLASSES_MAX];
    uint32_t class_count;
};

/* Is the thread with these registers inside a system call, waiting or at its entry? */
bool is_in_kernel(const struct user_regs_struct *registers);

/* The last part of a path. */
const char *base_name(const char *path);

/* A stack on which the walks do not agree: ask the third, and count it under its kind. */
void judge_difference(struct check *check, struct difference difference);

/* A stack on which both agree: does libdw as well? Where it does not, both may be wrong. */
void judge_agreement(struct check *check);

#endif
