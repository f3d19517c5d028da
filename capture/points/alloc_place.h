/* SPDX-License-Identifier: Apache-2.0 */
/* alloc_place.h - may a thread be made at the beginning of this call?
 *
 * pthread_create() calls calloc(), which is the program's allocator.
 *
 *   - If calloc() is the C library's, the thread may be made in any call that code outside of the C library makes: that
 *     allocator calls nothing while it holds a lock.
 *   - Another allocator may read clocks and lock mutexes with its lock held. It may also call code of others, and let
 *     the same thread pass in one function only. There only a call of calloc() will do: the same function runs a moment
 *     later in the same thread and finds everything as pthread_create() does.
 *
 * Where the C library itself calls, it may hold one of its own locks. A handler of a signal may have interrupted an
 * allocator; the caller looks for that (handler_above.h). */
#ifndef SBX_ALLOC_PLACE_H
#define SBX_ALLOC_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "marks.h"

/* `group` and `op` say which function is called; `caller` is where it returns to. False as well when that is NULL, or when
 * it is not known which code is the C library's (own_bindings.h). */
SBX_HOOK_SAFE bool sbx_alloc_lets_threads_begin(uint8_t group, uint8_t op, const void *caller);

#endif
