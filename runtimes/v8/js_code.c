/* SPDX-License-Identifier: Apache-2.0 */
/* js_code.c - from an address to the description of its code. In V8 10.2 the instructions are in the object that
 * describes them. In 11.3 they are in another object, and each of the two has the other's address. */
#include "js_code.h"

enum {
    ALIGNMENT = 64, /* of instructions */
    SEARCH_BYTES = 1 << 17,
    CODE_BYTES_MAX = 1 << 24,
    CODE_DATA = 16,
    /* 10.2 */
    OLD_SIZE = 40,
    OLD_INSTRUCTIONS = 128,
    /* 11.3 */
    STREAM_CODE = 8,
    STREAM_INSTRUCTIONS = 16,
    NEW_ENTRY = 40,
    NEW_SIZE = 56,
    NEW_BYTES = 64,
};

/* Is `pc` in the instructions that this description (tagged) has? */
static bool has(struct js_pages *pages, const struct js_layout *layout, uint64_t word, uint64_t pc,
                struct js_made_code *code_out)
{
    struct js_object code;
    if (!js_object_open(pages, word, NEW_BYTES, &code) || code.type != layout->type_code) {
        return false;
    }
    bool is_old = layout->minor == 2;
    code_out->begin = is_old ? code.at + OLD_INSTRUCTIONS : js_word_at(code.at + NEW_ENTRY);
    code_out->bytes = js_half_at(code.at + (is_old ? OLD_SIZE : NEW_SIZE));
    code_out->data = js_word_at(code.at + CODE_DATA);
    return code_out->bytes <= CODE_BYTES_MAX && pc - code_out->begin <= code_out->bytes; /* a call may be last */
}

/* Is there an object whose instructions begin at `begin`? It must contain `pc`. */
static bool is_head(struct js_pages *pages, const struct js_layout *layout, uint64_t begin, uint64_t pc,
                    struct js_made_code *code_out)
{
    uint64_t at = begin - (layout->minor == 2 ? OLD_INSTRUCTIONS : STREAM_INSTRUCTIONS);
    struct js_object head;
    if (!js_can_read(pages, at, STREAM_INSTRUCTIONS)) {
        return false;
    }
    uint64_t map = js_word_at(at);
    if (!js_is_object(map) || map >> 47 != 0) { /* instructions seldom look like this */
        return false;
    }
    if (layout->minor == 2) {
        return has(pages, layout, at + JS_OBJECT_TAG, pc, code_out);
    }
    return js_object_open(pages, at + JS_OBJECT_TAG, STREAM_INSTRUCTIONS, &head) && head.type == layout->type_stream &&
           head.at == at && has(pages, layout, js_word_at(at + STREAM_CODE), pc, code_out) && code_out->begin == begin;
}

bool js_code_find(struct js_pages *pages, const struct js_layout *layout, struct js_numbers *found, uint64_t function,
                  uint64_t pc, struct js_made_code *code_out)
{
    struct js_object object;
    if (js_object_open(pages, function, JS_FUNCTION_CODE + 8, &object) &&
        has(pages, layout, js_word_at(object.at + JS_FUNCTION_CODE), pc, code_out)) {
        return true;
    }
    uint64_t key = pc * UINT64_C(0x9e3779b97f4a7c15);
    key = (key ^ key >> 31) | 1;
    uint64_t known = js_numbers_find(found, key);
    if (known == 1) {
        return false; /* searched before, and not found */
    }
    if (known != 0 && is_head(pages, layout, known & ~UINT64_C(1), pc, code_out)) {
        return true;
    }
    uint64_t begin = pc & ~(uint64_t)(ALIGNMENT - 1);
    for (uint32_t i = 0; i < SEARCH_BYTES / ALIGNMENT; i++, begin -= ALIGNMENT) {
        if (is_head(pages, layout, begin, pc, code_out)) {
            js_numbers_put(found, key, begin | 1);
            return true;
        }
    }
    js_numbers_put(found, key, 1);
    return false;
}
