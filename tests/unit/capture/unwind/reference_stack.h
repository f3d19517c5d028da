/* SPDX-License-Identifier: Apache-2.0 */
/* reference_stack.h - the same walk by libgcc's unwinder, on which every C++ exception relies. */
#ifndef SBX_TEST_REFERENCE_STACK_H
#define SBX_TEST_REFERENCE_STACK_H

#include <stdbool.h>
#include <stdint.h>

enum {
    REFERENCE_MAX = 1024
};

struct reference_stack {
    uint32_t count;
    uint64_t pcs[REFERENCE_MAX]; /* leaf first; the first is the caller of reference_stack_take() */
    uint64_t sps[REFERENCE_MAX]; /* the stack pointer in that frame */
    bool exact[REFERENCE_MAX];   /* the frame was interrupted there */
};

void reference_stack_take(struct reference_stack *stack_out);

#endif
