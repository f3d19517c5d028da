/* SPDX-License-Identifier: Apache-2.0 */
/* frame_walker.h - from registers to a list of frames, without frame pointers, allocation, locks or system calls.
 *
 * Unwind rows first, frame pointer where a module has no row for an address. Every slot is read through a window of
 * memory known to be readable: the thread's own stack in place, or a copy of a blocked thread's. */
#ifndef SBX_FRAME_WALKER_H
#define SBX_FRAME_WALKER_H

#include <stdbool.h>
#include <stdint.h>

#include "callstack_table.h"
#include "unwind_rows.h"
#include "unwind_rule.h"

enum {
    SBX_WALK_MAX = 512,   /* frames of a walk that are kept: of a deeper stack both ends */
    SBX_WALK_ROOT = 64,   /* so many of them are its outermost */
    SBX_WALK_STEPS = 8192, /* a walk gives up here: some 50 us, in a handler */
    SBX_WALK_CACHE_SLOTS = 1024
};

/* One executable range of one module, as the walker sees it. */
struct sbx_code_range {
    uint64_t start, end; /* addresses */
    uint64_t bias;
    uint32_t module;     /* index in the recording */
    uint32_t flags;      /* enum sbx_code_flag */
    const struct sbx_unwind_rows *rows; /* NULL: none (or pending, see flags) */
};
enum sbx_code_flag { SBX_CODE_ROWS_PENDING = 1, SBX_CODE_SKIP = 2 /* our own library: leading frames are left out */ };

/* All ranges, sorted by start, not overlapping; immutable once published (a new one replaces it; old ones are parked). */
struct sbx_code_map {
    uint32_t count;
    uint32_t generation; /* a cache filled under another generation is stale */
    uint32_t capacity;   /* ranges there is room for: the owner's, to give the map back */
    uint32_t reserved;
    uint64_t signal_return; /* where signal handlers return to, on architectures whose rows do not tell; 0: not known */
    struct sbx_code_range ranges[];
};

/* Memory the walk may read: [lo, hi). An address a is read at a + delta. For an interrupted or blocked thread lo is its
 * sp - SBX_RED_ZONE_BYTES: in an epilogue the rows still name the slot that was just popped, and it is still valid. */
struct sbx_stack_window {
    uint64_t lo, hi;
    int64_t delta;
};

struct sbx_walk_registers {
    uint64_t pc, sp, fp;
    bool pc_is_exact; /* interrupted or own pc; false: a return address */
    bool fp_known;    /* false: fp is unknown (a blocked thread read from outside) */
    bool link_known;  /* architectures with a link register: `link` is what it holds */
    uint64_t link;
    const uint64_t *context; /* all general registers as the kernel saved them (x86-64: uc_mcontext.gregs, aarch64:
                                uc_mcontext.regs), borrowed; or NULL: unknown. Hand-written assembly may keep its CFA in any of them. */
};

/* pc -> rule and frame id. Per thread, zero-initialized memory, 2-way; a set is half a cache line. */
struct sbx_walk_cache_slot {
    uint64_t pc;       /* 0: empty; bit 63 carries `exact` */
    uint32_t rule;
    uint32_t frame_id; /* bit 31: in a range flagged SBX_CODE_SKIP */
};
struct sbx_walk_cache {
    _Alignas(64) uint32_t generation;
    uint32_t epoch; /* of the callstack table: frame ids live as long as it */
    _Alignas(64) struct sbx_walk_cache_slot slots[SBX_WALK_CACHE_SLOTS];
};

enum sbx_walk_flag {
    SBX_FRAME_FP_KNOWN = 1,
    SBX_FRAME_IS_EXACT = 2, /* its pc is where it was interrupted, not a return address */
    SBX_FRAME_OPAQUE = 4,   /* more than `slot` and `fp_slot` decided about this frame: replay must walk it anew */
    SBX_FRAME_SKIPPED = 8,  /* of our own library: left out of the callstack */
    SBX_FRAME_FP_IDLE = 128, /* the step from it to its caller did not ask what its fp is */
};

/* One frame of a walk. */
struct sbx_walk_frame {
    uint64_t pc, sp, fp;
    uint64_t slot;     /* address of the stack slot that held pc; 0: it came from registers */
    uint64_t fp_slot;  /* address that held fp; 0: it is the inner frame's, unchanged */
    uint32_t frame_id; /* 0: the frame table was full */
    uint32_t flags;    /* enum sbx_walk_flag */
};

/* What a walk found, leaf first. Lives in the thread's own block (27 KiB): never on a stack. */
struct sbx_walk {
    uint32_t count;
    uint32_t end;     /* enum sbx_walk_end; not COMPLETE: the outermost frame is the marker that says so */
    uint32_t omitted; /* frames of a deep stack left out; not 0: a marker (SBX_MODULE_CUT) stands in their place */
    struct sbx_walk_frame frames[SBX_WALK_MAX + 2]; /* with both markers */
    struct sbx_walk_frame spare[SBX_WALK_ROOT];     /* to put the outermost in order */
};

/* Walk. `table` interns the frames of `epoch` (its overflow leaves frame id 0 as the outermost, and ends the walk as too
 * deep). Never fails: `end` says how far it came. Touches only `window`, `map` and rows, `cache`, `table`, `walk_out`,
 * and `start->context`. The cache belongs to one walk at a time. */
SBX_SIGNAL_SAFE void sbx_walk_stack(const struct sbx_code_map *map, struct sbx_walk_cache *cache,
                                    struct sbx_callstack_table *table, uint32_t epoch,
                                    const struct sbx_stack_window *window, const struct sbx_walk_registers *start,
                                    struct sbx_walk *walk_out);

/* Intern a walk; returns the callstack id. */
SBX_SIGNAL_SAFE uint32_t sbx_walk_intern(const struct sbx_walk *walk, struct sbx_callstack_table *table,
                                         uint32_t epoch);

/* ---- verified replay ----
 *
 * The last walk of a thread, remembered with the stack slots that decided it. A frame's registers (pc, sp, fp) follow
 * from those of the frame inside it, from the rule of that frame's pc, and from what two slots hold; so when a new walk
 * comes to a frame with the registers of a remembered one, and every slot from there out to the root still holds what it
 * held, then all frames from there on are the remembered ones, and so is their callstack node. Reading two slots a frame
 * costs a fifth of a walk; and most frames' fp decides about nothing, because no frame from there out hangs on it before
 * another is restored: then it is neither compared nor is the slot read that held it. Frames that something else decided (signal frames, kept stack pointers, assembly) are
 * `opaque`: replay ends there, and what lies inside of them is always walked. Rules change with the code map, node ids
 * with the epoch: a replay of another generation or epoch is forgotten. */

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

enum { SBX_REPLAY_FP_COUNTS = 4 }; /* what fp is decides about this frame's caller, or about one further out */
enum { SBX_REPLAY_MAX = SBX_WALK_MAX + 1 }; /* with the marker of a walk that ended early */

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
                                          const struct sbx_stack_window *window,
                                          const struct sbx_walk_registers *start, struct sbx_walk *scratch);

/* Is the frame with this return address, in this slot, on the stack that is remembered? */
SBX_SIGNAL_SAFE bool sbx_replay_has_frame(const struct sbx_replay *replay, uint64_t slot, uint64_t pc);

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

/* The range that holds `address`, or NULL. */
SBX_SIGNAL_SAFE const struct sbx_code_range *sbx_code_map_find(const struct sbx_code_map *map, uint64_t address);

#endif
