/* SPDX-License-Identifier: Apache-2.0 */
/* shared_mapping.h - a file that others write, mapped by a tool that has to survive its being cut short.
 *
 * A page behind the end of a mapped file is a SIGBUS. Within such a mapping the page is then replaced by zeroes, and the
 * reader goes on and finds no data there; elsewhere the process ends as it would. Tools and the companion only: an application
 * keeps its signals to itself. */
#ifndef SBX_SHARED_MAPPING_H
#define SBX_SHARED_MAPPING_H

#include <stdbool.h>
#include <stddef.h>

#include "marks.h"

/* mmap(2) of the whole file, shared; NULL with errno. Any thread. */
SBX_MUST_CHECK void *sbx_shared_map(int file, size_t bytes, int protection);
void sbx_shared_unmap(void *mapping, size_t bytes);

/* Do it, or be thrown out of it: false, when a file has become shorter than its mapping. For callers that must know of it,
 * where zeroes would count as data. `act` holds nothing, or notes in `context` what its caller has to
 * release. Any thread; faults of other threads and outside of it are as fatal as before. */
bool sbx_mapping_survive(void (*act)(void *context), void *context);

#endif
