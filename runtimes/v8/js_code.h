/* SPDX-License-Identifier: Apache-2.0 */
/* js_code.h - code that V8 generated: which object has the instruction at an address, and what it knows of it. */
#ifndef JS_CODE_H
#define JS_CODE_H

#include "js_heap.h"
#include "js_layout.h"
#include "js_numbers.h"

struct js_made_code {
    uint64_t begin; /* of its instructions */
    uint32_t bytes; /* of them; its tables follow */
    uint64_t data;  /* tagged: of optimized code, what it takes to leave it */
};

/* The code with the instruction at `pc`. `function` is the tagged function that runs, whose code it usually is; where it is not (code
 * that replaced a running loop, code that was given up), the pages before `pc` are searched, once for each pc. False: not found. */
bool js_code_find(struct js_pages *pages, const struct js_layout *layout, struct js_numbers *found, uint64_t function,
                  uint64_t pc, struct js_made_code *code_out);

#endif
