/* SPDX-License-Identifier: Apache-2.0 */
/* alloc_place.h - may a thread be made at the beginning of this allocation?
 *
 * pthread_create() calls calloc(), which is the program's allocator. If the program is about to call calloc() itself,
 * the same function runs a moment later in the same thread and finds everything as pthread_create() does: no lock of
 * the allocator, or of code below it, can be in the way of one and not of the other. If calloc() is the C library's,
 * any allocation will do, because the C library's allocator calls nothing while it holds a lock. For another allocator
 * it will not: it may call code of others with its lock held, and let the same thread pass in one function only.
 *
 * Where the C library itself allocates, it may hold one of its own locks. A handler of a signal may have interrupted an
 * allocator; the caller looks for that (handler_above.h). */
#ifndef SBX_ALLOC_PLACE_H
#define SBX_ALLOC_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "marks.h"

/* `op`: the function (SBX_OP_MALLOC and so on); `caller`: where it returns to. False as well when it is not known which
 * code is the C library's (own_bindings.h). */
SBX_HOOK_SAFE bool sbx_alloc_lets_threads_begin(uint8_t op, const void *caller);

#endif
