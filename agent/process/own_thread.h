/* SPDX-License-Identifier: Apache-2.0 */
/* own_thread.h - creates our threads: they take no signal of the host, and their stacks lie in our memory.
 *
 * Our threads make each fork of the program more expensive. In each child glibc visits the stacks that it allocated
 * itself, and writes to each: this costs a page fault and a page for each stack, and glibc keeps the stacks. It does
 * not touch stacks that it was given. So the stacks of all our threads lie in one mapping of ours, in which each kind
 * of thread has its place. The threads of a forked child use the same places.
 *
 *   | spare | starter | spare | modules | spare | watch |
 *
 * Each mapping that was written to costs a fork 2 us. A guard page would split one mapping into two and add a third. So
 * there is spare room in place of a guard: three times what the deepest path uses, before a thread would reach another
 * thread's stack.
 *
 * The C library keeps its own data at the top of each stack. It uses that data also in a child, where it removes a
 * neighbour from its list of stacks. So the stacks may neither be left out of children nor be wiped there. */
#ifndef SBX_OWN_THREAD_H
#define SBX_OWN_THREAD_H

#include <pthread.h>
#include <stdint.h>

/* At most one thread of each kind lives at a time. */
enum sbx_own_thread {
    SBX_OWN_STARTER, /* starts the recorder, and then ends */
    SBX_OWN_MODULES,
    SBX_OWN_WATCH,
    SBX_OWN_THREADS
};

/* Find out how much of a stack the C library uses. Called once, before the first thread; may look up a symbol in the
 * loader. From then on *alive_out is the number of our threads that are alive or about to be created: it is incremented
 * before a thread is created, and decremented by the thread's last instructions. The fork handler of a forked child
 * clears it. */
void sbx_own_thread_prepare(uint32_t *alive_out);

/* Create a thread of ours: all signals are blocked, and its stack has enough room. Returns 0 or -errno. Allocates, as
 * pthread_create() does. Must not be called by two threads at a time. */
int sbx_own_thread_start(enum sbx_own_thread which, pthread_t *thread, void *(*body)(void *));

#endif
