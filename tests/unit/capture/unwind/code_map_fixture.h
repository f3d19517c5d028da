/* SPDX-License-Identifier: Apache-2.0 */
/* code_map_fixture.h - what a walk needs in a test: this process's modules with their rows, and a frame table. */
#ifndef SBX_TEST_CODE_MAP_FIXTURE_H
#define SBX_TEST_CODE_MAP_FIXTURE_H

#include <stddef.h>

#include "frame_walker.h"

enum {
    FIXTURE_MODULES_MAX = 64
};

struct code_map_fixture {
    struct sbx_code_map *map;
    struct sbx_unwind_rows rows[FIXTURE_MODULES_MAX];
    char paths[FIXTURE_MODULES_MAX][256]; /* by module index; "" is this program, as the loader names it */
    uint32_t module_count;
    uint32_t skipped; /* entries of all modules that the builder left out */
};

/* Compile the rows of every loaded module; fails the calling test when that is not possible. */
void code_map_fixture_init(struct code_map_fixture *fixture, uint32_t generation);
void code_map_fixture_finish(struct code_map_fixture *fixture);

/* A callstack table in memory of its own with `frame_slots` frames (a power of two). */
struct frame_table_fixture {
    struct sbx_callstack_table table;
    struct sbx_recording_header *header;
    size_t bytes;
};
void frame_table_fixture_init(struct frame_table_fixture *fixture, uint32_t frame_slots);
void frame_table_fixture_finish(struct frame_table_fixture *fixture);

/* The word behind a frame id. */
uint64_t frame_table_word(const struct frame_table_fixture *fixture, uint32_t frame_id);

/* Where the calling thread's stack begins. Takes locks and reads files, so it must not be called in a handler. */
uint64_t own_stack_top(void);

#endif
