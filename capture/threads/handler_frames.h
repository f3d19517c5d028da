/* SPDX-License-Identifier: Apache-2.0 */
/* handler_frames.h - is the calling thread in a signal handler?
 *
 * The kernel does not tell, but for alternate stacks. But it puts a frame on the stack to call a handler, and in each such frame
 * there are words that it writes always (port/signal_frame.h). A handler that runs on the thread's own stack has its frame between
 * the caller and that stack's end: where no such words lie there, there is no handler. Words that only look so, or that an earlier
 * handler left, make it "perhaps", which only means that something is left undone.
 *
 * That this kernel does write them is believed when the handler of a sample has found them in its own frame. */
#ifndef SBX_HANDLER_FRAMES_H
#define SBX_HANDLER_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "marks.h"

enum {
    SBX_LOOK_FOR_HANDLERS_MOST = 128 * 1024, /* bytes of stack that are looked through: 5 us */
};

/* 1: the kernel puts frames on stacks that look as we think (port/signal_frame.h): the handler of a sample has seen its own. */
extern uint32_t sbx_signal_frames_are_known;

/* May the calling thread, whose own stack lies between these two, be in a handler? True also where that is not known: on another
 * stack, deep in its own, before any sample was taken by signal. `from`: further in there are frames of ours alone; 0: look everywhere. */
SBX_HOOK_SAFE SBX_NOINLINE bool sbx_may_be_in_handler(uint64_t stack_low, uint64_t stack_high, uint64_t from);

#endif
