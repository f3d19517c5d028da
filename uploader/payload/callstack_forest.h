/* SPDX-License-Identifier: Apache-2.0 */
/* callstack_forest.h - the stacks that leave, interned again.
 *
 * The recording's table has all stacks of some time, and its ids are places in this table. A payload gets only the
 * stacks that its records refer to, in a table of its own: frames sorted so that their deltas are small, and callstacks
 * with parents first. Two stacks that differ only in frames that redaction hides become one. */
#ifndef SBX_CALLSTACK_FOREST_H
#define SBX_CALLSTACK_FOREST_H

#include <stdint.h>

#include "marks.h"
#include "ordinal_map.h"
#include "redacted.h"
#include "snapshot.h"

struct sbx_callstack_forest {
    const struct sbx_snapshot *snapshot; /* borrowed until finish */
    const uint8_t *verdicts;             /* enum sbx_module_verdict by module of the snapshot; borrowed until finish */
    struct sbx_ordinal_map stacks;       /* callstack id of the recording -> index into stack_callstacks */
    uint32_t *stack_callstacks;          /* callstack number */
    size_t stack_room;
    struct sbx_ordinal_map frames; /* redacted frame word -> index into frame_words */
    uint64_t *frame_words;
    size_t frame_room;
    struct sbx_ordinal_map callstacks;   /* (frame, parent) -> callstack number - 1 */
    struct sbx_redacted_callstack *rows; /* by callstack number - 1 */
    size_t row_room;
    struct sbx_ordinal_map hidden;    /* frame words of the recording whose offset was dropped */
    struct sbx_ordinal_map functions; /* ids of runtimes' functions -> index into function_ids */
    struct sbx_redacted_function *function_ids;
    size_t function_room;
    uint64_t *walk; /* scratch: one stack, leaf first */
    size_t walk_room;
};

void sbx_callstack_forest_init(struct sbx_callstack_forest *forest, const struct sbx_snapshot *snapshot,
                               const uint8_t *verdicts);

/* Gets the callstack number of the recording's `stack`; 0 if it has none. The caller handles SBX_STACK_OVERFLOW.
 * Returns 0, -ENOMEM, or -EOVERFLOW for a stack that is deeper than any in a recording. */
SBX_MUST_CHECK int sbx_callstack_forest_put(struct sbx_callstack_forest *forest, uint32_t stack, uint32_t *number_out);

/* Call this after all stacks were put. Makes the modules, frames and callstacks of `redacted`, and its counts of hidden
 * items. */
SBX_MUST_CHECK int sbx_callstack_forest_write(struct sbx_callstack_forest *forest, struct sbx_redacted *redacted);

void sbx_callstack_forest_finish(struct sbx_callstack_forest *forest);

#endif
