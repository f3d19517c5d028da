/* SPDX-License-Identifier: Apache-2.0 */
/* made_up_memory.h - the memory of the virtual machine in a test: only arrays of the test can be read. */
#ifndef SBX_MADE_UP_MEMORY_H
#define SBX_MADE_UP_MEMORY_H

#include <stdint.h>
#include <string.h>

#include "vm_memory.h"

/* The readable range [made_up_low, made_up_high); both are multiples of eight. */
static uint64_t made_up_low, made_up_high;

static inline bool made_up_load(uint64_t address, uint64_t *word_out)
{
    if (address < made_up_low || address >= made_up_high || made_up_high - address < 8) {
        return false;
    }
    memcpy(word_out, (const void *)(uintptr_t)address, 8);
    return true;
}

static inline void made_up_memory_is(const void *low, size_t bytes)
{
    made_up_low = (uint64_t)(uintptr_t)low;
    made_up_high = made_up_low + (bytes & ~(size_t)7);
    sbx_vm_guarded_load = made_up_load;
}

#endif
