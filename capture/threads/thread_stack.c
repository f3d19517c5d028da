/* SPDX-License-Identifier: Apache-2.0 */
/* thread_stack.c - where a thread's stack is.
 *
 * Apart from thread_registry.c because it is about C libraries and not about who records.
 *
 * pthread_getattr_np() tells, but takes a lock of the thread and allocates (glibc): in a hook, the thread may hold that
 * very lock, or its allocator's. So glibc's two words that say it are found once, in a thread of ours whose stack is known,
 * and read directly from then on. A word that does not fit is not believed. */
#include <pthread.h>
#include <stdbool.h>
#include <sys/auxv.h>
#include <sys/resource.h>

#include "thread_stack.h"
#include "the_capture.h"
#include "thread_block.h"

#ifdef __GLIBC__
enum {
    DESCRIPTOR_WORDS = 256
}; /* struct pthread of glibc 2.36 has 288 words, these two in its last third */

static uint32_t bounds_at; /* word of struct pthread that has the stack's begin, the next its size; 0: not known */

void sbx_thread_learn_stack_bounds(pthread_t ours)
{
    pthread_attr_t attributes;
    void *low = NULL;
    size_t bytes = 0;
    if (sbx_load_relaxed(&bounds_at) != 0 || /* relaxed: a forked child's parent has found them, on one thread */
        pthread_getattr_np(ours, &attributes) != 0) {
        return;
    }
    int error = pthread_attr_getstack(&attributes, &low, &bytes);
    pthread_attr_destroy(&attributes);
    const uint64_t *words = (const uint64_t *)ours;
    uint64_t high = (uint64_t)low + bytes;
    uint32_t found = 0, count = 0;
    for (uint32_t i = 1; error == 0 && i + 1 < DESCRIPTOR_WORDS && (uint64_t)(uintptr_t)(words + i + 2) <= high; i++) {
        if (words[i] <= (uint64_t)low && (uint64_t)low - words[i] <= 65536 && words[i] + words[i + 1] == high) {
            found = i; /* the block begins with the guard, the stack behind it */
            count++;
        }
    }
    if (count == 1) {
        sbx_store_release(&bounds_at, found); /* order: release registry.bounds_at */
    }
}

static void read_bounds(struct sbx_thread *thread)
{
    const uint64_t *words = (const uint64_t *)pthread_self();
    uint32_t at = sbx_load_acquire(&bounds_at); /* order: acquire registry.bounds_at */
    uint64_t here = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    if (at == 0) {
        return; /* asked again: our own thread has not looked yet, or never found it, and stacks are copied */
    }
    uint64_t low = words[at], high = low + words[at + 1], self = (uint64_t)(uintptr_t)words;
    bool fits = low < high && low <= self && self < high && (here < low || here < self);
    thread->stack_low = fits ? low : 1;
    thread->stack_high = fits ? high : 1;
}
#else
void sbx_thread_learn_stack_bounds(pthread_t ours)
{
    (void)ours;
}

/* musl's neither locks nor allocates for a thread that is not the first. */
static void read_bounds(struct sbx_thread *thread)
{
    pthread_attr_t attributes;
    void *low = NULL;
    size_t bytes = 0;
    thread->stack_low = thread->stack_high = 1; /* asked, not known: stacks are copied */
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) {
        return;
    }
    if (pthread_attr_getstack(&attributes, &low, &bytes) == 0) {
        thread->stack_low = (uint64_t)low;
        thread->stack_high = (uint64_t)low + bytes;
    }
    pthread_attr_destroy(&attributes);
}
#endif

/* A forked child's first thread is whichever thread forked: one that runs outside of the first stack may have another. */
static bool may_be_another(uint64_t low, uint64_t high)
{
    uint64_t here = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    return sbx_the_capture.header->family.role == SBX_ROLE_WORKER && (here < low || here >= high);
}

SBX_HOOK_SAFE void sbx_thread_find_stack(struct sbx_thread *thread)
{
    if (thread->tid == sbx_the_capture.header->pid) {
        /* The first thread's stack grows: its end is fixed (the kernel puts the program's name there), its begin is
         * what the limit allows. pthread_getattr_np() would parse /proc/self/maps with stdio here. */
        struct rlimit limit;
        uint64_t most = UINT64_C(64) << 20;
        if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < most) {
            most = limit.rlim_cur;
        }
        uint64_t end = getauxval(AT_EXECFN) & ~UINT64_C(7);
        thread->stack_low = end > most ? end - most : 8;
        thread->stack_high = end;
        if (!may_be_another(thread->stack_low, end)) {
            return;
        }
    }
    read_bounds(thread);
}
