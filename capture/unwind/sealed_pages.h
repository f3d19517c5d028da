/* SPDX-License-Identifier: Apache-2.0 */
/* sealed_pages.h - what is written once and then read, and may be megabytes: unwind rows.
 *
 * A fork goes through private memory page by page, and through what a file holds not at all. So sealed pages are those of a memory file without a
 * name (memfd_create(2)), mapped privately: a forked child has the very same ones. It cannot write to its parent's either, be it another
 * user by then and broken into: the file takes no writes, and who makes the mapping writable gets pages of its own.
 *
 * Where there is no such file, or it may not be made (a filter of system calls, a limit on the size of files), they are private pages that a
 * fork copies. */
#ifndef SBX_SEALED_PAGES_H
#define SBX_SEALED_PAGES_H

#include <stddef.h>

/* `pages` are sbx_pages_map()'s, and taken. Returns pages with the same `bytes` in them that cannot be written by a stray pointer; given:
 * munmap(). They are `pages` themselves where nothing better is to be had. Threads of ours. */
void *sbx_pages_seal(void *pages, size_t bytes);

#endif
