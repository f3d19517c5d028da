/* SPDX-License-Identifier: Apache-2.0 */
/* js_positions.h - the position in the source for an instruction: V8's source position tables. */
#ifndef JS_POSITIONS_H
#define JS_POSITIONS_H

#include "js_heap.h"
#include "js_layout.h"

/* Gets the source position (a bit field of V8: js_position_script(), js_position_inlined()) for `offset`, from the last
 * entry that begins at it or before. Returns false if the table has none, or could not be read. `table` is tagged. */
bool js_positions_find(struct js_pages *pages, const struct js_layout *layout, uint64_t table, uint32_t offset,
                       uint64_t *position_out);

/* Returns the number of characters before the position in the source; -1: none. */
static inline int32_t js_position_script(uint64_t position)
{
    return (position & 1) != 0 ? -1 : (int32_t)(position >> 1 & 0x3fffffff) - 1;
}

/* Gets the bytecodes that an interpreted frame runs, and the offset in them. Returns false if it is no interpreted
 * frame. */
bool js_frame_bytecode(struct js_pages *pages, const struct js_layout *layout, uint64_t fp, uint64_t *table_out,
                       uint32_t *offset_out);

#endif
