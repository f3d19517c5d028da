/* SPDX-License-Identifier: Apache-2.0 */
/* sealed_pages.h - pages that are written once and then only read, and that may have megabytes: unwind rows.
 *
 * fork() copies the page tables of private anonymous memory page by page, but does not copy those of a file mapping. So
 * sealed pages are pages of a memory file without a name (memfd_create(2)), mapped privately: a forked child has the
 * same pages. The child cannot change its parent's pages, even when it runs as another user and is broken into: the
 * file takes no writes, and a process that makes the mapping writable gets its own copies.
 *
 * Where such a file cannot be made (old kernel, a filter of system calls, a limit on the size of files), the pages are
 * private ones that fork() copies. */
#ifndef SBX_SEALED_PAGES_H
#define SBX_SEALED_PAGES_H

#include <stdbool.h>
#include <stddef.h>

/* `pages` are from sbx_pages_map(), and taken. Returns pages with the same `bytes` in them that a stray pointer cannot
 * change; given: munmap(). When no memory file can be made, these are `pages` themselves. Called on our own threads. */
void *sbx_pages_seal(void *pages, size_t bytes);

/* From now on sealed pages share a memory file and lie side by side, so that they are one mapping: a fork copies each
 * mapping, which takes 0.7 us. The file stays open and unsealed until sbx_pages_seal_rest(); so this is only for a
 * thread with a descriptor table of its own (own_descriptors.h), and only this thread may seal pages then. Does nothing
 * if it has none. */
void sbx_pages_seal_together(bool has_own_descriptors);

/* All pages that were to be sealed are: seals and closes the file that they share. The next sbx_pages_seal() begins
 * another one. */
void sbx_pages_seal_rest(void);

#endif
