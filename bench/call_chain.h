/* SPDX-License-Identifier: Apache-2.0 */
/* call_chain.h - stacks of a chosen depth, with functions as distributions compile them (-O2 -fomit-frame-pointer). */
#ifndef SBX_BENCH_CALL_CHAIN_H
#define SBX_BENCH_CALL_CHAIN_H

#include <stdint.h>

/* The function that is called at the leaf. */
typedef uint64_t bench_leaf_function(void);

enum {
    BENCH_ENDS = 4
};

/* Call `leaf` below `depth` functions of mixed frame sizes (one in sixteen uses a frame pointer). */
uint64_t bench_call_deep(int depth, bench_leaf_function *leaf);

/* Call `leaf` through varying innermost functions. Between any two of the BENCH_ENDS values of `which`, 3 or 5 return
 * addresses differ (that in the function called here, and those in the two or four functions inside of it). */
uint64_t bench_call_end_3(unsigned which, bench_leaf_function *leaf);
uint64_t bench_call_end_5(unsigned which, bench_leaf_function *leaf);

#endif
