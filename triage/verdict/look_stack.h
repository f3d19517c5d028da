/* SPDX-License-Identifier: Apache-2.0 */
/* look_stack.h - the stack that a look at a thread stands for. Any thread; no errors. */
#ifndef SBX_LOOK_STACK_H
#define SBX_LOOK_STACK_H

#include "stall.h"

/* The stack of record number `at` of `thread`; 0: none. Two looks from outside take the stack of another record of the
 * same call, at most 50 ms away: a look at a call that ended before its stack was read, and a look at a runtime's
 * thread in a call too short to ask the runtime for its functions. */
uint32_t sbx_look_stack(const struct sbx_stall *stall, const struct sbx_stall_thread *thread, size_t at);

#endif
