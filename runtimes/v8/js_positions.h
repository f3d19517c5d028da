/* SPDX-License-Identifier: Apache-2.0 */
/* js_positions.h - which place of the source an instruction was made of: V8's tables of source positions. */
#ifndef JS_POSITIONS_H
#define JS_POSITIONS_H

#include "js_heap.h"
#include "js_layout.h"

/* The place in the script's source (bit field of V8's: js_position_script(), js_position_inlined()) of the entry for `offset`: the last that
 * begins at it or before. False: the table has none, or could not be read. `table` is tagged. */
bool js_positions_find(struct js_pages *pages, const struct js_layout *layout, uint64_t table, uint32_t offset,
                       uint64_t *position_out);

/* Characters before it in the source; -1: none. */
static inline int32_t js_position_script(uint64_t position)
{
    return (position & 1) != 0 ? -1 : (int32_t)(position >> 1 & 0x3fffffff) - 1;
}

/* The bytecodes that an interpreted frame runs, and where in them. False: it is no interpreted frame. */
bool js_frame_bytecode(struct js_pages *pages, const struct js_layout *layout, uint64_t fp, uint64_t *table_out,
                       uint32_t *offset_out);

#endif
