/* SPDX-License-Identifier: Apache-2.0 */
/* point_alloc.c - the allocation family: exact counts and bytes a thread, and the leaf probe of synchronous samples.
 *
 * What runs on every allocation is three loads, two additions and a compare; the original is called last, as a tail
 * call. free() is left alone: it tells nothing that the counters need, and is half of all calls. */
#include "point.h"

static void *(*real_malloc)(size_t);
static void *(*real_calloc)(size_t, size_t);
static void *(*real_realloc)(void *, size_t);
static void *(*real_aligned_alloc)(size_t, size_t);
static void *(*real_memalign)(size_t, size_t);
static int (*real_posix_memalign)(void **, size_t, size_t);

/* The thread has no block yet. */
SBX_HOOK_SAFE SBX_NOINLINE static void count_first(size_t bytes)
{
    if (sbx_self == NULL && sbx_capture_is_open()) {
        struct sbx_thread *thread = sbx_thread_register_self();
        if (thread != NULL) {
            thread->entry->alloc_count++;
            thread->entry->alloc_bytes += bytes;
        }
    }
}

SBX_HOOK_SAFE static inline void count(size_t bytes, uint8_t op)
{
    struct sbx_thread *thread = sbx_self;
    if (SBX_LIKELY(sbx_thread_is_registered(thread))) {
        struct sbx_thread_entry *entry = thread->entry;
        entry->alloc_count++;
        entry->alloc_bytes += bytes;
        sbx_leaf(thread, SBX_RECORD_ALLOC, op, SBX_GROUP_ALLOC);
        return;
    }
    count_first(bytes);
}

static void *hook_malloc(size_t bytes)
{
    count(bytes, SBX_OP_MALLOC);
    return real_malloc(bytes);
}

static void *hook_calloc(size_t elements, size_t bytes)
{
    count(elements * bytes,
          SBX_OP_CALLOC); /* an overflowing product fails in the original; the counter is then off by it */
    return real_calloc(elements, bytes);
}

static void *hook_realloc(void *old, size_t bytes)
{
    count(bytes, SBX_OP_REALLOC);
    return real_realloc(old, bytes);
}

static void *hook_aligned_alloc(size_t alignment, size_t bytes)
{
    count(bytes, SBX_OP_ALIGNED_ALLOC);
    return real_aligned_alloc(alignment, bytes);
}

static void *hook_memalign(size_t alignment, size_t bytes)
{
    count(bytes, SBX_OP_ALIGNED_ALLOC);
    return real_memalign(alignment, bytes);
}

static int hook_posix_memalign(void **out, size_t alignment, size_t bytes)
{
    count(bytes, SBX_OP_ALIGNED_ALLOC);
    return real_posix_memalign(out, alignment, bytes);
}

static const struct sbx_point points[] = {
    SBX_POINT("malloc", hook_malloc, real_malloc, SBX_GROUP_ALLOC),
    SBX_POINT("calloc", hook_calloc, real_calloc, SBX_GROUP_ALLOC),
    SBX_POINT("realloc", hook_realloc, real_realloc, SBX_GROUP_ALLOC),
    SBX_POINT("aligned_alloc", hook_aligned_alloc, real_aligned_alloc, SBX_GROUP_ALLOC),
    SBX_POINT("memalign", hook_memalign, real_memalign, SBX_GROUP_ALLOC),
    SBX_POINT("posix_memalign", hook_posix_memalign, real_posix_memalign, SBX_GROUP_ALLOC),
};
const struct sbx_point_list sbx_points_alloc = SBX_POINT_LIST(points);
