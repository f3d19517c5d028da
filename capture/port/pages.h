/* SPDX-License-Identifier: Apache-2.0 */
/* pages.h - anonymous memory that no allocator of the host knows about. */
#ifndef SBX_PAGES_H
#define SBX_PAGES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include "marks.h"

/* Zeroed, private, readable and writable; NULL when there is none. What is mapped is used in places: where the kernel gives huge
 * pages unasked, one touched byte would cost 2 MiB. */
SBX_HOOK_SAFE static inline void *sbx_pages_map(size_t bytes)
{
    void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) {
        return NULL;
    }
    (void)madvise(pages, bytes, MADV_NOHUGEPAGE); /* a kernel without huge pages refuses, and need not hear it */
    return pages;
}

/* Like sbx_pages_map(), for what a thread of ours alone works with: a forked child, which has none, has no such pages. A kernel that refuses
 * copies them. */
static inline void *sbx_pages_map_not_for_children(size_t bytes)
{
    void *pages = sbx_pages_map(bytes);
    if (pages != NULL) {
        (void)madvise(pages, bytes, MADV_DONTFORK);
    }
    return pages;
}

/* Like sbx_pages_map(), but a child of fork() finds zeroes there, by whatever call it was made. Falls back to ordinary
 * pages where the kernel is older than 4.14. */
static inline void *sbx_pages_map_wiped_on_fork(size_t bytes)
{
    void *pages = sbx_pages_map(bytes);
#ifdef MADV_WIPEONFORK
    if (pages != NULL) {
        madvise(pages, bytes, MADV_WIPEONFORK);
    }
#endif
    return pages;
}

#endif
