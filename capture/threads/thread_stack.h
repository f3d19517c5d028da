/* SPDX-License-Identifier: Apache-2.0 */
/* thread_stack.h - where a thread's stack is, as the C library has it. */
#ifndef SBX_THREAD_STACK_H
#define SBX_THREAD_STACK_H

#include <pthread.h>

#include "marks.h"
#include "thread_block.h"

/* Find out how the C library remembers a thread's stack, by `ours`, a thread that pthread_create() made and that lives. Once; until then
 * stacks of threads are copied to be walked. Allocates: by the thread that starts the recorder, because a thread of ours that allocates gets an
 * arena of glibc's of its own, and each fork of the program copies that as well. */
void sbx_thread_learn_stack_bounds(pthread_t ours);

/* Learn the calling thread's stack bounds if they are not known. Not in a handler. */
SBX_HOOK_SAFE void sbx_thread_find_stack(struct sbx_thread *thread);

#endif
