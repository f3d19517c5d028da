/* SPDX-License-Identifier: Apache-2.0 */
/* java_thread.h - the calling thread's JavaThread.
 *
 * Thread::current() is a thread-local variable that nobody exports. But the machine keeps the same pointer behind a key of
 * pthread_setspecific(), for signal handlers of its own. Which key that is, is found out on the first Java thread that asks: the one
 * whose value is in the machine's list of threads and names the calling thread's number.
 *
 * The machine's own threads (GC, compilers) have such a value too, of another class: a word that tells classes apart, the
 * vtable, is learnt from a thread that has Java frames. */
#ifndef SBX_JAVA_THREAD_H
#define SBX_JAVA_THREAD_H

#include <pthread.h>

#include "java_frame.h"

struct sbx_java_threads {
    void *(*get_specific)(pthread_key_t); /* bound before: it is called in handlers */
    uint32_t key;                         /* +1; 0: not found yet */
    uint64_t vtable;
    uint32_t class_at; /* where in a JavaThread the class lies that it waits for; 0: not found yet */
};

/* Look for the key on the calling thread. Costs some microseconds; what is found is kept. Any thread, also several at once. */
SBX_SIGNAL_SAFE bool sbx_java_threads_learn(struct sbx_java_threads *threads, const struct sbx_java_vm *vm);

/* The calling thread's JavaThread; 0: it is none, or that is not known yet. */
SBX_SIGNAL_SAFE uint64_t sbx_java_thread_self(const struct sbx_java_threads *threads);

/* May this thread, the calling one, be about to wait for a monitor, or for a class? Most waits are for neither. Plain loads: its own structure is there
 * for as long as the key names it. */
SBX_SIGNAL_SAFE static inline bool sbx_java_thread_waits_for_monitor(const struct sbx_java_vm *vm, uint64_t thread)
{
    return (*(const uint64_t *)(uintptr_t)(thread + vm->layout.thread_pending_monitor) |
            *(const uint64_t *)(uintptr_t)(thread + vm->layout.thread_waiting_monitor)) != 0;
}

/* Bytes that `thread`, the calling one, has allocated in Java's heap since it began: as far as the machine added them up, and what it took of its buffer
 * since. While the machine does that, the buffer may be counted twice. */
SBX_SIGNAL_SAFE uint64_t sbx_java_thread_allocated(const struct sbx_java_vm *vm, uint64_t thread);

/* Number of the thread that holds the monitor which `thread`, the calling one, is about to wait for; 0: it waits for none, or who that is
 * cannot be told. */
SBX_SIGNAL_SAFE uint32_t sbx_java_monitor_holder(const struct sbx_java_threads *threads, const struct sbx_java_vm *vm,
                                                 uint64_t thread);

/* Number of the thread that initialises the class which `thread`, the calling one, is about to wait for; 0: it waits for none. The machine notes the
 * class in its JavaThread and does not say where: the place is found at the first wait of that sort. */
SBX_SIGNAL_SAFE uint32_t sbx_java_class_holder(struct sbx_java_threads *threads, const struct sbx_java_vm *vm,
                                               uint64_t thread);

#endif
