/* SPDX-License-Identifier: Apache-2.0 */
/* wiped_pages.c - private pages, wiped by the kernel (MADV_WIPEONFORK, Linux 4.14). */
#include "wiped_pages.h"

#include <sys/mman.h>

void *wiped_pages(size_t bytes)
{
    void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) {
        return NULL;
    }
    if (madvise(pages, bytes, MADV_WIPEONFORK) != 0) {
        munmap(pages, bytes);
        return NULL;
    }
    return pages;
}
