/* SPDX-License-Identifier: Apache-2.0 */
/* handler_frames.h - is the calling thread in a signal handler?
 *
 * The kernel does not say this, except for alternate stacks. But to call a handler it puts a frame on the stack, and
 * each such frame has words that the kernel always writes (port/signal_frame.h). A handler on the thread's own stack
 * has its frame between the caller and that stack's end. If there are no such words, there is no handler. Words that
 * only look like this, or that an earlier handler left, give the answer "perhaps". Then a caller leaves something
 * undone, and nothing worse.
 *
 * That this kernel writes these words is not assumed. It counts as known when the handler of a sample has found them in
 * its own frame. */
#ifndef SBX_HANDLER_FRAMES_H
#define SBX_HANDLER_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "marks.h"

enum {
    SBX_LOOK_FOR_HANDLERS_MOST = 128 * 1024, /* bytes of stack that are searched: 5 us */
};

/* 1: the handler of a sample has found the words of port/signal_frame.h in its own frame, so this kernel writes
 * them. */
extern uint32_t sbx_signal_frames_are_known;

/* May the calling thread be in a signal handler? Its own stack lies between `stack_low` and `stack_high`. True also
 * when this is not known: on another stack, deep in its own stack, or before any sample was taken by signal. `from`:
 * the frames further in are all of this library; 0: search everything. */
SBX_HOOK_SAFE SBX_NOINLINE bool sbx_may_be_in_handler(uint64_t stack_low, uint64_t stack_high, uint64_t from);

#endif
