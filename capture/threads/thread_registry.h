/* SPDX-License-Identifier: Apache-2.0 */
/* thread_registry.h - the threads that record: which entry in the recording, and which private block, each thread has.
 *
 * A thread registers itself in the first hook it passes, or when pthread_create() begins it. The watch thread adopts a
 * thread that passes no hook: it finds the thread in /proc/self/task and looks at it from outside. This file does not
 * know what is recorded of threads.
 *
 * Synchronization:               [1] [2] [3] [4]     [1] register self, forget self (hooked call of the thread)
 *     [1] register / forget self  -   X   -   -      [2] sample handler of the same thread
 *     [2] handler                 X   -   -   -      [3] adopt, reap (watch thread only)
 *     [3] adopt, reap             -   -   X   -      [4] look at a block (watch thread)
 *     [4] look                    -   -   -   -      X: excluded by the `inside` flag or by being one thread */
#ifndef SBX_THREAD_REGISTRY_H
#define SBX_THREAD_REGISTRY_H

#include <stdbool.h>
#include <stdint.h>

#include "marks.h"
#include "recording_format.h"
#include "thread_block.h"

/* What else is done when a thread ends. The recording side hands it in (calls/thread_end.h). */
struct sbx_thread_end {
    void (*begins)(struct sbx_thread *thread);    /* by the thread itself, while it still knows its block */
    void (*completes)(struct sbx_thread *thread); /* before its seat is free for another; by whichever cleans up */
};

/* To be called once, before any thread registers. `entries` is the recording's table. Returns 0 or -errno. */
int sbx_thread_registry_start(struct sbx_recording_header *header, struct sbx_thread_entry *entries,
                              const struct sbx_thread_end *end);
/* In a forked child: was the thread that forked inside another hooked call? Then it forked in a signal handler. */
bool sbx_thread_forked_in_a_call(void);
/* In a forked child, before it starts a recorder: removes the parent's threads, which do not exist here. */
void sbx_thread_registry_forget_parent(void);
/* No more registrations; entries of live threads stay. */
void sbx_thread_registry_stop(void);

/* Register the calling thread and return its block. NULL when it must not register or cannot (counted). Not in a
 * handler. */
SBX_HOOK_SAFE struct sbx_thread *sbx_thread_register_self(void);

/* Watch thread: retire threads that ended, give a block to threads that passed no hook, and refresh names. The kernel's
 * list is read only when the kernel counts other threads than those with blocks. The name of a thread that is not young
 * is read only in some of the scans. */
void sbx_thread_registry_scan(uint32_t own_tid_1, uint32_t own_tid_2);

/* Watch thread, at a trigger: read the current names; when there are very many threads, only those of young ones. */
void sbx_thread_registry_refresh_names(uint64_t now_ns);

/* For tests: numbers of scans, lists and names that were read. Written by the watch thread. */
extern struct sbx_scan_counts {
    uint32_t scans, lists, names;
} sbx_scan_counts;

/* The block of the process's first thread; NULL when it is not known yet, or has ended. Watch thread. */
struct sbx_thread *sbx_thread_main(void);

/* Is no thread in the middle of a walk? Each thread is checked by itself: true says that each was outside our code at
 * some moment during the call. The caller has issued a membarrier before. Module thread. */
bool sbx_thread_registry_is_quiet(void);

#endif
