/* SPDX-License-Identifier: Apache-2.0 */
/* interpreter_lock.h - which thread holds the interpreter lock. All other threads of the interpreter wait for it. */
#ifndef INTERPRETER_LOCK_H
#define INTERPRETER_LOCK_H

#include "cpython.h"

/* Finds the lock. The calling thread must hold it, and `thread` is the calling thread's state. */
void interpreter_lock_find(const struct cpython *cpython, uint64_t thread);

/* Does `thread`, the calling thread's state, hold the lock now? Signal safe. */
bool interpreter_lock_is_held_by(uint64_t thread);

/* Does `thread`, which holds the lock, collect garbage now? Signal safe. */
bool interpreter_lock_collects(const struct cpython_layout *layout, uint64_t thread);

/* The lock's holder, as struct stallbox_provider_options defines. */
int interpreter_lock_holder(const void *condition);

#endif
