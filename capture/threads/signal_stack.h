/* SPDX-License-Identifier: Apache-2.0 */
/* signal_stack.h - the stack on which a thread's handlers run. It decides whether the thread may be asked for samples
 * by signal.
 *
 * A thread without an alternate stack gets one that lies in its block. docs/SIGNAL_SAFETY.md has the reasons. */
#ifndef SBX_SIGNAL_STACK_H
#define SBX_SIGNAL_STACK_H

#include <stdbool.h>

#include "marks.h"
#include "thread_block.h"

/* true: a thread without an alternate stack for its handlers gets one of ours. Set before any thread registers. */
extern bool sbx_gives_signal_stacks;

/* Learn the calling thread's alternate signal stack, or give it one of ours when it has none. After this the thread may
 * be asked for samples. Keeps errno. */
SBX_HOOK_SAFE void sbx_thread_take_signal_stack(struct sbx_thread *thread);

/* The calling thread ends, or its block may go to another thread. It is not asked any more, and its handlers run where
 * they would run without us. False: the thread is on our stack right now (in a handler of the host), or the kernel does
 * not release the stack. Then the block has to stay with the thread until the kernel does not know the thread any more.
 * Keeps errno. */
SBX_HOOK_SAFE SBX_MUST_CHECK bool sbx_thread_give_back_signal_stack(struct sbx_thread *thread);

/* Take back every thread's timer, because the signal is not ours any more. True: one timer was not answered yet.
 * Kernels before 6.13 keep the signal that it may have made until its thread runs. */
SBX_HOOK_SAFE bool sbx_thread_take_back_all(void);

/* From here on no thread is asked for samples, and no system call is made for it that the host's filter may forbid. */
SBX_HOOK_SAFE void sbx_thread_forbid_asking(void);

/* Is this the alternate stack of one of our blocks? A child of fork() has its parent's. */
SBX_HOOK_SAFE bool sbx_thread_is_our_signal_stack(const void *low);

#endif
