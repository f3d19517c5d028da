/* SPDX-License-Identifier: Apache-2.0 */
/* made_up_heap.h - objects in V8's layout, in memory of the test. */
#ifndef MADE_UP_HEAP_H
#define MADE_UP_HEAP_H

#include <stdint.h>
#include <string.h>

#include "js_heap.h"
#include "js_layout.h"

enum {
    HEAP_WORDS = 1 << 14,
    TYPE_ONE_BYTE_STRING = 40,
    TYPE_TWO_BYTE_STRING = 32,
    TYPE_OF_SHARED = 257,
    TYPE_OF_SCRIPT = 170,
    TYPE_OF_SCOPE = 256,
    TYPE_OF_ARRAY = 179,
    TYPE_OF_BYTES = 194,
    TYPE_OF_BYTECODES = 195,
    TYPE_OF_FUNCTION = 2065,
};

static uint64_t heap_words[HEAP_WORDS];
static uint32_t heap_used;

static const struct js_layout heap_layout = {
    .type_shared = TYPE_OF_SHARED,
    .type_script = TYPE_OF_SCRIPT,
    .type_scope = TYPE_OF_SCOPE,
    .type_array = TYPE_OF_ARRAY,
    .type_bytes = TYPE_OF_BYTES,
    .type_bytecodes = TYPE_OF_BYTECODES,
    .type_debug = 156,
    .frame_entry = 1,
    .frame_construct_entry = 2,
    .bytecodes_first = 56,
};

static inline uint64_t heap_take(uint32_t words)
{
    uint64_t at = (uint64_t)(uintptr_t)&heap_words[heap_used];
    heap_used += words;
    return at;
}

static inline void heap_put(uint64_t object, int offset, uint64_t word)
{
    memcpy((void *)(uintptr_t)(object - JS_OBJECT_TAG + (uint64_t)(int64_t)offset), &word, sizeof word);
}

static inline uint64_t heap_number(int32_t number)
{
    return (uint64_t)(uint32_t)number << 32;
}

/* Returns a tagged address. */
static inline uint64_t heap_object(uint32_t type, uint32_t words)
{
    uint64_t map = heap_take(3), object = heap_take(words) + JS_OBJECT_TAG;
    uint16_t short_type = (uint16_t)type;
    memcpy((void *)(uintptr_t)(map + JS_MAP_TYPE), &short_type, sizeof short_type);
    heap_put(object, 0, map + JS_OBJECT_TAG);
    return object;
}

static inline void heap_set_length(uint64_t string, uint32_t length)
{
    memcpy((void *)(uintptr_t)(string - JS_OBJECT_TAG + JS_STRING_LENGTH), &length, sizeof length);
}

static inline uint64_t heap_string(const char *text, uint32_t length)
{
    uint64_t string = heap_object(TYPE_ONE_BYTE_STRING, 2 + (length + 7) / 8);
    heap_set_length(string, length);
    memcpy((void *)(uintptr_t)(string - JS_OBJECT_TAG + JS_STRING_FIRST), text, length);
    return string;
}

static inline uint64_t heap_wide_string(const uint16_t *text, uint32_t length)
{
    uint64_t string = heap_object(TYPE_TWO_BYTE_STRING, 2 + (length + 3) / 4);
    heap_set_length(string, length);
    memcpy((void *)(uintptr_t)(string - JS_OBJECT_TAG + JS_STRING_FIRST), text, 2 * (size_t)length);
    return string;
}

static inline void heap_clear(void)
{
    memset(heap_words, 0, sizeof heap_words);
    heap_used = 0;
}

/* A function of `script` whose parameters begin at `position`. Returns a tagged address. */
static inline uint64_t heap_function(uint64_t script, uint64_t name, int32_t position, int32_t literal)
{
    uint64_t scope = heap_object(TYPE_OF_SCOPE, 12), shared = heap_object(TYPE_OF_SHARED, 8);
    uint64_t function = heap_object(TYPE_OF_FUNCTION, 8);
    heap_put(scope, JS_SCOPE_FLAGS, heap_number(2 | (name != 0 ? 1 << 12 : 0))); /* of a function with a name */
    heap_put(scope, JS_SCOPE_LOCALS, heap_number(1));
    int at = JS_SCOPE_REST + 16;
    if (name != 0) {
        heap_put(scope, at, name);
        at += 16;
    }
    heap_put(scope, at, heap_number(position));
    heap_put(shared, JS_SHARED_NAME, scope);
    heap_put(shared, JS_SHARED_SCRIPT, script);
    heap_put(shared, JS_SHARED_LITERAL - 4, heap_number(literal));
    heap_put(function, JS_FUNCTION_SHARED, shared);
    return function;
}

static inline uint64_t heap_script(uint64_t name, uint64_t source, int32_t id)
{
    uint64_t script = heap_object(TYPE_OF_SCRIPT, 12);
    heap_put(script, JS_SCRIPT_NAME, name);
    heap_put(script, JS_SCRIPT_SOURCE, source);
    heap_put(script, JS_SCRIPT_ID, heap_number(id));
    return script;
}

#endif
