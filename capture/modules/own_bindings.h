/* SPDX-License-Identifier: Apache-2.0 */
/* own_bindings.h - what the library's own calls of the C library lead to: the C library, whoever stands before it.
 *
 * A program may come with its own clock_gettime, read or pthread_mutex_lock, or have one preloaded. The loader binds
 * our calls to those as it binds everybody's, and then our code runs theirs: in a signal handler, inside of a lock, with a
 * clock that takes a lock of its own. So the first thing that runs of libstallbox.so looks each function that it needs up in
 * the C library itself, in the version that it was linked with, and stores that where the loader stored another. What a hook
 * forwards to has nothing to do with this: that is what it replaced, whoever made it.
 *
 * Nothing is called on this way that could be somebody else's, not even memcpy(). An executable that contains this code is
 * left as it is (our unit tests), so is a build with a sanitizer. */
#ifndef SBX_OWN_BINDINGS_H
#define SBX_OWN_BINDINGS_H

#include <stdbool.h>
#include <stdint.h>

/* How many of our functions are bound to what is not the C library's, because no definition of its own was found, or our
 * pages would not let themselves be written to. */
uint32_t sbx_own_bindings_foreign(void);

/* Is this code of the C library itself? False when nobody can tell. */
bool sbx_is_of_c_library(const void *code);

#endif
