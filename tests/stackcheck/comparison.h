/* SPDX-License-Identifier: Apache-2.0 */
/* comparison.h - two walks of one stack side by side, and what their differences are called. */
#ifndef STACKCHECK_COMPARISON_H
#define STACKCHECK_COMPARISON_H

#include "walks.h"

/* How two walks of one stack stand to each other. */
enum outcome {
    OUTCOME_EQUAL,        /* the same frames, and both say that it was all */
    OUTCOME_BOTH_STOPPED, /* the same frames, and neither came further */
    OUTCOME_OURS_SHORTER, /* ours stopped, with a reason; libunwind went on */
    OUTCOME_OURS_LONGER,  /* libunwind stopped, ours went on */
    OUTCOME_OTHER_FRAME,  /* both went on, to different frames */
    OUTCOME_OTHER_END,    /* the same frames, but one says it was all, and the other does not */
    OUTCOME_COUNT
};

struct difference {
    enum outcome outcome;
    uint32_t frame; /* the first that is not the same, or that only one has */
};

/* Frames are the same when address, stack pointer and, where both know it, frame pointer are. */
struct difference compare_stacks(const struct walked_stack *ours, const struct walked_stack *theirs);

/* Whom libdw's walk agrees with at the frame where the others part: 'o' ours, 'p' the peer, 'n' neither. */
char third_opinion(const struct walked_stack *ours, const struct walked_stack *theirs, const struct walked_stack *third,
                   uint32_t frame);

const char *outcome_name(enum outcome outcome);

#endif
