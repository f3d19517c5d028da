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

struct sbx_replay;

enum {
    SBX_WALK_MAX = 512,    /* frames of a walk that are kept: of a deeper stack both ends */
    SBX_WALK_ROOT = 64,    /* so many of them are its outermost */
    SBX_WALK_STEPS = 8192, /* a walk gives up here: some 50 us, in a handler */
    SBX_WALK_CACHE_SLOTS = 1024
};

/* One executable range of one module, as the walker sees it. */
struct sbx_code_range {
    uint64_t start, end; /* addresses */
    uint64_t bias;
    uint32_t module;                    /* index in the recording */
    uint32_t flags;                     /* enum sbx_code_flag */
    const struct sbx_unwind_rows *rows; /* NULL: none (or pending, see flags) */
};
enum sbx_code_flag {
    SBX_CODE_ROWS_PENDING = 1,
    SBX_CODE_SKIP = 2 /* our own library: leading frames are left out */
};

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
    uint64_t pc; /* 0: empty; bit 63 carries `exact` */
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
    SBX_FRAME_IS_EXACT = 2,  /* its pc is where it was interrupted, not a return address */
    SBX_FRAME_OPAQUE = 4,    /* more than `slot` and `fp_slot` decided about this frame: replay must walk it anew */
    SBX_FRAME_SKIPPED = 8,   /* of our own library: left out of the callstack */
    SBX_FRAME_FP_IDLE = 128, /* the step from it to its caller did not ask what its fp is */
    SBX_FRAME_SEEN_FLAGS = SBX_FRAME_FP_KNOWN | SBX_FRAME_IS_EXACT, /* those two frames must agree in to be one */
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

/* What a walk may end at: frames that somebody knows already, from one of them out to the root (stack_replay.h). */
struct sbx_known_frames {
    const struct sbx_replay *replay;
    uint32_t at; /* index of the innermost that may be met, and then of the one that was */
};

/* As sbx_walk_stack(), but ends at the first known frame. Returns true when it met one: known->at says which, and
 * `walk_out` has those inside of it only, without `end`. */
SBX_SIGNAL_SAFE bool sbx_walk_until_known(const struct sbx_code_map *map, struct sbx_walk_cache *cache,
                                          struct sbx_callstack_table *table, uint32_t epoch,
                                          const struct sbx_stack_window *window, const struct sbx_walk_registers *start,
                                          struct sbx_known_frames *known, struct sbx_walk *walk_out);

/* The range that holds `address`, or NULL. */
SBX_SIGNAL_SAFE const struct sbx_code_range *sbx_code_map_find(const struct sbx_code_map *map, uint64_t address);

#endif
