/* SPDX-License-Identifier: Apache-2.0 */
/* interpreter_lock.h - who holds the interpreter's lock, which all but one of its threads wait for. */
#ifndef INTERPRETER_LOCK_H
#define INTERPRETER_LOCK_H

#include "cpython.h"

/* Find the lock. Needs a thread state: on a thread that has the lock, once it is up. */
void interpreter_lock_find(const struct cpython *cpython, uint64_t thread);

/* Has `thread`, the calling thread's state, the lock now? Signal safe. */
bool interpreter_lock_is_held_by(uint64_t thread);

/* Does `thread`, which has the lock, collect garbage now? Signal safe. */
bool interpreter_lock_collects(const struct cpython_layout *layout, uint64_t thread);

/* As struct stallbox_provider_options has it. */
int interpreter_lock_holder(const void *condition);

#endif
