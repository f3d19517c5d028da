/* SPDX-License-Identifier: Apache-2.0 */
/* process_barrier.h - a fence on every running thread of the process, paid by the thread that asks for it:
 * membarrier(2).
 *
 * It is for Dekker's pattern where one side is hot and the other hardly ever looks (Dice, Huang, Yang: "Asymmetric
 * Dekker Synchronization", 2001; userspace RCU's sys_membarrier flavour). The hot side stores its word with
 * sbx_store_before_look() and then looks at the rare side's word, without a fence of its own. The rare side stores its
 * word, calls sbx_process_barrier(), and only then looks at the hot side's word. Either the hot side's look comes after
 * the barrier and sees the rare side's word, or the hot side's store comes before the barrier and is seen. Where
 * membarrier(2) is refused, both sides are sequentially consistent. */
#ifndef SBX_PROCESS_BARRIER_H
#define SBX_PROCESS_BARRIER_H

#include <stdbool.h>
#include <stdint.h>

#include "marks.h"
#include "order.h"

/* 1: the hot sides need no fence. It is never set before the kernel has agreed once. It is cleared when the kernel
 * refuses later (because of a seccomp filter of the program). */
extern uint32_t sbx_has_process_barrier __attribute__((visibility("hidden")));

/* Ask the kernel for a barrier. Called by the thread that starts the recorder: while there is one thread it takes
 * microseconds, later a grace period of the kernel. Another call costs a load. Returns whether there is a barrier. */
bool sbx_process_barrier_start(void);

/* True: every running thread of the process has passed a full fence. False: the kernel refused it. Takes some
 * microseconds; for threads of the agent. */
bool sbx_process_barrier(void);

/* For the rare side, between its store and its look. Also true if there never was a barrier, because then the hot sides
 * use fences. False: there was a barrier and the kernel refuses it now. A thread may have relied on it, so the caller
 * must assume that its look would have seen the other side's word. */
bool sbx_process_barrier_between(void);

/* For the hot side: store, and keep later loads of this thread from being taken before the store, as far as the rare
 * side can see. */
#define sbx_store_before_look(p, v)                                                                            \
    do {                                                                                                       \
        if (SBX_LIKELY(sbx_load_relaxed(&sbx_has_process_barrier) != 0)) { /* relaxed: both values are safe */ \
            sbx_store_relaxed((p), (v));                                                                       \
            sbx_order_with_handler();                                                                          \
        } else {                                                                                               \
            sbx_store_relaxed((p), (v));                                                                       \
            sbx_fence_seq_cst(); /* on aarch64 a seq_cst store alone does not hold back a relaxed load */      \
        }                                                                                                      \
    } while (0)

#endif
