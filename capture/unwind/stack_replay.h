/* SPDX-License-Identifier: Apache-2.0 */
/* stack_replay.h - verified replay: of a stack only what changed since the last capture is walked.
 *
 * The last walk of a thread, remembered with the stack slots that decided it. A frame's registers (pc, sp, fp) follow
 * from those of the frame inside it, from the rule of that frame's pc, and from what two slots hold; so when a new walk
 * comes to a frame with the registers of a remembered one, and every slot from there out to the root still holds what it
 * held, then all frames from there on are the remembered ones, and so is their callstack node. Reading two slots a frame
 * costs a fifth of a walk; and most frames' fp decides about nothing, because no frame from there out hangs on it before
 * another is restored: then it is neither compared nor is the slot read that held it. Frames that something else decided
 * (signal frames, kept stack pointers, assembly) are `opaque`: replay ends there, and what lies inside of them is always
 * walked. Rules change with the code map, node ids with the epoch: a replay of another generation or epoch is
 * forgotten.
 *
 * Synchronization: none. A replay belongs to one thread, and to one capture at a time: the thread's `inside` flag. */
#ifndef SBX_STACK_REPLAY_H
#define SBX_STACK_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "frame_walker.h"

/* One word of the stack that must hold what it held. */
struct sbx_replay_check {
    uint64_t address;
    uint64_t value;
};

struct sbx_replay_frame {
    uint64_t pc;
    uint64_t fp;       /* meaningless without SBX_REPLAY_FP_COUNTS */
    uint32_t sp_flags; /* sp in bytes below the stack's end, a multiple of 8; below that SBX_FRAME_FP_KNOWN,
                          SBX_FRAME_IS_EXACT and SBX_REPLAY_FP_COUNTS */
    uint32_t node;     /* callstack node of the frame and all outside of it */
    uint32_t reach;    /* how far below the stack's end the checks up to this frame lie */
    uint32_t checks;   /* how many checks there are up to this frame */
};

enum {
    SBX_REPLAY_FP_COUNTS = 4
}; /* what fp is decides about this frame's caller, or about one further out */
enum {
    SBX_REPLAY_MAX = SBX_WALK_MAX + 1
}; /* with the marker of a walk that ended early */

struct sbx_replay {
    uint32_t depth; /* 0: nothing is remembered */
    uint32_t generation, epoch;
    uint32_t end;          /* enum sbx_walk_end */
    uint32_t changed_from; /* the last capture replayed the frames below this index, and walked the others */
    uint32_t opaque_at;    /* first frame from the root that no check decides about; at most `depth` */
    uint64_t stack_high;
    struct sbx_replay_frame frames[SBX_REPLAY_MAX]; /* root first */
    struct sbx_replay_check checks[2 * SBX_REPLAY_MAX];
};

/* Walk and intern, replaying what has not changed since the last call. `window` is the thread's own stack, read in place
 * (delta 0), and its `hi` is the stack's end. Returns the callstack id; what was found is in `replay` unless its depth is
 * 0 (nothing that could be remembered), and `scratch` is overwritten. */
SBX_SIGNAL_SAFE uint32_t sbx_replay_stack(struct sbx_replay *replay, const struct sbx_code_map *map,
                                          struct sbx_walk_cache *cache, struct sbx_callstack_table *table,
                                          const struct sbx_stack_window *window, const struct sbx_walk_registers *start,
                                          struct sbx_walk *scratch);

/* Is the frame with this return address, in this slot, on the stack that is remembered? */
SBX_SIGNAL_SAFE bool sbx_replay_has_frame(const struct sbx_replay *replay, uint64_t slot, uint64_t pc);

/* The same, and for how long that is true: until a capture walks a frame below index `*holds_out` anew. */
SBX_SIGNAL_SAFE bool sbx_replay_looks_for_frame(const struct sbx_replay *replay, uint64_t slot, uint64_t pc,
                                                uint32_t *holds_out);

/* Where the outermost frame that was found lies, in bytes below the stack's end; 0: a walk that ended for no good reason.
 * A C library without unwind data (musl) ends each walk in the frame that called main: as good as a whole one, as long as
 * this number is the same; when it is another, the walk ended in a libc function further in. */
SBX_SIGNAL_SAFE static inline uint32_t sbx_replay_root_sp(const struct sbx_replay *replay)
{
    if (replay->depth >= 2 && replay->end == SBX_WALK_NO_ROW) {
        return replay->frames[1].sp_flags & ~7u; /* the first is the marker */
    }
    return replay->depth >= 1 && replay->end == SBX_WALK_COMPLETE ? replay->frames[0].sp_flags & ~7u : 0;
}

#endif
