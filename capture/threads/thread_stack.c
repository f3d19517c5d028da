/* SPDX-License-Identifier: Apache-2.0 */
/* thread_stack.c - finds where a thread's stack is.
 *
 * This is apart from thread_registry.c because it is about C libraries, not about the threads that record.
 *
 * pthread_getattr_np() reports it, but takes a lock of the thread and allocates (glibc). In a hook, the thread may
 * already hold that lock, or its allocator's. So the two words of glibc's thread descriptor that say it are found once,
 * with a thread of ours whose stack is known. From then on they are read directly. A word that does not fit is not
 * used. */
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
}; /* struct pthread of glibc 2.36 has 288 words; these two are in its last third */

/* index of the word of struct pthread with the stack's begin, followed by its size; 0: not known */
static uint32_t bounds_at;

void sbx_thread_learn_stack_bounds(pthread_t ours)
{
    pthread_attr_t attributes;
    void *low = NULL;
    size_t bytes = 0;
    if (sbx_load_relaxed(&bounds_at) != 0 || /* relaxed: the parent of a forked child has found it, on one thread */
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
            found = i; /* the block begins with the guard; the stack follows */
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
        /* This is repeated later. Our own thread has not looked yet, or it did not find them: then stacks are
         * copied. */
        return;
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

/* musl's function neither locks nor allocates for a thread that is not the first. */
static void read_bounds(struct sbx_thread *thread)
{
    pthread_attr_t attributes;
    void *low = NULL;
    size_t bytes = 0;
    thread->stack_low = thread->stack_high = 1; /* 1: checked, but not known, so stacks are copied */
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

/* The first thread of a forked child is the thread that forked. If it runs outside of the first stack, its stack may be
 * another. */
static bool may_be_another(uint64_t low, uint64_t high)
{
    uint64_t here = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    return sbx_the_capture.header->family.role == SBX_ROLE_WORKER && (here < low || here >= high);
}

SBX_HOOK_SAFE void sbx_thread_find_stack(struct sbx_thread *thread)
{
    if (thread->tid == sbx_the_capture.header->pid) {
        /* The first thread's stack grows. Its end is fixed (the kernel puts the program's name there), and its begin is
         * the limit's. pthread_getattr_np() would parse /proc/self/maps with stdio here. */
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
