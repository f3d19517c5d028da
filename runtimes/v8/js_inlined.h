/* SPDX-License-Identifier: Apache-2.0 */
/* js_inlined.h - the functions that one frame of optimized code runs, as V8 would leave it: what deoptimizing needs to know at
 * each call tells which functions were inlined there, and at which bytecode of each it is. */
#ifndef JS_INLINED_H
#define JS_INLINED_H

#include "js_code.h"

enum {
    JS_INLINED_MAX = 32
};

struct js_inlined {
    uint64_t shared; /* tagged */
    uint32_t offset; /* of its bytecode */
};

/* What runs at `pc`: outermost first, at most JS_INLINED_MAX. Exact: the instruction at pc runs, else a call before it. Of an instruction that is
 * no call, what the nearest check behind it would leave to. Returns how many; 0: not known. */
uint32_t js_inlined_at(struct js_pages *pages, const struct js_layout *layout, const struct js_made_code *code,
                       uint64_t pc, bool is_exact, struct js_inlined *list);

/* The table of source positions (tagged) of a function that is not on the stack by itself. 0: none. */
uint64_t js_shared_positions(struct js_pages *pages, const struct js_layout *layout, uint64_t shared);

#endif
