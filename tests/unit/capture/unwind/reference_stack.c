/* SPDX-License-Identifier: Apache-2.0 */
/* reference_stack.c - takes a stack frame by frame from _Unwind_Backtrace(). */
#include "reference_stack.h"

#include <unwind.h>

static _Unwind_Reason_Code take_frame(struct _Unwind_Context *context, void *argument)
{
    struct reference_stack *stack = argument;
    int is_exact = 0;
    uint64_t pc = _Unwind_GetIPInfo(context, &is_exact);
    if (pc == 0 || stack->count == REFERENCE_MAX) {
        return _URC_END_OF_STACK; /* libgcc puts a zero behind the outermost frame */
    }
    stack->pcs[stack->count] = pc;
    stack->sps[stack->count] = _Unwind_GetCFA(context); /* the callee's CFA: this frame's stack pointer */
    stack->exact[stack->count] = is_exact != 0;
    stack->count++;
    return _URC_NO_REASON;
}

__attribute__((noinline)) void reference_stack_take(struct reference_stack *stack_out)
{
    stack_out->count = 0;
    _Unwind_Backtrace(take_frame, stack_out);
    /* The first frame is this function's own. */
    for (uint32_t i = 1; i < stack_out->count; i++) {
        stack_out->pcs[i - 1] = stack_out->pcs[i];
        stack_out->sps[i - 1] = stack_out->sps[i];
        stack_out->exact[i - 1] = stack_out->exact[i];
    }
    if (stack_out->count > 0) {
        stack_out->count--;
    }
}
