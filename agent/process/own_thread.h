/* SPDX-License-Identifier: Apache-2.0 */
/* own_thread.h - how a thread of ours is made: it takes no signal of the host's, and its stack is ours.
 *
 * A program that forks pays for our threads at each fork. glibc goes in each child through the stacks that it made itself, and writes to each:
 * a fault and a page of each, and it keeps them. It leaves alone those that it was given. So the stacks of all of our threads lie in one
 * mapping of ours, where a thread of each sort has its place; the threads of a forked child take the same ones.
 *
 *   | spare | starter | spare | modules | spare | watch |
 *
 * Each mapping that was written to costs a fork 2 us, and a guard makes two of one and is a third. So in the place of a guard there is room: three times
 * what the deepest path takes, before a thread would come to another's stack.
 *
 * The C library writes its own things to the top of each, also in a child, where it takes a neighbour out of its list: so they may not be left
 * out of children nor wiped there. */
#ifndef SBX_OWN_THREAD_H
#define SBX_OWN_THREAD_H

#include <pthread.h>
#include <stdint.h>

/* At most one of each lives at a time. */
enum sbx_own_thread {
    SBX_OWN_STARTER, /* begins the recorder, and ends */
    SBX_OWN_MODULES,
    SBX_OWN_WATCH,
    SBX_OWN_THREADS
};

/* Find out how much of a stack the C library takes. Once, before the first thread; may ask the loader. From then on *alive_out is how many of ours
 * live, or are about to: added to before a thread is made, and subtracted from by its last instructions. A forked child's fork handler clears it. */
void sbx_own_thread_prepare(uint32_t *alive_out);

/* Make a thread of ours: all signals blocked, room on its stack. Returns 0 or -errno. Allocates, as pthread_create() does. Starts follow each
 * other: no two at a time. */
int sbx_own_thread_start(enum sbx_own_thread which, pthread_t *thread, void *(*body)(void *));

#endif
