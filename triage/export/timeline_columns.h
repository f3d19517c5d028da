/* SPDX-License-Identifier: Apache-2.0 */
/* timeline_columns.h - a thread's time, divided into the columns of a picture and joined into blocks.
 *
 * Ten seconds of one-millisecond pieces are ten thousand pieces, far more than a picture has columns. Each column gets
 * the state that has most of its time, and neighbours of one state become one block. The label and tooltip of a block
 * are computed from the pieces themselves, not from the columns. */
#ifndef SBX_TIMELINE_COLUMNS_H
#define SBX_TIMELINE_COLUMNS_H

#include "flame_tree.h"

struct sbx_block {
    uint32_t first, last; /* columns; both included */
    enum sbx_span_state state;
    int64_t begin_ns, end_ns; /* of the time in that state, to the nanosecond */
    int64_t state_ns;         /* the time in that state between begin and end */
    uint64_t observations;
    struct sbx_flame_tree tree; /* the stacks of that state in the block */
};

struct sbx_blocks {
    struct sbx_block *blocks;
    size_t count;
};

/* Returns 0 or -ENOMEM. Finish releases; a zeroed value is fine. `columns` > 0, begin_ns < end_ns. */
int sbx_blocks_init(struct sbx_blocks *blocks, const struct sbx_thread_spans *spans, const struct sbx_call_paths *paths,
                    int64_t begin_ns, int64_t end_ns, uint32_t columns);
void sbx_blocks_finish(struct sbx_blocks *blocks);

#endif
