/* SPDX-License-Identifier: Apache-2.0 */
/* look_stack.h - the stack that a look at a thread stands for. Any thread; no errors. */
#ifndef SBX_LOOK_STACK_H
#define SBX_LOOK_STACK_H

#include "stall.h"

/* The stack of record number `at` of `thread`; 0: none. A look from outside at a call that was over before its stack was read, or at
 * one of a runtime's thread that was too short to be asked for its functions, takes that of a record of the same call from within 50 ms. */
uint32_t sbx_look_stack(const struct sbx_stall *stall, const struct sbx_stall_thread *thread, size_t at);

#endif
