/* SPDX-License-Identifier: Apache-2.0 */
/* point_alloc.c - the allocation family: exact counts and bytes for each thread, and the leaf probe of synchronous
 * samples.
 *
 * On every allocation the hook does one thread-local load, changes three words in one cache line, and takes a branch.
 * Then it calls the original as a tail call. The words belong to sbx_own_entry, which is never NULL. The thread is
 * looked up only when the count runs out; a thread without a block meets this at its first call. free() changes one
 * word. It only checks whether the thread has no block yet, because a thread may do nothing but free memory of other
 * threads.
 *
 * strdup, getline, reallocarray, operator new and delete call these functions through slots of libc and libstdc++, as
 * any program does, because a program may bring its own allocator. They are counted there, once, and are not points. */
#include "alloc_place.h"
#include "point.h"

#include <pthread.h>
#include <stdlib.h>

static void *(*real_malloc)(size_t);
static void *(*real_calloc)(size_t, size_t);
static void *(*real_realloc)(void *, size_t);
static void *(*real_aligned_alloc)(size_t, size_t);
static void *(*real_memalign)(size_t, size_t);
static int (*real_posix_memalign)(void **, size_t, size_t);
static void *(*real_valloc)(size_t);
static void *(*real_pvalloc)(size_t);
static void (*real_free)(void *);

/* ---- a thread may be made ---- */

/* pthread_create() needs one function of the allocator, calloc(), and locks of the C library's own. */
SBX_HOOK_SAFE bool sbx_alloc_lets_threads_begin(uint8_t group, uint8_t op, const void *caller)
{
    uint64_t place = (uint64_t)(uintptr_t)caller, begin = sbx_the_capture.agent_begin, end = sbx_the_capture.agent_end;
    bool is_known = sbx_is_of_c_library((const void *)(uintptr_t)pthread_create) && caller != NULL &&
                    place - begin >= end - begin; /* a hook whose caller could not be told */
    return is_known && !sbx_is_of_c_library(caller) &&
           ((group == SBX_GROUP_ALLOC && op == SBX_OP_CALLOC) ||
            sbx_is_of_c_library((const void *)(uintptr_t)real_calloc));
}

/* ---- the hooks ---- */

/* The count has run out. A sample may be due, or the thread has no block yet and gets one here, or it is the thread of a
 * forked child whose recorder has not begun. */
SBX_HOOK_SAFE SBX_NOINLINE static void count_is_out(size_t bytes, uint8_t op, const void *caller)
{
    bool is_stranger = sbx_self == NULL;
    sbx_leaf_of_anybody(SBX_RECORD_ALLOC, op, SBX_GROUP_ALLOC, caller);
    if (is_stranger) {
        sbx_own_entry->alloc_count++; /* the caller counted in the entry of strangers */
        sbx_own_entry->alloc_bytes += bytes;
    }
}

/* Count an allocation. Returns whether the count has not run out. */
SBX_HOOK_SAFE static inline bool is_counted(size_t bytes)
{
    struct sbx_thread_entry *entry = sbx_own_entry;
    entry->alloc_count++;
    entry->alloc_bytes += bytes;
    return SBX_LIKELY(--entry->countdown >= 0);
}

/* This and NAME_otherwise are separate functions so that the usual path saves no register. */
SBX_HOOK_SAFE SBX_NOINLINE static void free_of_stranger(void *memory)
{
    if (sbx_capture_is_open()) {
        sbx_thread_register_self();
    }
    sbx_own_entry->free_count++;
    real_free(memory);
}

static void hook_free(void *memory)
{
    struct sbx_thread_entry *entry = sbx_own_entry;
    if (SBX_UNLIKELY(entry == &sbx_entry_of_strangers)) {
        free_of_stranger(memory);
        return;
    }
    entry->free_count++;
    real_free(memory);
}

/* The hook jumps to NAME_otherwise(), whose return address is the caller's. If the product of calloc() overflows, the
 * original fails and the count is wrong. */
#define ALLOCATES(type, name, parameters, arguments, bytes, op)                        \
    SBX_NOINLINE static type name##_otherwise parameters                               \
    {                                                                                  \
        count_is_out(bytes, op, __builtin_return_address(0));                          \
        return real_##name arguments;                                                  \
    }                                                                                  \
    static type hook_##name parameters                                                 \
    {                                                                                  \
        return is_counted(bytes) ? real_##name arguments : name##_otherwise arguments; \
    }

ALLOCATES(void *, malloc, (size_t bytes), (bytes), bytes, SBX_OP_MALLOC)
ALLOCATES(void *, calloc, (size_t elements, size_t bytes), (elements, bytes), elements *bytes, SBX_OP_CALLOC)
ALLOCATES(void *, realloc, (void *old, size_t bytes), (old, bytes), bytes, SBX_OP_REALLOC)
ALLOCATES(void *, aligned_alloc, (size_t alignment, size_t bytes), (alignment, bytes), bytes, SBX_OP_ALIGNED_ALLOC)
ALLOCATES(void *, memalign, (size_t alignment, size_t bytes), (alignment, bytes), bytes, SBX_OP_ALIGNED_ALLOC)
ALLOCATES(int, posix_memalign, (void **out, size_t alignment, size_t bytes), (out, alignment, bytes), bytes,
          SBX_OP_ALIGNED_ALLOC)
ALLOCATES(void *, valloc, (size_t bytes), (bytes), bytes, SBX_OP_ALIGNED_ALLOC)
ALLOCATES(void *, pvalloc, (size_t bytes), (bytes), bytes, SBX_OP_ALIGNED_ALLOC)

static const struct sbx_point points[] = {
    SBX_POINT("malloc", hook_malloc, real_malloc, SBX_GROUP_ALLOC),
    SBX_POINT("calloc", hook_calloc, real_calloc, SBX_GROUP_ALLOC),
    SBX_POINT("realloc", hook_realloc, real_realloc, SBX_GROUP_ALLOC),
    SBX_POINT("aligned_alloc", hook_aligned_alloc, real_aligned_alloc, SBX_GROUP_ALLOC),
    SBX_POINT("memalign", hook_memalign, real_memalign, SBX_GROUP_ALLOC),
    SBX_POINT("posix_memalign", hook_posix_memalign, real_posix_memalign, SBX_GROUP_ALLOC),
    SBX_POINT("valloc", hook_valloc, real_valloc, SBX_GROUP_ALLOC),
    SBX_POINT("pvalloc", hook_pvalloc, real_pvalloc, SBX_GROUP_ALLOC),
    SBX_POINT("free", hook_free, real_free, SBX_GROUP_FREE),
};
const struct sbx_point_list sbx_points_alloc = SBX_POINT_LIST(points);
