/* SPDX-License-Identifier: Apache-2.0 */
/* order.h - atomics with the order in the name.
 *
 * This is the only file that uses an __atomic builtin. So a reader sees at a glance which orders are used, and a grep
 * finds every one of them. Each non-relaxed use has a line that names its pair ("order: release chunk.committed -
 * ..."), and docs/MEMORY_ORDERING.md lists the pairs. */
#ifndef SBX_ORDER_H
#define SBX_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#define sbx_load_relaxed(p)     __atomic_load_n((p), __ATOMIC_RELAXED)
#define sbx_load_acquire(p)     __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define sbx_load_seq_cst(p)     __atomic_load_n((p), __ATOMIC_SEQ_CST)
#define sbx_store_relaxed(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define sbx_store_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define sbx_store_seq_cst(p, v) __atomic_store_n((p), (v), __ATOMIC_SEQ_CST)
#define sbx_add_relaxed(p, v)   __atomic_fetch_add((p), (v), __ATOMIC_RELAXED)
#define sbx_add_acq_rel(p, v)   __atomic_fetch_add((p), (v), __ATOMIC_ACQ_REL)
#define sbx_or_seq_cst(p, v)    __atomic_fetch_or((p), (v), __ATOMIC_SEQ_CST)
#define sbx_and_seq_cst(p, v)   __atomic_fetch_and((p), (v), __ATOMIC_SEQ_CST)
#define sbx_swap_acq_rel(p, v)  __atomic_exchange_n((p), (v), __ATOMIC_ACQ_REL)

/* On failure *expected is set to the value found. Strong: it fails only when the value differs. */
#define sbx_cas_acq_rel(p, expected, desired) \
    __atomic_compare_exchange_n((p), (expected), (desired), false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)

/* Between a thread and a signal handler on the same thread: the compiler may not move memory accesses across it. */
#define sbx_order_with_handler() __atomic_signal_fence(__ATOMIC_SEQ_CST)
#define sbx_fence_release()      __atomic_thread_fence(__ATOMIC_RELEASE)
#define sbx_fence_acquire()      __atomic_thread_fence(__ATOMIC_ACQUIRE)
#define sbx_fence_seq_cst()      __atomic_thread_fence(__ATOMIC_SEQ_CST)

#endif
