/* SPDX-License-Identifier: Apache-2.0 */
/* pages.h - anonymous memory that no allocator of the program knows about. */
#ifndef SBX_PAGES_H
#define SBX_PAGES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include "marks.h"

/* Zeroed, private, readable and writable; NULL when there is no memory. Huge pages are refused, because only some
 * places of the memory are used: where the kernel gives huge pages unasked, one touched byte would cost 2 MiB. */
SBX_HOOK_SAFE static inline void *sbx_pages_map(size_t bytes)
{
    void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) {
        return NULL;
    }
    (void)madvise(pages, bytes, MADV_NOHUGEPAGE); /* fails harmlessly without huge pages */
    return pages;
}

/* Like sbx_pages_map(), for memory that only a thread of the agent uses. A forked child has no such thread, and does
 * not get these pages. A kernel that refuses this copies them. */
static inline void *sbx_pages_map_not_for_children(size_t bytes)
{
    void *pages = sbx_pages_map(bytes);
    if (pages != NULL) {
        (void)madvise(pages, bytes, MADV_DONTFORK);
    }
    return pages;
}

/* Like sbx_pages_map(), but a child finds zeroes there, whatever system call made the child. On a kernel older than
 * 4.14 these are ordinary pages. */
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
