/* SPDX-License-Identifier: Apache-2.0 */
/* js_positions.c - differences of offsets and of positions. A number has seven bits in each byte, the lowest bits
 * first, and its lowest bit is the sign. */
#include "js_positions.h"

enum {
    TABLE_BYTES_MAX = 1 << 18,
    NUMBER_BYTES_MAX = 10
};

struct bytes {
    struct js_pages *pages;
    uint64_t at, end;
};

static bool next_number(struct bytes *bytes, int64_t *number_out)
{
    uint64_t number = 0;
    for (unsigned i = 0; i < NUMBER_BYTES_MAX; i++) {
        if (bytes->at == bytes->end || !js_can_read(bytes->pages, bytes->at, 1)) {
            return false;
        }
        uint32_t byte = js_byte_at(bytes->at++);
        if (7 * i < 64) {
            number |= (uint64_t)(byte & 0x7f) << (7 * i);
        }
        if ((byte & 0x80) == 0) {
            *number_out = (int64_t)(number >> 1 ^ (0 - (number & 1)));
            return true;
        }
    }
    return false;
}

bool js_positions_find(struct js_pages *pages, const struct js_layout *layout, uint64_t table, uint32_t offset,
                       uint64_t *position_out)
{
    struct js_object object;
    if (!js_object_open(pages, table, JS_ARRAY_ITEMS, &object) || object.type != layout->type_bytes) {
        return false;
    }
    int32_t length = js_number(js_word_at(object.at + JS_ARRAY_LENGTH));
    if (length <= 0 || length > TABLE_BYTES_MAX) {
        return false;
    }
    struct bytes bytes = {pages, object.at + JS_ARRAY_ITEMS, object.at + JS_ARRAY_ITEMS + (uint64_t)length};
    int64_t at = -1, more = 0; /* an entry may be before the first instruction */
    uint64_t position = 0;
    bool is_found = false;
    while (next_number(&bytes, &more)) {
        int64_t difference = 0;
        at += more >= 0 ? more : -(more + 1); /* a negative value marks an expression */
        if (at > (int64_t)offset || !next_number(&bytes, &difference)) {
            break;
        }
        position += (uint64_t)difference;
        is_found = true;
    }
    *position_out = position;
    return is_found;
}

bool js_frame_bytecode(struct js_pages *pages, const struct js_layout *layout, uint64_t fp, uint64_t *table_out,
                       uint32_t *offset_out)
{
    struct js_object bytecodes;
    if (!js_can_read(pages, fp + JS_FRAME_BYTECODE, 16)) {
        return false;
    }
    uint64_t offset = js_word_at(fp + JS_FRAME_BYTECODE);
    if (!js_is_number(offset) || !js_object_open(pages, js_word_at(fp + JS_FRAME_BYTECODES), 48, &bytecodes) ||
        bytecodes.type != layout->type_bytecodes) {
        return false;
    }
    int64_t at = (int64_t)js_number(offset) + JS_OBJECT_TAG - (int64_t)layout->bytecodes_first;
    *table_out = js_word_at(bytecodes.at + JS_BYTECODES_POSITIONS);
    *offset_out = (uint32_t)at;
    return at >= 0 && at < js_number(js_word_at(bytecodes.at + JS_BYTECODES_LENGTH));
}
