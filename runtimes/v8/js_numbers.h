/* SPDX-License-Identifier: Apache-2.0 */
/* js_numbers.h - numbers that were found before: ids of functions, lines of positions.
 *
 * All threads and their signal handlers read and write, and none of them waits. An entry is two words, {key ^ value,
 * value}, and is valid only if they match. An entry that two threads wrote at the same time, or that is half-written,
 * does not match. */
#ifndef JS_NUMBERS_H
#define JS_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

enum {
    JS_NUMBERS_ENTRIES = 8192 /* 128 KiB, touched only as they are used */
};

struct js_numbers {
    struct {
        uint64_t check, value;
    } entries[JS_NUMBERS_ENTRIES];
};

/* Returns the value of `key` at one place; 0: it is not there. */
static inline uint64_t js_numbers_at(const struct js_numbers *numbers, uint64_t at, uint64_t key)
{
    uint64_t check = __atomic_load_n(&numbers->entries[at].check, __ATOMIC_RELAXED);
    uint64_t value = __atomic_load_n(&numbers->entries[at].value, __ATOMIC_RELAXED);
    return (check ^ value) == key ? value : 0;
}

/* Returns the value of `key`; 0: it is not there. `key` is not 0 and well mixed, and no value is 0. Each key has two
 * places, so that two keys that are used in turns do not replace each other. */
static inline uint64_t js_numbers_find(const struct js_numbers *numbers, uint64_t key)
{
    uint64_t at = (key >> 1) % JS_NUMBERS_ENTRIES, value = js_numbers_at(numbers, at, key);
    return value != 0 ? value : js_numbers_at(numbers, at ^ 1, key);
}

static inline void js_numbers_put(struct js_numbers *numbers, uint64_t key, uint64_t value)
{
    uint64_t at = (key >> 1) % JS_NUMBERS_ENTRIES;
    if (__atomic_load_n(&numbers->entries[at].value, __ATOMIC_RELAXED) != 0 && js_numbers_at(numbers, at, key) == 0) {
        at ^= 1; /* occupied by another key */
    }
    __atomic_store_n(&numbers->entries[at].check, key ^ value, __ATOMIC_RELAXED);
    __atomic_store_n(&numbers->entries[at].value, value, __ATOMIC_RELAXED);
}

#endif
