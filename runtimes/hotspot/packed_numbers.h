/* SPDX-License-Identifier: Apache-2.0 */
/* packed_numbers.h - HotSpot's UNSIGNED5: numbers in one to five bytes, small numbers in fewer.
 *
 * A byte below 192 (minus the excess) is the last one, and the fifth byte is always the last. Each byte counts 64 times
 * as much as the one before. All bits of its value count, so no number has two encodings. From JDK 20 on, 1 is added to
 * each byte, so that 0 can end a list. This 1 is the *excess*. */
#ifndef SBX_PACKED_NUMBERS_H
#define SBX_PACKED_NUMBERS_H

#include <stddef.h>

#include "vm_memory.h"

struct sbx_packed_numbers {
    struct sbx_vm_bytes bytes;
    uint32_t excess;
    bool is_damaged; /* the bytes ended within a number, or a byte is not valid */
};

/* Returns the next number. 0 also means that there is none; then is_damaged is set. */
SBX_SIGNAL_SAFE static inline uint32_t sbx_packed_next(struct sbx_packed_numbers *numbers)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < 5; i++) {
        int byte = sbx_vm_next_byte(&numbers->bytes);
        if (byte < 0 || (uint32_t)byte < numbers->excess) {
            numbers->is_damaged = true;
            return 0;
        }
        uint32_t value = (uint32_t)byte - numbers->excess;
        sum += value << (6 * i);
        if (value < 192 - numbers->excess) {
            break;
        }
    }
    return sum;
}

/* Like sbx_packed_next(), for bytes that are known to be mapped. *at moves on, and becomes NULL at the first damaged
 * number. */
SBX_SIGNAL_SAFE static inline uint32_t sbx_packed_read(const uint8_t **at, const uint8_t *end, uint32_t excess)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < 5 && *at != NULL; i++) {
        if (*at >= end || **at < excess) {
            *at = NULL;
            return 0;
        }
        uint32_t value = *(*at)++ - excess;
        sum += value << (6 * i);
        if (value < 192 - excess) {
            break;
        }
    }
    return sum;
}

/* The lowest bit is the sign. */
SBX_SIGNAL_SAFE static inline int32_t sbx_packed_next_signed(struct sbx_packed_numbers *numbers)
{
    uint32_t number = sbx_packed_next(numbers);
    return (int32_t)((number >> 1) ^ (0 - (number & 1)));
}

#endif
