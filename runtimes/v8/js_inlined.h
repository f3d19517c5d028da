/* SPDX-License-Identifier: Apache-2.0 */
/* js_inlined.h - the functions that one frame of optimized code runs. The data for deoptimization tells, for each call,
 * which functions were inlined and at which bytecode each of them is. */
#ifndef JS_INLINED_H
#define JS_INLINED_H

#include "js_code.h"

enum {
    JS_INLINED_MAX = 32
};

struct js_inlined {
    uint64_t shared; /* tagged */
    uint32_t offset; /* of its current bytecode */
};

/* Gets the functions that run at `pc`, outermost first, at most JS_INLINED_MAX. is_exact: the instruction at pc runs;
 * otherwise a call before it does. For an instruction that is no call, the check nearest to it decides. Returns the
 * number of functions; 0: not known. */
uint32_t js_inlined_at(struct js_pages *pages, const struct js_layout *layout, const struct js_made_code *code,
                       uint64_t pc, bool is_exact, struct js_inlined *list);

/* Returns the source position table (tagged) of a function that has no frame of its own. 0: none. */
uint64_t js_shared_positions(struct js_pages *pages, const struct js_layout *layout, uint64_t shared);

#endif
