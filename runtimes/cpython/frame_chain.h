/* SPDX-License-Identifier: Apache-2.0 */
/* frame_chain.h - the Python frames of the calling thread, innermost first.
 *
 * Hooks and signal handlers use this, at any instruction of the interpreter. A frame is accepted if it is in a chunk of
 * the thread's data stack or in readable memory, and if its code is a code object. A half-written frame ends the chain.
 * In 3.11 and 3.12 it is skipped: these versions publish a C function's block before its first field is set. So after
 * an interruption, the innermost run of frames must lead to the frame that the outer block names. */
#ifndef FRAME_CHAIN_H
#define FRAME_CHAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "cpython_layout.h"
#include "object_read.h"

enum {
    FRAME_CHAIN_MAX = 4096,
    FRAMES_AHEAD = 8, /* frames that are read at a time */
};

/* One frame that Python's own tracebacks would show. */
struct chain_frame {
    uint64_t code;
    int64_t instruction; /* bytes from the code's first instruction; negative: the frame has not begun */
    uint64_t address;
    bool is_border;    /* the outermost frame of an entry from native code */
    bool is_generator; /* it belongs to a generator or a coroutine */
};

struct frame_chain {
    const struct cpython_layout *layout;
    uint64_t code_type; /* address of PyCode_Type */
    uint64_t thread;
    uint64_t frame;                  /* the next frame to read; 0: none */
    uint64_t mark;                   /* a frame that was read: a frame that leads back to it ends the chain */
    uint64_t piece_begin, piece_end; /* the data stack's chunk that contained the last frame */
    struct object_pages pages, code_pages;
    uint32_t left;      /* steps left: the chain ends after them in any case */
    uint32_t at, count; /* in `ahead`: the next frame to return, and how many there are */
    bool is_held;       /* one more follows in `ahead`; its outer frame, not read yet, tells whether it is a border */
    struct chain_frame ahead[FRAMES_AHEAD + 1];
};

/* Begin at the innermost frame of `thread`, the calling thread's state. `interrupted`: a signal may have interrupted
 * the thread at any instruction. */
void frame_chain_begin(struct frame_chain *chain, const struct cpython_layout *layout, uint64_t code_type,
                       uint64_t thread, bool interrupted);

/* Reads a generator's frame that does not run. Returns false if it is no frame. */
bool frame_chain_look_at(const struct cpython_layout *layout, uint64_t code_type, uint64_t frame,
                         struct chain_frame *frame_out);

/* Read more frames. Returns false if there are no more, or none that can be trusted. */
bool frame_chain_read(struct frame_chain *chain);

/* Returns the next frame, valid until the next call; NULL: there are no more. */
static inline const struct chain_frame *frame_chain_next(struct frame_chain *chain)
{
    return chain->at < chain->count || frame_chain_read(chain) ? &chain->ahead[chain->at++] : NULL;
}

#endif
