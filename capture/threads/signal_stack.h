/* SPDX-License-Identifier: Apache-2.0 */
/* signal_stack.h - where a thread's handlers run, which decides whether it may be asked for samples by signal.
 *
 * A thread that has no alternate stack gets one that lies in its block. docs/SIGNAL_SAFETY.md has the reasons. */
#ifndef SBX_SIGNAL_STACK_H
#define SBX_SIGNAL_STACK_H

#include <stdbool.h>

#include "marks.h"
#include "thread_block.h"

/* A thread without an alternate stack for its handlers gets one of ours. Set before any thread registers. */
extern bool sbx_gives_signal_stacks;

/* Learn the calling thread's alternate signal stack, or give it ours when it has none: from here on it may be asked for
 * samples. Keeps errno. */
SBX_HOOK_SAFE void sbx_thread_take_signal_stack(struct sbx_thread *thread);

/* The calling thread ends, or its block may become another's: it is not asked any more, and its handlers run where they would
 * without us. False: it is on our stack right now (a handler of the host's), or the kernel does not let it go: then the block
 * has to stay its own, until the kernel knows the thread no more. Keeps errno. */
SBX_HOOK_SAFE SBX_MUST_CHECK bool sbx_thread_give_back_signal_stack(struct sbx_thread *thread);

/* Take back every thread's timer: the signal is not ours any more. True: one was not answered yet; kernels before 6.13 keep the signal that it
 * may have made until its thread runs. */
SBX_HOOK_SAFE bool sbx_thread_take_back_all(void);

/* Nobody is asked from here on, and nothing more is called for it that the host's filter may forbid. */
SBX_HOOK_SAFE void sbx_thread_forbid_asking(void);

/* Is that the alternate stack of one of our blocks? A child of fork() has its parent's. */
SBX_HOOK_SAFE bool sbx_thread_is_our_signal_stack(const void *low);

#endif
