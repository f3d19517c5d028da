/* SPDX-License-Identifier: Apache-2.0 */
/* logical_stack.h - appends the stacks of embedded runtimes to the native stack at each capture.
 *
 * A provider (providers.h) is a runtime that can tell which of its functions run on the calling thread
 * (docs/PROVIDERS.md). It is asked wherever a thread records itself, after the native walk. Its frames are interned as
 * children of the native leaf. So two stacks with the same native part and different logical parts are different
 * callstacks for all later code. Without a provider a capture costs one branch more.
 *
 * Most runtimes cannot be asked at any instruction. They are asked only while the thread is in one of its own calls,
 * never inside a signal handler, of the agent or of the program. There the handler asks for a safepoint instead, and
 * the sample is taken at the safepoint.
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

/* Append the providers' frames to the calling thread's native stack `native`, just walked from `start`. Returns the
 * callstack id of the result. The caller holds `inside`. Called only where sbx_the_capture.provider_count is not 0. */
SBX_SIGNAL_SAFE uint32_t sbx_logical_append(struct sbx_thread *thread, const struct sbx_walk_registers *start,
                                            uint32_t native);

/* That provider wrote the frames of `walk` from number `from` on: turn their lines into tags. */
SBX_SIGNAL_SAFE void sbx_logical_tag(struct sbx_logical_walk *walk, uint32_t from, uint32_t provider);

/* Append `walk` to the native stack `native`, interned in `epoch`; SBX_STACK_NONE: there is no native stack. Returns
 * the callstack id. */
SBX_SIGNAL_SAFE uint32_t sbx_logical_intern(const struct sbx_logical_walk *walk, uint32_t epoch, uint32_t native);

/* Is it better to take this sample of the calling thread at a safepoint? If so, a safepoint has been requested, and a
 * record of that kind, op and flags will be made there. If the safepoint that was requested last has not come yet, this
 * sample does not wait for it. The caller holds `inside`. */
SBX_SIGNAL_SAFE bool sbx_logical_defer(struct sbx_thread *thread, uint8_t kind, uint8_t op, uint8_t flags);

#endif
