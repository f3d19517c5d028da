/* SPDX-License-Identifier: Apache-2.0 */
/* js_heap.c - tests whether memory of V8's heap, or other memory, is readable. */
#include "js_heap.h"

enum {
    CHUNK_SIZE = 0, /* in the header of a chunk */
    CHUNK_LOW = 24, /* where the chunk's objects begin and end */
    CHUNK_HIGH = 32,
    CHUNK_HEAD_BYTES = 40,
    JS_ADDRESS_BITS = 47, /* of user space */
};

static bool can_read(uint64_t at, size_t bytes)
{
    return stallbox_provider_can_read((const void *)(uintptr_t)at, bytes) != 0;
}

/* Are these bytes among the objects of a chunk? The chunk's header says which part of it is in use. Guard pages of code
 * and memory that was given back are outside of this part. */
static bool ask_chunk(struct js_pages *pages, uint64_t at, size_t bytes)
{
    const uint64_t chunk_bytes = UINT64_C(1) << JS_CHUNK_BITS;
    uint64_t chunk = at & ~(chunk_bytes - 1), place = js_place_of(at >> JS_CHUNK_BITS, JS_CHUNKS_BITS);
    if (at >= pages->chunks[place].low && at + bytes <= pages->chunks[place].high) {
        return true;
    }
    if (chunk == 0 || !can_read(chunk, CHUNK_HEAD_BYTES)) {
        return false;
    }
    uint64_t size = js_word_at(chunk + CHUNK_SIZE), low = js_word_at(chunk + CHUNK_LOW),
             high = js_word_at(chunk + CHUNK_HIGH);
    if (size < 4096 || size > chunk_bytes || (size & 4095) != 0 || low <= chunk || low >= high || high > chunk + size) {
        return false; /* in larger chunks, each page is tested by itself */
    }
    pages->chunks[place].low = low;
    pages->chunks[place].high = high;
    return at >= low && at + bytes <= high;
}

bool js_ask_to_read(struct js_pages *pages, uint64_t at, size_t bytes)
{
    uint64_t first = at >> JS_PAGE_BITS, last = (at + bytes - 1) >> JS_PAGE_BITS;
    if (first == 0 || last < first || at >> JS_ADDRESS_BITS != 0) {
        return false;
    }
    if (!ask_chunk(pages, at, bytes)) {
        if (!can_read(at, bytes)) {
            return false;
        }
        pages->known[js_place_of(first, JS_PAGES_BITS)] = first + 1;
    }
    return true;
}
