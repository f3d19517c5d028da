/* SPDX-License-Identifier: Apache-2.0 */
/* comparison.h - compares two walks of one stack, and names their differences. */
#ifndef STACKCHECK_COMPARISON_H
#define STACKCHECK_COMPARISON_H

#include "walks.h"

/* The relation of two walks of one stack. */
enum outcome {
    OUTCOME_EQUAL,        /* the same frames, and both reached the end */
    OUTCOME_BOTH_STOPPED, /* the same frames, and both stopped there */
    OUTCOME_OURS_SHORTER, /* ours stopped, with a reason; libunwind went on */
    OUTCOME_OURS_LONGER,  /* libunwind stopped, ours went on */
    OUTCOME_OTHER_FRAME,  /* both went on, but to different frames */
    OUTCOME_OTHER_END,    /* the same frames, but only one of them reached the end */
    OUTCOME_COUNT
};

struct difference {
    enum outcome outcome;
    uint32_t frame; /* the first that differs, or that only one walk has */
};

/* Two frames are the same when address and stack pointer are equal, and the frame pointer where both know it. */
struct difference compare_stacks(const struct walked_stack *ours, const struct walked_stack *theirs);

/* Which walk agrees with libdw's at the frame where the two differ: 'o' ours, 'p' the peer's, 'n' neither. */
char third_opinion(const struct walked_stack *ours, const struct walked_stack *theirs, const struct walked_stack *third,
                   uint32_t frame);

const char *outcome_name(enum outcome outcome);

#endif
