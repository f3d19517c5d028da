/* SPDX-License-Identifier: Apache-2.0 */
/* stack_replay.h - verified replay: walks only the part of a stack that changed since the last capture.
 *
 * A replay holds the last walk of a thread, with the stack slots that decided it. The registers of a frame (pc, sp, fp)
 * follow from three things: the registers of the frame inside it, the rule of that frame's pc, and the values of two
 * slots. A new walk may reach a frame with the registers of a remembered one. If every slot from there out to the root
 * still has its value, all frames from there on are the remembered ones, and so is their callstack node. Reading two
 * slots per frame costs a fifth of a walk.
 *
 * The fp of most frames decides nothing, because no frame from there out depends on it before another fp is restored.
 * Such an fp is not compared, and the slot that held it is not read. Frames that something else decided (signal frames,
 * kept stack pointers, assembly) are `opaque`: replay ends there, and the frames inside of them are always walked.
 * Rules change with the code map, and node ids with the epoch. So a replay of another generation or epoch is forgotten.
 *
 * Synchronization: none. A replay belongs to one thread, and to one capture at a time: the thread's `inside` flag. */
#ifndef SBX_STACK_REPLAY_H
#define SBX_STACK_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "frame_walker.h"

/* One word of the stack that must still have the same value. */
struct sbx_replay_check {
    uint64_t address;
    uint64_t value;
};

struct sbx_replay_frame {
    uint64_t pc;
    uint64_t fp;       /* valid only with SBX_REPLAY_FP_COUNTS */
    uint32_t sp_flags; /* sp in bytes below the stack's end, a multiple of 8; below that SBX_FRAME_FP_KNOWN,
                          SBX_FRAME_IS_EXACT and SBX_REPLAY_FP_COUNTS */
    uint32_t node;     /* callstack node of the frame and of all frames outside of it */
    uint32_t reach;    /* largest distance below the stack's end of the checks up to this frame */
    uint32_t checks;   /* number of checks up to this frame */
};

enum {
    SBX_REPLAY_FP_COUNTS = 4
}; /* the value of fp decides this frame's caller, or a frame further out */
enum {
    SBX_REPLAY_MAX = SBX_WALK_MAX + 1
}; /* one more for the marker of a walk that ended early */

struct sbx_replay {
    uint32_t depth; /* 0: nothing is remembered */
    uint32_t generation, epoch;
    uint32_t end;          /* enum sbx_walk_end */
    uint32_t changed_from; /* the last capture replayed the frames below this index, and walked the others */
    uint32_t opaque_at;    /* first frame from the root that the checks do not decide; at most `depth` */
    uint64_t stack_high;
    struct sbx_replay_frame frames[SBX_REPLAY_MAX]; /* root first */
    struct sbx_replay_check checks[2 * SBX_REPLAY_MAX];
};

/* Walk and intern, and replay what has not changed since the last call. `window` is the thread's own stack, read in
 * place (delta 0), and its `hi` is the stack's end. Returns the callstack id. The frames found are in `replay`, unless
 * its depth is 0 (nothing could be remembered). `scratch` is overwritten. */
SBX_SIGNAL_SAFE uint32_t sbx_replay_stack(struct sbx_replay *replay, const struct sbx_code_map *map,
                                          struct sbx_walk_cache *cache, struct sbx_callstack_table *table,
                                          const struct sbx_stack_window *window, const struct sbx_walk_registers *start,
                                          struct sbx_walk *scratch);

/* Is the frame with this return address, in this slot, on the remembered stack? */
SBX_SIGNAL_SAFE bool sbx_replay_has_frame(const struct sbx_replay *replay, uint64_t slot, uint64_t pc);

/* The same. The answer stays true until a capture walks a frame below index `*holds_out` again. */
SBX_SIGNAL_SAFE bool sbx_replay_looks_for_frame(const struct sbx_replay *replay, uint64_t slot, uint64_t pc,
                                                uint32_t *holds_out);

/* The distance of the outermost found frame below the stack's end, in bytes; 0: the walk was not complete, and ended
 * for another reason than a missing row. A C library without unwind data (musl) ends each walk in the frame that called
 * main. Such a walk counts as complete while this number stays the same. Another number means that the walk ended in a
 * libc function further in. */
SBX_SIGNAL_SAFE static inline uint32_t sbx_replay_root_sp(const struct sbx_replay *replay)
{
    if (replay->depth >= 2 && replay->end == SBX_WALK_NO_ROW) {
        return replay->frames[1].sp_flags & ~7u; /* frame 0 is the marker */
    }
    return replay->depth >= 1 && replay->end == SBX_WALK_COMPLETE ? replay->frames[0].sp_flags & ~7u : 0;
}

#endif
