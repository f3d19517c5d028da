/* SPDX-License-Identifier: Apache-2.0 */
/* frame_chain.h - the Python frames of the calling thread, innermost first.
 *
 * Read in hooks and handlers, at any instruction of the interpreter. A frame counts if it lies in one of the thread's own pieces of
 * data stack, or can be read, and its code object is one. What is half made ends the chain or, in 3.11 and 3.12, is passed over:
 * they publish a C function's block before its first field is set, so after an interruption the innermost run of frames must lead to what the
 * block outside of it says. */
#ifndef FRAME_CHAIN_H
#define FRAME_CHAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "cpython_layout.h"
#include "object_read.h"

enum {
    FRAME_CHAIN_MAX = 4096,
    FRAMES_AHEAD = 8, /* that are read at a time */
};

/* One frame that Python's own tracebacks would show. */
struct chain_frame {
    uint64_t code;
    int64_t instruction; /* bytes from the code's first; negative: not begun */
    uint64_t address;
    bool is_border;    /* the outermost of a native entry */
    bool is_generator; /* it is a generator's or a coroutine's */
};

struct frame_chain {
    const struct cpython_layout *layout;
    uint64_t code_type; /* address of PyCode_Type */
    uint64_t thread;
    uint64_t frame;                  /* the next that is read; 0: none */
    uint64_t mark;                   /* one that was read: whoever leads back there ends the chain */
    uint64_t piece_begin, piece_end; /* of the data stack in which the last was found */
    struct object_pages pages, code_pages;
    uint32_t left;      /* steps: the chain ends, whatever it is */
    uint32_t at, count; /* in `ahead`: the next that is handed out, and how many may be */
    bool is_held;       /* one more lies behind them: whether it is a border, the frame outside of it tells */
    struct chain_frame ahead[FRAMES_AHEAD + 1];
};

/* Begin at the innermost frame of `thread`, the calling thread's state. `interrupted`: a signal may have met it anywhere. */
void frame_chain_begin(struct frame_chain *chain, const struct cpython_layout *layout, uint64_t code_type,
                       uint64_t thread, bool interrupted);

/* A frame that does not run, of a generator; false: it is none. */
bool frame_chain_look_at(const struct cpython_layout *layout, uint64_t code_type, uint64_t frame,
                         struct chain_frame *frame_out);

/* Read some more. false: that was all, or all that can be trusted. */
bool frame_chain_read(struct frame_chain *chain);

/* The next, until the one after it; NULL: that was all. */
static inline const struct chain_frame *frame_chain_next(struct frame_chain *chain)
{
    return chain->at < chain->count || frame_chain_read(chain) ? &chain->ahead[chain->at++] : NULL;
}

#endif
