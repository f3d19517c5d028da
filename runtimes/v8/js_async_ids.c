/* SPDX-License-Identifier: Apache-2.0 */
/* js_async_ids.c - from a context to four doubles. Their values are decoded from their bits, because this code must not
 * use floating point. */
#include "js_async_ids.h"

enum {
    CONTEXT_BYTES = 56,
    EMBEDDER_ENVIRONMENT = 32, /* node's indices: src/node_context_data.h */
    EMBEDDER_MARK = 39,
    ENVIRONMENT_BYTES = 4096, /* bytes that are searched, from its start */
    TRIES_MAX = 16,
    /* node::AliasedBufferBase: a table of functions, then these fields */
    ARRAY_ISOLATE = 8,
    ARRAY_COUNT = 16,
    ARRAY_OFFSET = 24,
    ARRAY_WORDS = 32,
    ARRAY_BYTES = 56,
    IDS = 4,
    IDS_RUNNING = 0,
    IDS_QUEUED_IN = 8,
    IDS_NEWEST = 16,
    FIELDS_LEAST = 6, /* async_hooks' counters */
    FIELDS_MOST = 16,
    STACK_STEP = 32,
    MANTISSA_BITS = 52,
    EXPONENT_BIAS = 1023,
};

/* Returns a count that is stored as a double; UINT64_MAX: it is negative, or no whole number. */
static uint64_t count_of(uint64_t bits)
{
    uint64_t exponent = bits >> MANTISSA_BITS;
    if (bits == 0) {
        return 0;
    }
    if (exponent < EXPONENT_BIAS || exponent > EXPONENT_BIAS + MANTISSA_BITS) {
        return UINT64_MAX;
    }
    unsigned below = (unsigned)(MANTISSA_BITS - (exponent - EXPONENT_BIAS)); /* bits after the binary point */
    uint64_t mantissa = (bits & ((UINT64_C(1) << MANTISSA_BITS) - 1)) | UINT64_C(1) << MANTISSA_BITS;
    return (mantissa & ((UINT64_C(1) << below) - 1)) == 0 ? mantissa >> below : UINT64_MAX;
}

/* ---- the environment ---- */

static bool open_context(const struct js_layout *layout, struct js_pages *pages, uint64_t word,
                         struct js_object *context_out)
{
    return js_object_open(pages, word, CONTEXT_BYTES, context_out) && context_out->type >= layout->type_context_first &&
           context_out->type <= layout->type_context_last;
}

static uint64_t environment_of(const struct js_layout *layout, struct js_pages *pages, uint64_t context, uint64_t mark)
{
    struct js_object object;
    if (!open_context(layout, pages, context, &object)) {
        return 0;
    }
    uint64_t map = js_word_at(object.at) - JS_OBJECT_TAG; /* readable, because it was opened */
    if (!js_can_read(pages, map + JS_MAP_NATIVE_CONTEXT, 8) ||
        !open_context(layout, pages, js_word_at(map + JS_MAP_NATIVE_CONTEXT), &object) ||
        !js_object_open(pages, js_word_at(object.at + JS_CONTEXT_EMBEDDER), JS_ARRAY_ITEMS + (EMBEDDER_MARK + 1) * 8,
                        &object) ||
        object.type != layout->type_embedder || js_number(js_word_at(object.at + JS_ARRAY_LENGTH)) <= EMBEDDER_MARK ||
        js_word_at(object.at + JS_ARRAY_ITEMS + EMBEDDER_MARK * 8) != mark) {
        return 0;
    }
    return js_word_at(object.at + JS_ARRAY_ITEMS + EMBEDDER_ENVIRONMENT * 8);
}

/* ---- the environment's arrays ---- */

static bool is_array(struct js_pages *pages, uint64_t isolate, uint64_t at, uint64_t *count_out)
{
    if (!js_can_read(pages, at, ARRAY_BYTES) || js_word_at(at + ARRAY_ISOLATE) != isolate ||
        js_word_at(at + ARRAY_OFFSET) != 0) {
        return false;
    }
    *count_out = js_word_at(at + ARRAY_COUNT);
    return true;
}

/* Is the array of the ids here? The stack of ids and the counters are before it. */
static bool is_ids(struct js_pages *pages, uint64_t isolate, uint64_t at)
{
    uint64_t count = 0;
    return is_array(pages, isolate, at, &count) && count == IDS && is_array(pages, isolate, at - ARRAY_BYTES, &count) &&
           count >= FIELDS_LEAST && count <= FIELDS_MOST && is_array(pages, isolate, at - 2 * ARRAY_BYTES, &count) &&
           count != 0 && count % STACK_STEP == 0;
}

static uint32_t find_ids(struct js_environments *environments, struct js_pages *pages, uint64_t isolate,
                         uint64_t environment)
{
    if (__atomic_fetch_add(&environments->tries, 1, __ATOMIC_RELAXED) > TRIES_MAX) {
        return 0; /* relaxed: an approximate count */
    }
    for (uint32_t at = 2 * ARRAY_BYTES; at < ENVIRONMENT_BYTES; at += 8) {
        if (!js_can_read(pages, environment + at, 8)) {
            return 0;
        }
        if (is_ids(pages, isolate, environment + at)) {
            __atomic_store_n(&environments->at, at, __ATOMIC_RELAXED); /* relaxed: all threads store the same */
            return at;
        }
    }
    return 0;
}

bool js_async_ids_read(struct js_environments *environments, const struct js_layout *layout, struct js_pages *pages,
                       uint64_t isolate, uint64_t context, uint64_t mark, struct js_async_ids *ids_out)
{
    uint64_t environment = mark != 0 && layout->type_embedder != 0 ? environment_of(layout, pages, context, mark) : 0;
    if (environment == 0 || (environment & 7) != 0) {
        return false;
    }
    uint32_t at = __atomic_load_n(&environments->at, __ATOMIC_RELAXED); /* relaxed: a number, right or 0 */
    at = at != 0 ? at : find_ids(environments, pages, isolate, environment);
    if (at == 0 || !is_ids(pages, isolate, environment + at)) {
        return false;
    }
    uint64_t words = js_word_at(environment + at + ARRAY_WORDS);
    if ((words & 7) != 0 || !js_can_read(pages, words, IDS * 8)) {
        return false;
    }
    uint64_t queued_in = count_of(js_word_at(words + IDS_QUEUED_IN));
    *ids_out = (struct js_async_ids){.environment = environment,
                                     .running = count_of(js_word_at(words + IDS_RUNNING)),
                                     .queued_in = queued_in != UINT64_MAX ? queued_in : 0,
                                     .newest = count_of(js_word_at(words + IDS_NEWEST))};
    return ids_out->newest != UINT64_MAX && ids_out->running <= ids_out->newest;
}
