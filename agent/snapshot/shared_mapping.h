/* SPDX-License-Identifier: Apache-2.0 */
/* shared_mapping.h - a file that others write, mapped by a tool that has to survive its being cut short.
 *
 * A page behind the end of a mapped file is a SIGBUS. Within a mapping of ours the page is replaced by zeroes then, and who
 * reads goes on and finds nothing there; elsewhere the process ends as it would. Tools and the companion only: an application
 * keeps its signals to itself. */
#ifndef SBX_SHARED_MAPPING_H
#define SBX_SHARED_MAPPING_H

#include <stdbool.h>
#include <stddef.h>

#include "marks.h"

/* mmap(2) of the whole file, shared; NULL with errno. Any thread. */
SBX_MUST_CHECK void *sbx_shared_map(int file, size_t bytes, int protection);
void sbx_shared_unmap(void *mapping, size_t bytes);

/* For who has a SIGBUS handler of his own for a while: true when the address lies in a mapping of these, which can be read and
 * written now. Async-signal-safe. */
bool sbx_shared_mapping_heal(const void *address);

#endif
