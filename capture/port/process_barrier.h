/* SPDX-License-Identifier: Apache-2.0 */
/* process_barrier.h - a fence on every running thread of the process, paid by who asks for it: membarrier(2).
 *
 * For Dekker's pattern where one side is hot and the other hardly ever looks (Dice, Huang, Yang: "Asymmetric Dekker
 * Synchronization", 2001; userspace RCU's sys_membarrier flavour): the hot side stores its word with
 * sbx_store_before_look() and looks at the other's, without a fence of its own; the rare side stores its word, calls
 * sbx_process_barrier(), and only then looks. Either the hot side's look lies behind the barrier and sees the rare side's
 * word, or its store lies before it and is seen. Where membarrier(2) is refused both sides are sequentially consistent. */
#ifndef SBX_PROCESS_BARRIER_H
#define SBX_PROCESS_BARRIER_H

#include <stdbool.h>
#include <stdint.h>

#include "marks.h"
#include "order.h"

/* 1: the hot sides need no fence. Never set before the kernel has agreed once; cleared when it refuses later (a seccomp
 * filter of the host's). */
extern uint32_t sbx_has_process_barrier __attribute__((visibility("hidden")));

/* Ask the kernel. By the thread that starts the recorder: with one thread it takes microseconds, later a grace period of
 * the kernel's. Calling it again costs a load. Returns whether there is a barrier. */
bool sbx_process_barrier_start(void);

/* Every thread of the process that runs passes a full fence before this returns true. False: the kernel does not do it.
 * Some microseconds; our own threads. */
bool sbx_process_barrier(void);

/* The rare side, between its store and its look. Also true where there never was a barrier: then the hot sides have fences
 * of their own. False: there was one and the kernel refuses it now; some thread may have relied on it, so the caller must
 * take it that the look would have seen the other side's word. */
bool sbx_process_barrier_between(void);

/* The hot side: store, and let no later load of this thread be taken before, as far as the rare side can tell. */
#define sbx_store_before_look(p, v)                                                                           \
    do {                                                                                                      \
        if (SBX_LIKELY(sbx_load_relaxed(&sbx_has_process_barrier) != 0)) { /* relaxed: either way is right */ \
            sbx_store_relaxed((p), (v));                                                                      \
            sbx_order_with_handler();                                                                         \
        } else {                                                                                              \
            sbx_store_relaxed((p), (v));                                                                      \
            sbx_fence_seq_cst(); /* a seq_cst store alone does not hold back a relaxed load on aarch64 */     \
        }                                                                                                     \
    } while (0)

#endif
