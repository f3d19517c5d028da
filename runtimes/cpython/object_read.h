/* SPDX-License-Identifier: Apache-2.0 */
/* object_read.h - words of the runtime's memory, which may be half made or gone: asked about first, then read. */
#ifndef OBJECT_READ_H
#define OBJECT_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <stallbox/stallbox.h>

enum {
    OBJECT_PAGE_BITS = 12,
    OBJECT_TYPE = 8,     /* of every object: its type */
    OBJECT_SIZE = 16,    /* of objects of variable size, and of strings: how many */
    OBJECT_BYTES_AT = 32 /* of bytes: the first */
};

/* Unaligned, typeless, and no business of a sanitizer. */
typedef uint64_t object_word __attribute__((may_alias));
typedef uint32_t object_half __attribute__((may_alias));
#define READS_OBJECTS __attribute__((no_sanitize("address", "thread")))

READS_OBJECTS static inline uint64_t object_word_at(uint64_t object, size_t offset)
{
    return *(const object_word *)(uintptr_t)(object + offset);
}

READS_OBJECTS static inline uint32_t object_half_at(uint64_t object, size_t offset)
{
    return *(const object_half *)(uintptr_t)(object + offset);
}

READS_OBJECTS static inline uint8_t object_byte_at(uint64_t object, size_t offset)
{
    return *(const uint8_t *)(uintptr_t)(object + offset);
}

/* Pages that were asked about, each once; zeroed: none. What a walk reads lies in few pages, in turns. */
enum {
    OBJECT_PAGES = 8 /* power of two */
};
struct object_pages {
    uint64_t known[OBJECT_PAGES];
};

/* May these bytes, at most 4096, be read? An object lies at a multiple of 8, and nothing is read of page 0. */
static inline bool object_can_read_of(struct object_pages *pages, uint64_t object, size_t bytes)
{
    uint64_t first = object >> OBJECT_PAGE_BITS, end = (object + bytes - 1) >> OBJECT_PAGE_BITS;
    if ((object & 7) != 0 || first == 0) {
        return false;
    }
    if (__builtin_expect(pages->known[first % OBJECT_PAGES] == first && pages->known[end % OBJECT_PAGES] == end, 1)) {
        return true;
    }
    if (stallbox_provider_can_read((const void *)(uintptr_t)object, bytes) == 0) {
        return false;
    }
    pages->known[first % OBJECT_PAGES] = first;
    pages->known[end % OBJECT_PAGES] = end;
    return true;
}

/* The page that was asked about last: most of what is read next lies in it. 0: none, and nothing is read of page 0. */
struct object_page {
    uint64_t page;
};

/* May these bytes, at most 4096, be read? An object lies at a multiple of 8. */
static inline bool object_can_read(struct object_page *last, uint64_t object, size_t bytes)
{
    uint64_t first = object >> OBJECT_PAGE_BITS, end = (object + bytes - 1) >> OBJECT_PAGE_BITS;
    if ((object & 7) != 0 || first == 0) {
        return false;
    }
    if (first == end && first == last->page) {
        return true;
    }
    if (stallbox_provider_can_read((const void *)(uintptr_t)object, bytes) == 0) {
        return false;
    }
    last->page = end;
    return true;
}

#endif
