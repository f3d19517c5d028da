/* SPDX-License-Identifier: Apache-2.0 */
/* walks.h - the same stack, read three times: by our walker, by libunwind's DWARF step, by elfutils' libdw. */
#ifndef STACKCHECK_WALKS_H
#define STACKCHECK_WALKS_H

#include "callstack_table.h"
#include "frame_walker.h"
#include "target_memory.h"

enum {
    FRAMES_MAX = 16384
};

/* Innermost frame first. Of a deep stack our walker omits the middle: gap_at and gap_frames. */
struct walked_stack {
    uint32_t count;
    int end; /* ours: enum sbx_walk_end; libunwind: 0 or its negative error; libdw: 0, or -1 */
    uint32_t gap_at, gap_frames;
    uint64_t pc[FRAMES_MAX];
    uint64_t sp[FRAMES_MAX]; /* not from libdw */
    uint64_t fp[FRAMES_MAX]; /* not from libdw; from ours only where has_fp */
    bool has_fp[FRAMES_MAX];
    bool exact[FRAMES_MAX];   /* from ours and libdw */
    bool guessed[FRAMES_MAX]; /* only ours: found through the frame pointer of code that has no row */
};

/* ---- ours ---- */

struct our_walker {
    struct sbx_callstack_table table;
    struct sbx_recording_header *header;
    struct sbx_walk_cache *cache;
    struct sbx_walk *walk;
    size_t header_bytes;
};
void our_walker_init(struct our_walker *walker);
void our_walker_finish(struct our_walker *walker);

/* `registers_known`: true as from a signal's context; false: only pc and sp, as for a blocked thread that is read from
 * outside. */
void our_walk(struct our_walker *walker, const struct target_memory *memory, const struct target_stack *stack,
              bool registers_known, struct walked_stack *walked_out);

/* ---- libunwind ---- */

struct libunwind_walker;
struct libunwind_walker *libunwind_walker_create(void); /* given: libunwind_walker_destroy() */
void libunwind_walker_destroy(struct libunwind_walker *walker);
void libunwind_walk(struct libunwind_walker *walker, struct target_memory *memory, const struct target_stack *stack,
                    struct walked_stack *walked_out);

/* ---- libdw ---- */

struct libdw_walker;
struct libdw_walker *libdw_walker_create(pid_t pid); /* given: libdw_walker_destroy(). NULL: the process has ended */
void libdw_walker_destroy(struct libdw_walker *walker);
void libdw_walk(struct libdw_walker *walker, struct target_memory *memory, const struct target_stack *stack,
                struct walked_stack *walked_out);

/* The name of the function at an address, or "?"; borrowed until the next call. */
const char *libdw_function_at(struct libdw_walker *walker, uint64_t address);

#endif
