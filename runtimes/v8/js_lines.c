/* SPDX-License-Identifier: Apache-2.0 */
/* js_lines.c - reads V8's table of line ends, or counts the lines. */
#include "js_lines.h"

static uint64_t block_key(const struct js_function *function, uint32_t block)
{
    uint64_t key = (function->script_key ^ ((uint64_t)block + 1)) * UINT64_C(0x9e3779b97f4a7c15);
    return (key ^ key >> 31) | 1;
}

static uint32_t character_at(const struct js_characters *source, uint64_t index)
{
    uint64_t at = source->at + index * source->width;
    return source->width == 1 ? js_byte_at(at) : js_quarter_at(at);
}

/* Returns how many lines end in [from, to) of the source. The range is at most a block. -1: it cannot be read. */
static int32_t count_ends(struct js_pages *pages, const struct js_characters *source, uint32_t from, uint32_t to)
{
    enum {
        PART = 2048 /* characters: a page at most */
    };
    int32_t ends = 0;
    for (uint32_t begin = from; begin < to; begin += PART) {
        uint32_t end = to - begin < PART ? to : begin + PART;
        uint32_t read_to = end < source->count ? end + 1 : end; /* the character after a '\r' */
        uint64_t at = source->at + (uint64_t)begin * source->width;
        if (!js_can_read(pages, at, (uint64_t)(end - begin) * source->width) ||
            !js_can_read(pages, source->at + (uint64_t)(read_to - 1) * source->width, source->width)) {
            return -1;
        }
        for (uint32_t i = begin; i < end; i++) {
            uint32_t c = character_at(source, i);
            bool is_end = c == '\n' || (c & ~1u) == 0x2028;
            if (c == '\r') {
                is_end = i + 1 >= source->count || character_at(source, i + 1) != '\n';
            }
            ends += is_end;
        }
    }
    return ends;
}

/* Returns the line from V8's table. -1: there is no table. */
static int64_t ask_table(struct js_pages *pages, const struct js_layout *layout, uint64_t script, uint32_t position)
{
    struct js_object table;
    if (!js_object_open(pages, js_word_at(script + JS_SCRIPT_LINE_ENDS), JS_ARRAY_ITEMS, &table) ||
        table.type != layout->type_array) {
        return -1;
    }
    int32_t low = 0, high = js_number(js_word_at(table.at + JS_ARRAY_LENGTH));
    if (high <= 0) {
        return -1; /* the same array means "no table yet" */
    }
    while (low < high) { /* find the first line that ends at the position or after it */
        int32_t middle = low + (high - low) / 2;
        uint64_t at = table.at + JS_ARRAY_ITEMS + (uint64_t)middle * 8;
        if (!js_can_read(pages, at, 8) || !js_is_number(js_word_at(at))) {
            return -1;
        }
        if (js_number(js_word_at(at)) < (int32_t)position) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Returns the number of lines that end before the position; -1: not counted yet. */
static int64_t count(struct js_pages *pages, const struct js_function *function, struct js_numbers *counted,
                     uint32_t position, uint32_t *budget)
{
    struct js_characters source;
    uint32_t block = position / JS_LINES_BLOCK, known = block;
    uint64_t ends = 0; /* lines that end before the block `known`, plus one */
    if (block >= JS_LINES_BLOCKS || !js_string_open(pages, js_word_at(function->script + JS_SCRIPT_SOURCE), &source) ||
        position > source.count) {
        return -1;
    }
    while (known > 0 && (ends = js_numbers_find(counted, block_key(function, known))) == 0) {
        known--;
    }
    ends = known == 0 ? 1 : ends;
    for (;;) {
        uint32_t from = known * JS_LINES_BLOCK, to = known < block ? from + JS_LINES_BLOCK : position;
        int32_t more = *budget == 0 ? -1 : count_ends(pages, &source, from, to);
        if (more < 0) {
            return -1;
        }
        --*budget;
        ends += (uint64_t)more;
        if (known == block) {
            return (int64_t)ends - 1;
        }
        js_numbers_put(counted, block_key(function, ++known), ends);
    }
}

uint32_t js_line_of(struct js_pages *pages, const struct js_layout *layout, const struct js_function *function,
                    struct js_numbers *counted, uint32_t position, uint32_t *budget)
{
    int64_t line = ask_table(pages, layout, function->script, position);
    if (line < 0) {
        line = count(pages, function, counted, position, budget);
    }
    if (line < 0) {
        return 0;
    }
    uint64_t first = js_word_at(function->script + JS_SCRIPT_LINE);
    if (js_is_number(first) && js_number(first) > 0) { /* the script is part of another file */
        line += js_number(first);
    }
    return (uint32_t)line + 1;
}
