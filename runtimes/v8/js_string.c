/* SPDX-License-Identifier: Apache-2.0 */
/* js_string.c - strings in one piece, in a part of another string, in several pieces, or outside of the heap. */
#include "js_string.h"

#include "js_layout.h"

enum {
    TYPE_FIRST_NO_STRING = 0x80,
    TYPE_SHAPE = 7,
    TYPE_ONE_BYTE = 8,
    TYPE_NOT_CACHED = 16, /* only the resource has the address of its characters */
    SHAPE_FLAT = 0,
    SHAPE_PARTS = 1,
    SHAPE_OUTSIDE = 2,
    SHAPE_SLICE = 3,
    SHAPE_OTHER = 5, /* refers to another string with the same text */
    STEPS_MAX = 8,
    PARTS_DEPTH = 6,
};

static bool open_string(struct js_pages *pages, uint64_t tagged, struct js_object *string_out)
{
    return js_object_open(pages, tagged, JS_STRING_SECOND, string_out) && string_out->type < TYPE_FIRST_NO_STRING;
}

bool js_string_length(struct js_pages *pages, uint64_t string, uint32_t *length_out)
{
    struct js_object object;
    if (!open_string(pages, string, &object)) {
        return false;
    }
    *length_out = js_half_at(object.at + JS_STRING_LENGTH);
    return true;
}

bool js_string_open(struct js_pages *pages, uint64_t string, struct js_characters *characters_out)
{
    uint64_t skip = 0;
    uint32_t length = 0;
    for (int step = 0; step < STEPS_MAX; step++) {
        struct js_object object, second;
        uint32_t shape;
        if (!open_string(pages, string, &object)) {
            return false;
        }
        shape = object.type & TYPE_SHAPE;
        if (step == 0) {
            length = js_half_at(object.at + JS_STRING_LENGTH);
        }
        if (skip + length > js_half_at(object.at + JS_STRING_LENGTH)) {
            return false;
        }
        uint32_t width = (object.type & TYPE_ONE_BYTE) != 0 ? 1 : 2;
        *characters_out = (struct js_characters){object.at + JS_STRING_FIRST + skip * width, length, width};
        if (shape == SHAPE_FLAT) {
            return true;
        }
        if (!js_can_read(pages, object.at, JS_STRING_SECOND + 8)) {
            return false;
        }
        uint64_t inner = js_word_at(object.at + JS_STRING_FIRST), more = js_word_at(object.at + JS_STRING_SECOND);
        if (shape == SHAPE_OUTSIDE) { /* `more` is the address of the characters */
            characters_out->at = more + skip * width;
            return (object.type & TYPE_NOT_CACHED) == 0 && more != 0;
        }
        if (shape == SHAPE_SLICE && js_is_number(more) && js_number(more) >= 0) {
            skip += (uint32_t)js_number(more);
        } else if (shape == SHAPE_PARTS) { /* a flattened string has an empty second part */
            if (!open_string(pages, more, &second) || js_half_at(second.at + JS_STRING_LENGTH) != 0) {
                return false;
            }
        } else if (shape != SHAPE_OTHER) {
            return false;
        }
        string = inner;
    }
    return false;
}

static bool put(struct js_text *text, uint32_t c)
{
    char bytes[4];
    size_t count = 0;
    if (c < 0x80) {
        bytes[count++] = (char)(c < 0x20 || c == 0x7f ? '?' : (int)c);
    } else {
        unsigned more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
        static const uint8_t heads[] = {0, 0xc0, 0xe0, 0xf0};
        bytes[count++] = (char)(heads[more] | c >> (6 * more));
        while (more-- > 0) {
            bytes[count++] = (char)(0x80 | (c >> (6 * more) & 0x3f));
        }
    }
    if (text->room - text->bytes < count) {
        text->room = text->bytes;
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        text->to[text->bytes++] = bytes[i];
    }
    return true;
}

static bool put_characters(struct js_pages *pages, const struct js_characters *characters, struct js_text *text)
{
    for (uint32_t i = 0; i < characters->count; i++) {
        uint64_t at = characters->at + (uint64_t)i * characters->width;
        if (!js_can_read(pages, at, characters->width)) {
            return false;
        }
        uint32_t c = characters->width == 1 ? js_byte_at(at) : js_quarter_at(at);
        if (c >= 0xd800 && c < 0xe000) {
            uint32_t low =
                c < 0xdc00 && i + 1 < characters->count && js_can_read(pages, at + 2, 2) ? js_quarter_at(at + 2) : 0;
            bool is_pair = low >= 0xdc00 && low < 0xe000;
            c = is_pair ? 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00) : 0xfffd;
            i += is_pair;
        }
        if (!put(text, c)) {
            break;
        }
    }
    return true;
}

static bool append(struct js_pages *pages, uint64_t string, struct js_text *text, int depth)
{
    struct js_characters characters;
    struct js_object object;
    if (js_string_open(pages, string, &characters)) {
        return put_characters(pages, &characters, text);
    }
    if (depth == 0 || !open_string(pages, string, &object) || (object.type & TYPE_SHAPE) != SHAPE_PARTS ||
        !js_can_read(pages, object.at, JS_STRING_SECOND + 8)) {
        return false;
    }
    return append(pages, js_word_at(object.at + JS_STRING_FIRST), text, depth - 1) &&
           append(pages, js_word_at(object.at + JS_STRING_SECOND), text, depth - 1);
}

bool js_string_append(struct js_pages *pages, uint64_t string, struct js_text *text)
{
    return append(pages, string, text, PARTS_DEPTH);
}

bool js_string_part(struct js_pages *pages, uint64_t string, uint32_t from, uint32_t count, struct js_text *text)
{
    struct js_characters characters;
    if (!js_string_open(pages, string, &characters) || from > characters.count) {
        return false;
    }
    characters.at += (uint64_t)from * characters.width;
    characters.count = characters.count - from < count ? characters.count - from : count;
    return put_characters(pages, &characters, text);
}
