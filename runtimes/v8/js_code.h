/* SPDX-License-Identifier: Apache-2.0 */
/* js_code.h - code that V8 generated: the object that describes the instruction at an address. */
#ifndef JS_CODE_H
#define JS_CODE_H

#include "js_heap.h"
#include "js_layout.h"
#include "js_numbers.h"

struct js_made_code {
    uint64_t begin; /* where its instructions begin */
    uint32_t bytes; /* their size; tables follow them */
    uint64_t data;  /* tagged: of optimized code, the data for deoptimization */
};

/* Finds the code with the instruction at `pc`. `function` is the tagged function that runs, and this is usually its
 * code. If it is not (code that replaced a running loop, code that was discarded), the memory before `pc` is searched,
 * once for each pc. Returns false if it is not found. */
bool js_code_find(struct js_pages *pages, const struct js_layout *layout, struct js_numbers *found, uint64_t function,
                  uint64_t pc, struct js_made_code *code_out);

#endif
