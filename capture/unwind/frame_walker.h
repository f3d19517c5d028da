/* SPDX-License-Identifier: Apache-2.0 */
/* frame_walker.h - from registers to a list of frames, without frame pointers, allocation, locks or system calls.
 *
 * The walk uses unwind rows, and the frame pointer where a module has no row for an address. Every slot is read through
 * a window of memory that is known to be readable: the thread's own stack in place, or a copy of a blocked thread's
 * stack. */
#ifndef SBX_FRAME_WALKER_H
#define SBX_FRAME_WALKER_H

#include <stdbool.h>
#include <stdint.h>

#include "callstack_table.h"
#include "unwind_rows.h"
#include "unwind_rule.h"

struct sbx_replay;

enum {
    SBX_WALK_MAX = 512,    /* frames of a walk that are kept; a deeper stack keeps both ends */
    SBX_WALK_ROOT = 64,    /* this many of the kept frames are the outermost ones */
    SBX_WALK_STEPS = 8192, /* a walk stops after this many steps: some 50 us in a handler */
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
    SBX_CODE_SKIP = 2 /* code of this library: such frames at the leaf end are left out */
};

/* All ranges, sorted by start, not overlapping. Immutable once published: a new map replaces it, and old maps are
 * parked. */
struct sbx_code_map {
    uint32_t count;
    uint32_t generation; /* a cache filled under another generation is out of date */
    uint32_t capacity;   /* capacity in ranges; the owner needs it to free the map */
    uint32_t reserved;
    uint64_t signal_return; /* where signal handlers return to, on architectures without rows for it; 0: not known */
    struct sbx_code_range ranges[];
};

/* Memory the walk may read: [lo, hi). An address a is read at a + delta. For an interrupted or blocked thread lo is its
 * sp - SBX_RED_ZONE_BYTES, because in an epilogue the rows still name the slot that was just popped, and that slot is
 * still valid. */
struct sbx_stack_window {
    uint64_t lo, hi;
    int64_t delta;
};

struct sbx_walk_registers {
    uint64_t pc, sp, fp;
    bool pc_is_exact; /* pc is the interrupted or own pc; false: it is a return address */
    bool fp_known;    /* false: fp is unknown (a blocked thread read from outside) */
    bool link_known;  /* architectures with a link register: `link` is its value */
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
    SBX_FRAME_IS_EXACT = 2,  /* its pc was interrupted; it is not a return address */
    SBX_FRAME_OPAQUE = 4,    /* more than `slot` and `fp_slot` decided this frame, so replay must walk it again */
    SBX_FRAME_SKIPPED = 8,   /* a frame of this library: left out of the callstack */
    SBX_FRAME_FP_IDLE = 128, /* the step from it to its caller did not use fp */
    SBX_FRAME_SEEN_FLAGS = SBX_FRAME_FP_KNOWN | SBX_FRAME_IS_EXACT, /* two equal frames agree in these */
};

/* One frame of a walk. */
struct sbx_walk_frame {
    uint64_t pc, sp, fp;
    uint64_t slot;     /* address of the stack slot that held pc; 0: it came from registers */
    uint64_t fp_slot;  /* address that held fp; 0: fp is unchanged from the inner frame */
    uint32_t frame_id; /* 0: the frame table was full */
    uint32_t flags;    /* enum sbx_walk_flag */
};

/* The result of a walk, leaf first. It is in the thread's own block (27 KiB), never on a stack. */
struct sbx_walk {
    uint32_t count;
    uint32_t end;     /* enum sbx_walk_end; when not COMPLETE, the outermost frame is a marker with this reason */
    uint32_t omitted; /* frames of a deep stack left out; when not 0, a marker (SBX_MODULE_CUT) replaces them */
    struct sbx_walk_frame frames[SBX_WALK_MAX + 2]; /* including both markers */
    struct sbx_walk_frame spare[SBX_WALK_ROOT];     /* to put the outermost in order */
};

/* Walk. `table` interns the frames of `epoch`. When the table is full, the outermost frame has frame id 0, and the walk
 * ends as too deep. Never fails: `end` says how far the walk came. Touches only `window`, `map` and its rows, `cache`,
 * `table`, `walk_out`, and `start->context`. Only one walk may use the cache at a time. */
SBX_SIGNAL_SAFE void sbx_walk_stack(const struct sbx_code_map *map, struct sbx_walk_cache *cache,
                                    struct sbx_callstack_table *table, uint32_t epoch,
                                    const struct sbx_stack_window *window, const struct sbx_walk_registers *start,
                                    struct sbx_walk *walk_out);

/* Intern a walk; returns the callstack id. */
SBX_SIGNAL_SAFE uint32_t sbx_walk_intern(const struct sbx_walk *walk, struct sbx_callstack_table *table,
                                         uint32_t epoch);

/* Frames at which a walk may end, because they are known already: from one of them out to the root (stack_replay.h). */
struct sbx_known_frames {
    const struct sbx_replay *replay;
    uint32_t at; /* before the walk: index of the innermost frame that may be met; after it: of the one met */
};

/* Like sbx_walk_stack(), but ends at the first known frame. Returns true when it met one: known->at is then its index,
 * and `walk_out` has only the frames inside of it, without `end`. */
SBX_SIGNAL_SAFE bool sbx_walk_until_known(const struct sbx_code_map *map, struct sbx_walk_cache *cache,
                                          struct sbx_callstack_table *table, uint32_t epoch,
                                          const struct sbx_stack_window *window, const struct sbx_walk_registers *start,
                                          struct sbx_known_frames *known, struct sbx_walk *walk_out);

/* The range that holds `address`, or NULL. */
SBX_SIGNAL_SAFE const struct sbx_code_range *sbx_code_map_find(const struct sbx_code_map *map, uint64_t address);

#endif
