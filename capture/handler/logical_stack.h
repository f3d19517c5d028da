/* SPDX-License-Identifier: Apache-2.0 */
/* logical_stack.h - the stacks of embedded runtimes, put on top of the native stack at each capture.
 *
 * A provider (providers.h) is a runtime that can tell which of its functions run on the calling thread (docs/PROVIDERS.md). It is asked
 * wherever a thread records itself, behind the native walk; its frames are interned as children of the native leaf, so that
 * a stack with another logical part is another callstack for everything that comes after. Without a provider a capture
 * pays one branch.
 *
 * Most runtimes cannot be asked at any instruction. They are asked only while the thread is in one of its own calls,
 * never under a signal handler, ours or the host's; the handler asks for a safepoint instead and leaves the sample to it.
 *
 * Synchronization:              [1] [2] [3] [4]     [1] append, note, safepoint (the thread, `inside` held)
 *     [1] append                 -   X   -   -      [2] defer (handler of the thread, `inside` held)
 *     [2] defer                  X   -   -   -      [3] append noted (watch thread)
 *     [3] append noted           -   -   -   -      [4] register (any thread, one at a time)
 *     [4] register               -   -   -   X      X: excluded by `inside`, or by the caller */
#ifndef SBX_LOGICAL_STACK_H
#define SBX_LOGICAL_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "marks.h"
#include "providers.h"
#include "recording_format.h"

struct sbx_thread;
struct sbx_blocking;
struct sbx_walk_registers;

/* The callstack id of the calling thread's native stack `native`, just walked from `start`, with what the providers say
 * put on it. The caller holds `inside`. Called only where sbx_the_capture.provider_count is not 0. */
SBX_SIGNAL_SAFE uint32_t sbx_logical_append(struct sbx_thread *thread, const struct sbx_walk_registers *start,
                                            uint32_t native);

/* What stands in `walk` from frame `from` on was told by that provider: make its lines tags. */
SBX_SIGNAL_SAFE void sbx_logical_tag(struct sbx_logical_walk *walk, uint32_t from, uint32_t provider);

/* Put `walk` on the native stack `native`, interned in `epoch`; SBX_STACK_NONE: on none. Returns the callstack id. */
SBX_SIGNAL_SAFE uint32_t sbx_logical_intern(const struct sbx_logical_walk *walk, uint32_t epoch, uint32_t native);

/* Is this sample of the calling thread better taken at a safepoint? Then one has been asked for, and will make a record of
 * that kind, op and flags. A safepoint that did not come since the last time is not waited for again. The caller holds
 * `inside`. */
SBX_SIGNAL_SAFE bool sbx_logical_defer(struct sbx_thread *thread, uint8_t kind, uint8_t op, uint8_t flags);

#endif
