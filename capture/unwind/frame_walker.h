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

enum { SBX_WALK_MAX = 512, SBX_WALK_CACHE_SLOTS = 1024 };

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
    const uint64_t *context; /* all general registers as the kernel saved them (x86-64: uc_mcontext.gregs), borrowed; or
                                NULL: unknown. Hand-written assembly may keep its CFA in any of them. */
};

/* pc -> rule and frame id. Per thread, zero-initialized memory, 2-way; a set is half a cache line. */
struct sbx_walk_cache_slot {
    uint64_t pc;       /* 0: empty; bit 63 carries `exact` */
    uint32_t rule;
    uint32_t frame_id; /* bit 31: in a range flagged SBX_CODE_SKIP */
};
struct sbx_walk_cache {
    _Alignas(64) uint32_t generation;
    _Alignas(64) struct sbx_walk_cache_slot slots[SBX_WALK_CACHE_SLOTS];
};

/* What a walk found, leaf first. Lives in the thread's own block (10 KiB): never on a stack. */
struct sbx_walk {
    uint32_t count;
    uint32_t end;                       /* enum sbx_walk_end */
    uint32_t frame_ids[SBX_WALK_MAX + 1]; /* ready for sbx_callstack_intern(): when the walk is not complete, the last is
                                           the end marker and counted in `count` */
    uint64_t pcs[SBX_WALK_MAX + 1];
    uint64_t slots[SBX_WALK_MAX + 1];   /* address of the stack slot that held the frame's return address (frame i's
                                           slot is where frame i + 1's pc was read); 0 for the outermost and markers */
};

/* Walk. `table` interns the frames (its overflow leaves frame id 0 as the last, and ends the walk as too deep). Never
 * fails: `end` says how far it came. At most SBX_WALK_MAX frames; touches only `window`, `map` and rows, `cache`, `table`,
 * `walk_out`, and `start->context`. The cache belongs to one walk at a time. */
SBX_SIGNAL_SAFE void sbx_walk_stack(const struct sbx_code_map *map, struct sbx_walk_cache *cache,
                                    struct sbx_callstack_table *table, const struct sbx_stack_window *window,
                                    const struct sbx_walk_registers *start, struct sbx_walk *walk_out);

/* The range that holds `address`, or NULL. */
SBX_SIGNAL_SAFE const struct sbx_code_range *sbx_code_map_find(const struct sbx_code_map *map, uint64_t address);

#endif
