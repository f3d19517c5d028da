/* SPDX-License-Identifier: Apache-2.0 */
/* shared_mapping.h - a file that others write, mapped by a tool that must survive the file being cut short.
 *
 * Access to a page after the end of a mapped file is a SIGBUS. In a mapping of this table the page is then replaced by
 * zeroes, so the reader continues and finds no data there. Any other SIGBUS ends the process as usual. For tools and
 * the companion only: an application's signal handlers are left alone. */
#ifndef SBX_SHARED_MAPPING_H
#define SBX_SHARED_MAPPING_H

#include <stdbool.h>
#include <stddef.h>

#include "marks.h"

/* mmap(2) of the whole file, shared; NULL with errno. Any thread. */
SBX_MUST_CHECK void *sbx_shared_map(int file, size_t bytes, int protection);
void sbx_shared_unmap(void *mapping, size_t bytes);

/* Call `act`. Returns false if `act` was left because a file had become shorter than its mapping. For callers that must
 * know this, because zeroes would count as data. `act` must hold nothing, or note in `context` what its caller has to
 * release. Any thread; faults of other threads and outside `act` are as fatal as before. */
bool sbx_mapping_survive(void (*act)(void *context), void *context);

#endif
