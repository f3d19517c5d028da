/* SPDX-License-Identifier: Apache-2.0 */
/* call_chain.h - stacks of a chosen depth, of functions as distributions build them (-O2 -fomit-frame-pointer). */
#ifndef SBX_BENCH_CALL_CHAIN_H
#define SBX_BENCH_CALL_CHAIN_H

#include <stdint.h>

/* What is called at the leaf. */
typedef uint64_t bench_leaf_function(void);

enum {
    BENCH_ENDS = 4
};

/* Call `leaf` below `depth` functions of mixed frame sizes (one in sixteen hangs on a frame pointer). */
uint64_t bench_call_deep(int depth, bench_leaf_function *leaf);

/* Call `leaf` through innermost functions so that 3, or 5, return addresses differ between any two of the BENCH_ENDS
 * values of `which` (that of the function called here, and those of the two or four inside of it). */
uint64_t bench_call_end_3(unsigned which, bench_leaf_function *leaf);
uint64_t bench_call_end_5(unsigned which, bench_leaf_function *leaf);

#endif
