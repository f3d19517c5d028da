/* SPDX-License-Identifier: Apache-2.0 */
/* point_map.c - memory mapped and unmapped: exact counts and bytes for each thread, and the calls that took long. Those
 * are calls that find, fill or free many pages, or that wait for another thread's hold on the address space.
 *
 * libc maps memory for itself (malloc's heaps, thread stacks) inside the library. That is not a call of the program and
 * is not counted here. */
#include "point.h"

#include <sys/mman.h>
#include <sys/types.h>

#include "wide_names.h"

static void count_map(uint64_t bytes)
{
    struct sbx_thread *thread = sbx_self;
    if (sbx_thread_is_registered(thread)) {
        thread->entry->map_count++;
        thread->entry->map_bytes += bytes;
    }
}

/* The call is counted even if it is not recorded. */
#define MAPS(type, name, original_parameters, parameters, arguments, op, failed, mapped) \
    static type(*real_##name) original_parameters;                                       \
    static type hook_##name parameters                                                   \
    {                                                                                    \
        struct sbx_blocking call;                                                        \
        SBX_SAVE_FRAME_POINTER();                                                        \
        sbx_blocking_begin(&call, SBX_GROUP_MAP, SBX_RECORD_MEMORY, op, 0, 0);           \
        type result = real_##name arguments;                                             \
        count_map((failed) ? 0 : (mapped));                                              \
        sbx_blocking_end(&call, bytes, failed, -1);                                      \
        return result;                                                                   \
    }

MAPS(void *, mmap, (void *, size_t, int, int, int, off_t),
     (void *at, size_t bytes, int protection, int flags, int fd, off_t from), (at, bytes, protection, flags, fd, from),
     SBX_OP_MMAP, result == MAP_FAILED, bytes)
MAPS(void *, mmap64, (void *, size_t, int, int, int, off64_t),
     (void *at, size_t bytes, int protection, int flags, int fd, off64_t from),
     (at, bytes, protection, flags, fd, from), SBX_OP_MMAP, result == MAP_FAILED, bytes)
MAPS(int, munmap, (void *, size_t), (void *memory, size_t bytes), (memory, bytes), SBX_OP_MUNMAP, result != 0, 0)
/* The fifth argument exists only with MREMAP_FIXED; it is passed on as in point_open.c. */
MAPS(void *, mremap, (void *, size_t, size_t, int, ...),
     (void *memory, size_t old_bytes, size_t bytes, int flags, void *at), (memory, old_bytes, bytes, flags, at),
     SBX_OP_MREMAP, result == MAP_FAILED, bytes > old_bytes ? bytes - old_bytes : 0)

SBX_BLOCKING_HOOK(int, madvise, (void *memory, size_t bytes, int advice), (memory, bytes, advice), SBX_GROUP_MAP,
                  SBX_RECORD_MEMORY, SBX_OP_MADVISE, 0, bytes, result != 0, -1)

static const struct sbx_point points[] = {
    SBX_POINT("mmap", hook_mmap, real_mmap, SBX_GROUP_MAP),
    SBX_POINT("mmap64", hook_mmap64, real_mmap64, SBX_GROUP_MAP),
    SBX_POINT("munmap", hook_munmap, real_munmap, SBX_GROUP_MAP),
    SBX_POINT("mremap", hook_mremap, real_mremap, SBX_GROUP_MAP),
    SBX_POINT("madvise", hook_madvise, real_madvise, SBX_GROUP_MAP),
};
const struct sbx_point_list sbx_points_map = SBX_POINT_LIST(points);
