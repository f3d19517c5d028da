/* SPDX-License-Identifier: Apache-2.0 */
/* generated_code.h - where code lies that a runtime of the program generated, and which function unwinds a frame of it.
 *
 * Such code has no module and no rows. The walk looks here before it trusts the frame pointer. Ranges are added and
 * never removed: a runtime announces the memory it reserved for code, not each function. */
#ifndef SBX_GENERATED_CODE_H
#define SBX_GENERATED_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "marks.h"

enum {
    SBX_GENERATED_RANGES_MAX = 8
};

enum sbx_code_frame_flag {
    SBX_CODE_FRAME_IS_EXACT = 1, /* pc was interrupted; otherwise it is a return address */
    SBX_CODE_FRAME_HAS_FP = 2,
};

/* One frame. A step replaces it by its caller's. Same as struct stallbox_code_frame. */
struct sbx_code_frame {
    uint64_t pc, sp, fp;
    uint64_t stack_low, stack_high; /* the stack that may be read; an address is read at address + stack_delta */
    int64_t stack_delta;
    uint32_t flags; /* enum sbx_code_frame_flag */
};
typedef bool (*sbx_code_step)(struct sbx_code_frame *frame);

struct sbx_generated_range {
    uint64_t begin, end;
    sbx_code_step step; /* signal-safe; NULL: only the frame pointer can be used */
    uint32_t provider;  /* index of the provider */
};

/* Add a range. One caller at a time. Returns false when there are SBX_GENERATED_RANGES_MAX. */
bool sbx_generated_add(const struct sbx_generated_range *range);

/* The range that holds `address`; NULL: none. */
SBX_SIGNAL_SAFE const struct sbx_generated_range *sbx_generated_find(uint64_t address);

#endif
