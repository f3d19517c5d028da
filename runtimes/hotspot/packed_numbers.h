/* SPDX-License-Identifier: Apache-2.0 */
/* packed_numbers.h - HotSpot's UNSIGNED5: numbers in one to five bytes, smaller ones in fewer.
 *
 * A byte below 192 (less the excess) is the last one, or the fifth is. Each counts 64 times as much as the one before, and all of its value counts,
 * so no number has two forms. From JDK 20 on each byte is one more than it says, so that 0 can end a list: that one is the *excess*. */
#ifndef SBX_PACKED_NUMBERS_H
#define SBX_PACKED_NUMBERS_H

#include <stddef.h>

#include "vm_memory.h"

struct sbx_packed_numbers {
    struct sbx_vm_bytes bytes;
    uint32_t excess;
    bool is_damaged; /* the bytes ended within a number, or one of them cannot be */
};

/* The next number; 0 when there is none, which is_damaged tells from a 0. */
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

/* Like sbx_packed_next(), from bytes that are known to be mapped: *at moves on, and is NULL from the first number on that was damaged. */
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

/* The sign is the lowest bit. */
SBX_SIGNAL_SAFE static inline int32_t sbx_packed_next_signed(struct sbx_packed_numbers *numbers)
{
    uint32_t number = sbx_packed_next(numbers);
    return (int32_t)((number >> 1) ^ (0 - (number & 1)));
}

#endif
