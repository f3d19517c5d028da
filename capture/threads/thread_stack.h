/* SPDX-License-Identifier: Apache-2.0 */
/* thread_stack.h - where a thread's stack is, as the C library stores it. */
#ifndef SBX_THREAD_STACK_H
#define SBX_THREAD_STACK_H

#include <pthread.h>

#include "marks.h"
#include "thread_block.h"

/* Find out where the C library stores the bounds of a thread's stack. `ours` is a living thread made by
 * pthread_create(). To be called once; until then the stacks of threads are copied for walks. Allocates, so it runs on
 * the thread that starts the recorder: a thread of ours that allocates would get a glibc arena of its own, which each
 * fork of the program copies as well. */
void sbx_thread_learn_stack_bounds(pthread_t ours);

/* Find the calling thread's stack bounds if they are not known. Not in a handler. */
SBX_HOOK_SAFE void sbx_thread_find_stack(struct sbx_thread *thread);

#endif
