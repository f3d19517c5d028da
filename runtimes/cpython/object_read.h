/* SPDX-License-Identifier: Apache-2.0 */
/* object_read.h - reads words of the runtime's memory. An object may be half-written or freed, so its memory is tested
 * before it is read. */
#ifndef OBJECT_READ_H
#define OBJECT_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <stallbox/stallbox.h>

enum {
    OBJECT_PAGE_BITS = 12,
    OBJECT_TYPE = 8,     /* of every object: its type */
    OBJECT_SIZE = 16,    /* of objects of variable size, and of strings: their length */
    OBJECT_BYTES_AT = 32 /* of bytes: the first byte */
};

/* These reads may alias any type, and are hidden from the sanitizers. */
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

/* Pages that were found readable, each tested once; zeroed: none. A walk reads few pages, in turns. */
enum {
    OBJECT_PAGES = 8 /* power of two */
};
struct object_pages {
    uint64_t known[OBJECT_PAGES];
};

/* Are these bytes, at most 4096, readable? An object is at a multiple of 8. Page 0 is never read. */
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

/* The page that was tested last, which contains most of what is read next. 0: none, because page 0 is never read. */
struct object_page {
    uint64_t page;
};

/* Are these bytes, at most 4096, readable? An object is at a multiple of 8. */
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
