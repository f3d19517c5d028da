/* SPDX-License-Identifier: Apache-2.0 */
/* timeline_columns.c - a thread's time, divided into the columns of a picture and joined into blocks. */
#include "timeline_columns.h"

#include <errno.h>
#include <stdlib.h>

struct raster {
    int64_t begin_ns, end_ns;
    uint32_t columns;
    double (*time_ns)[SBX_SPAN_STATES]; /* by column */
    struct sbx_blocks *blocks;
    size_t block; /* position of the second pass: pieces come in time order */
};

/* The column of a time, as a real number. */
static double column_at(const struct raster *raster, int64_t at_ns)
{
    return (double)(at_ns - raster->begin_ns) * raster->columns / (double)(raster->end_ns - raster->begin_ns);
}

/* First pass: the time that each column was in each state. */
static int raster_piece(void *context, const struct sbx_piece *piece)
{
    struct raster *raster = context;
    if (piece->end_ns < raster->begin_ns || piece->begin_ns > raster->end_ns || piece->state == SBX_SPAN_UNKNOWN) {
        return 0;
    }
    int64_t begin_ns = piece->begin_ns > raster->begin_ns ? piece->begin_ns : raster->begin_ns;
    int64_t end_ns = piece->end_ns < raster->end_ns ? piece->end_ns : raster->end_ns;
    double from = column_at(raster, begin_ns), to = column_at(raster, end_ns);
    double column_ns = (double)(raster->end_ns - raster->begin_ns) / raster->columns;
    if (end_ns == begin_ns) { /* a sample without length is visible if its column has nothing else */
        to = from + 1e-6;
    }
    for (uint32_t column = (uint32_t)from; column < raster->columns && column < to; column++) {
        double left = from > column ? from : column, right = to < column + 1 ? to : column + 1;
        raster->time_ns[column][piece->state] += (right - left) * column_ns;
    }
    return 0;
}

static enum sbx_span_state state_of_column(const double time_ns[SBX_SPAN_STATES])
{
    enum sbx_span_state most = SBX_SPAN_UNKNOWN;
    for (enum sbx_span_state state = SBX_SPAN_UNKNOWN + 1; state < SBX_SPAN_STATES; state++) {
        if (time_ns[state] > time_ns[most]) {
            most = state;
        }
    }
    return most;
}

static int join_columns(struct raster *raster)
{
    struct sbx_blocks *blocks = raster->blocks;
    blocks->blocks = calloc(raster->columns, sizeof *blocks->blocks);
    if (blocks->blocks == NULL) {
        return -ENOMEM;
    }
    for (uint32_t column = 0; column < raster->columns; column++) {
        enum sbx_span_state state = state_of_column(raster->time_ns[column]);
        struct sbx_block *last = blocks->count == 0 ? NULL : &blocks->blocks[blocks->count - 1];
        if (last != NULL && last->state == state && last->last + 1 == column) {
            last->last = column;
        } else if (state != SBX_SPAN_UNKNOWN) {
            blocks->blocks[blocks->count] = (struct sbx_block){
                .first = column, .last = column, .state = state, .begin_ns = INT64_MAX, .end_ns = INT64_MIN};
            int result = sbx_flame_tree_init(&blocks->blocks[blocks->count].tree);
            if (result != 0) {
                return result;
            }
            blocks->blocks[blocks->count++].tree.joins_unnamed = true;
        }
    }
    return 0;
}

/* How much of [from, to] lies in the block, in columns. A piece next to the block counts a little, because what a block
 * shows may begin or end in the columns next to it. */
static double overlap(const struct sbx_block *block, double from, double to)
{
    double left = from > block->first ? from : block->first;
    double right = to < block->last + 1.0 ? to : block->last + 1.0;
    return right > left ? right - left : 1e-9;
}

/* Second pass: give each piece, whole, to the block of its state that has most of it. The block must be there or next
 * to it. */
static int share_piece(void *context, const struct sbx_piece *piece)
{
    struct raster *raster = context;
    int64_t begin_ns = piece->begin_ns > raster->begin_ns ? piece->begin_ns : raster->begin_ns;
    int64_t end_ns = piece->end_ns < raster->end_ns ? piece->end_ns : raster->end_ns;
    if (end_ns < begin_ns) {
        return 0;
    }
    double from = column_at(raster, begin_ns), to = column_at(raster, end_ns);
    const struct sbx_blocks *blocks = raster->blocks;
    while (raster->block < blocks->count && blocks->blocks[raster->block].last + 2.0 < from) {
        raster->block++;
    }
    struct sbx_block *best = NULL;
    for (size_t i = raster->block; i < blocks->count && blocks->blocks[i].first - 1.0 <= to; i++) {
        struct sbx_block *block = &blocks->blocks[i];
        if (block->state == piece->state && (best == NULL || overlap(block, from, to) > overlap(best, from, to))) {
            best = block;
        }
    }
    if (best == NULL) {
        return 0; /* too short to be visible */
    }
    best->begin_ns = begin_ns < best->begin_ns ? begin_ns : best->begin_ns;
    best->end_ns = end_ns > best->end_ns ? end_ns : best->end_ns;
    best->state_ns += end_ns - begin_ns;
    best->observations += piece->looks;
    return sbx_flame_tree_add(&best->tree, piece, end_ns - begin_ns);
}

int sbx_blocks_init(struct sbx_blocks *blocks, const struct sbx_thread_spans *spans, const struct sbx_call_paths *paths,
                    int64_t begin_ns, int64_t end_ns, uint32_t columns)
{
    *blocks = (struct sbx_blocks){0};
    struct raster raster = {.begin_ns = begin_ns, .end_ns = end_ns, .columns = columns, .blocks = blocks};
    raster.time_ns = calloc(columns, sizeof *raster.time_ns);
    if (raster.time_ns == NULL) {
        return -ENOMEM;
    }
    int result = sbx_span_pieces_visit(spans, paths, raster_piece, &raster);
    if (result == 0) {
        result = join_columns(&raster);
    }
    if (result == 0) {
        result = sbx_span_pieces_visit(spans, paths, share_piece, &raster);
    }
    free(raster.time_ns);
    if (result != 0) {
        sbx_blocks_finish(blocks);
    }
    return result;
}

void sbx_blocks_finish(struct sbx_blocks *blocks)
{
    for (size_t i = 0; i < blocks->count; i++) {
        sbx_flame_tree_finish(&blocks->blocks[i].tree);
    }
    free(blocks->blocks);
    *blocks = (struct sbx_blocks){0};
}
