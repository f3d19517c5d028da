/* SPDX-License-Identifier: Apache-2.0 */
/* look_stack.c - a look from outside whose stack is incomplete takes the stack of another record of the same call. */
#include "look_stack.h"

#include "record_kinds.h"

#define SAME_CALLER_NS (INT64_C(50) * 1000 * 1000)

static bool has_frame_of_kind(const struct sbx_stall *stall, uint32_t stack, uint32_t kind)
{
    for (uint32_t id = stack; id != 0; id = stall->callstacks[id].parent) {
        if (stall->frames[stall->callstacks[id].frame].kind == kind) {
            return true;
        }
    }
    return false;
}

/* Does the stack have generated code of a runtime, but no logical frames (the functions of that code)? */
static bool lacks_functions(const struct sbx_stall *stall, uint32_t stack)
{
    return has_frame_of_kind(stall, stack, SBX_FRAME_GENERATED) && !has_frame_of_kind(stall, stack, SBX_FRAME_LOGICAL);
}

uint32_t sbx_look_stack(const struct sbx_stall *stall, const struct sbx_stall_thread *thread, size_t at)
{
    const struct sbx_stall_record *records = stall->records + thread->record_begin, *look = &records[at];
    if (look->kind != SBX_RECORD_BLOCKED || (look->stack != 0 && !lacks_functions(stall, look->stack))) {
        return look->stack;
    }
    for (size_t distance = 1; distance < thread->record_count; distance++) {
        bool near = false;
        for (int side = 0; side < 2; side++) {
            size_t i = side == 0 ? at - distance : at + distance; /* below 0 it wraps: skipped */
            if (i >= thread->record_count) {
                continue;
            }
            int64_t apart_ns = records[i].end_ns - look->end_ns;
            near |= apart_ns < SAME_CALLER_NS && apart_ns > -SAME_CALLER_NS;
            if (near && records[i].op == look->op && records[i].stack != 0 &&
                !lacks_functions(stall, records[i].stack)) {
                return records[i].stack;
            }
        }
        if (!near) {
            break;
        }
    }
    return look->stack;
}
