/* SPDX-License-Identifier: Apache-2.0 */
/* java_thread.h - the calling thread's JavaThread.
 *
 * Thread::current() is a thread-local variable that is not exported. But the JVM stores the same pointer under a key of
 * pthread_setspecific(), for its own signal handlers. The key is found on the first Java thread that asks: it is the
 * key whose value is in the JVM's thread list and has the calling thread's number.
 *
 * The JVM's own threads (GC, compilers) have such a value, too, but of another class. The vtable pointer tells the
 * classes apart. It is learnt from a thread that has Java frames. */
#ifndef SBX_JAVA_THREAD_H
#define SBX_JAVA_THREAD_H

#include <pthread.h>

#include "java_frame.h"

struct sbx_java_threads {
    void *(*get_specific)(pthread_key_t); /* bound beforehand, because signal handlers call it */
    uint32_t key;                         /* key + 1; 0: not found yet */
    uint64_t vtable;
    uint32_t class_at; /* offset in a JavaThread of the class that it waits for; 0: not found yet */
};

/* Searches the key on the calling thread. Takes some microseconds. The result is stored. Any thread may call this, also
 * several at the same time. */
SBX_SIGNAL_SAFE bool sbx_java_threads_learn(struct sbx_java_threads *threads, const struct sbx_java_vm *vm);

/* Returns the calling thread's JavaThread; 0: it has none, or the key is not known yet. */
SBX_SIGNAL_SAFE uint64_t sbx_java_thread_self(const struct sbx_java_threads *threads);

/* May `thread`, the calling thread, be about to wait for a monitor or a class? Most waits are for neither. These are
 * plain loads, because the structure exists as long as the key names it. */
SBX_SIGNAL_SAFE static inline bool sbx_java_thread_waits_for_monitor(const struct sbx_java_vm *vm, uint64_t thread)
{
    return (*(const uint64_t *)(uintptr_t)(thread + vm->layout.thread_pending_monitor) |
            *(const uint64_t *)(uintptr_t)(thread + vm->layout.thread_waiting_monitor)) != 0;
}

/* Returns the bytes that `thread`, the calling thread, has allocated in the Java heap since it began. It is the JVM's
 * sum plus what the thread has taken from its buffer since. While the JVM updates the sum, the buffer may be counted
 * twice. */
SBX_SIGNAL_SAFE uint64_t sbx_java_thread_allocated(const struct sbx_java_vm *vm, uint64_t thread);

/* Returns the tid of the thread that holds the monitor for which `thread`, the calling thread, is about to wait. 0: it
 * waits for none, or the holder cannot be determined. */
SBX_SIGNAL_SAFE uint32_t sbx_java_monitor_holder(const struct sbx_java_threads *threads, const struct sbx_java_vm *vm,
                                                 uint64_t thread);

/* Returns the tid of the thread that initialises the class for which `thread`, the calling thread, is about to wait; 0:
 * it waits for none. The JVM stores the class in its JavaThread at an offset that it does not export. The offset is
 * found at the first such wait. */
SBX_SIGNAL_SAFE uint32_t sbx_java_class_holder(struct sbx_java_threads *threads, const struct sbx_java_vm *vm,
                                               uint64_t thread);

#endif
