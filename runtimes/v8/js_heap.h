/* SPDX-License-Identifier: Apache-2.0 */
/* js_heap.h - reads objects of V8's heap in place.
 *
 * A thread that reads its own stack reads objects that are not moved meanwhile, with one exception: the thread was
 * interrupted during a garbage collection. Then an object may have been copied, and its first word has the new address.
 * Or its page may be gone. So each page is tested before it is read, each object's type comes from its map, and a frame
 * whose objects do not have the right types is rejected. */
#ifndef JS_HEAP_H
#define JS_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <stallbox/stallbox.h>

enum {
    JS_PAGE_BITS = 12,
    JS_PAGES_BITS = 6,
    JS_PAGES_KNOWN = 1 << JS_PAGES_BITS,
    JS_CHUNK_BITS = 18,
    JS_CHUNKS_BITS = 6,
    JS_CHUNKS_KNOWN = 1 << JS_CHUNKS_BITS,
    JS_OBJECT_TAG = 1,
    JS_OBJECT_TAG_MASK = 3,
    JS_MAP_TYPE = 12, /* in a map: the type of its objects, two bytes */
};

/* These reads may alias any type, may be unaligned, and are hidden from the sanitizers. */
typedef uint64_t js_word __attribute__((may_alias));
typedef uint32_t js_half __attribute__((may_alias));
typedef uint16_t js_quarter __attribute__((may_alias));
#define JS_READS __attribute__((no_sanitize("address", "thread", "alignment")))

/* Memory that this walk found readable. Begins zeroed. V8 allocates chunks of 256 KiB, and a chunk's header says which
 * part of it is in use. So one test is enough for all objects of a chunk. */
struct js_pages {
    uint64_t known[JS_PAGES_KNOWN]; /* page number + 1 */
    struct {
        uint64_t low, high; /* [low, high) is readable */
    } chunks[JS_CHUNKS_KNOWN];
};

/* Like js_can_read(), for memory that was not tested yet. */
bool js_ask_to_read(struct js_pages *pages, uint64_t at, size_t bytes);

static inline uint64_t js_place_of(uint64_t number, unsigned bits)
{
    return number * UINT64_C(0x9e3779b97f4a7c15) >> (64 - bits);
}

/* Are these bytes readable? At most one page. Most are in objects, so the chunks are tried first. */
static inline bool js_can_read(struct js_pages *pages, uint64_t at, size_t bytes)
{
    uint64_t chunk = js_place_of(at >> JS_CHUNK_BITS, JS_CHUNKS_BITS), high = pages->chunks[chunk].high;
    if (at >= pages->chunks[chunk].low && at < high && bytes <= high - at) {
        return true;
    }
    uint64_t first = at >> JS_PAGE_BITS, last = (at + bytes - 1) >> JS_PAGE_BITS;
    uint64_t known = pages->known[js_place_of(first, JS_PAGES_BITS)];
    return (first == last && known == first + 1) || js_ask_to_read(pages, at, bytes);
}

/* Plain loads, of memory for which js_can_read() returned true. */
JS_READS static inline uint64_t js_word_at(uint64_t at)
{
    return *(const js_word *)(uintptr_t)at;
}

JS_READS static inline uint32_t js_half_at(uint64_t at)
{
    return *(const js_half *)(uintptr_t)at;
}

JS_READS static inline uint32_t js_quarter_at(uint64_t at)
{
    return *(const js_quarter *)(uintptr_t)at;
}

JS_READS static inline uint32_t js_byte_at(uint64_t at)
{
    return *(const uint8_t *)(uintptr_t)at;
}

static inline bool js_is_object(uint64_t tagged)
{
    return (tagged & JS_OBJECT_TAG_MASK) == JS_OBJECT_TAG;
}

/* A small integer is in the upper half of its word. */
static inline bool js_is_number(uint64_t tagged)
{
    return (tagged & 1) == 0;
}

static inline int32_t js_number(uint64_t tagged)
{
    return (int32_t)(tagged >> 32);
}

struct js_object {
    uint64_t at; /* address of its first word, without the tag */
    uint32_t type;
};

/* Opens the object that a tagged word refers to. `bytes` of it must be readable. Returns false if the word refers to
 * none that is. */
static inline bool js_object_open(struct js_pages *pages, uint64_t tagged, size_t bytes, struct js_object *object_out)
{
    uint64_t at = tagged - JS_OBJECT_TAG;
    if (!js_is_object(tagged) || !js_can_read(pages, at, bytes)) {
        return false;
    }
    uint64_t map = js_word_at(at);
    if ((map & JS_OBJECT_TAG_MASK) == 0) { /* the object was moved; this is its new address */
        at = map;
        if (!js_can_read(pages, at, bytes)) {
            return false;
        }
        map = js_word_at(at);
    }
    if (!js_is_object(map) || !js_can_read(pages, map - JS_OBJECT_TAG, 16)) {
        return false;
    }
    object_out->at = at;
    object_out->type = js_quarter_at(map - JS_OBJECT_TAG + JS_MAP_TYPE);
    return true;
}

#endif
