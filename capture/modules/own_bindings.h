/* SPDX-License-Identifier: Apache-2.0 */
/* own_bindings.h - binds the library's own calls of the C library to the C library, whatever the program puts before
 * it.
 *
 * A program may contain its own clock_gettime, read or pthread_mutex_lock, or have one preloaded. The loader binds the
 * agent's calls to those functions like anyone's calls. Then the agent's code would run them in a signal handler,
 * inside a lock, or with a clock that takes a lock of its own. So the first code of libstallbox.so that runs looks up
 * each function that the library needs in the C library itself, in the version that it was linked with, and stores that
 * address where the loader stored another one. This does not change what a hook forwards to: a hook calls the function
 * that it replaced, wherever that comes from.
 *
 * This code calls nothing that another library could define, not even memcpy(). An executable that contains this code
 * is left as it is (the unit tests), and so is a build with a sanitizer. */
#ifndef SBX_OWN_BINDINGS_H
#define SBX_OWN_BINDINGS_H

#include <stdbool.h>
#include <stdint.h>

/* How many of the library's functions are still bound to another library, because the C library has no definition of
 * them, or because the pages could not be made writable. */
uint32_t sbx_own_bindings_foreign(void);

/* Is this the address of code of the C library itself? False also when that is not known. */
bool sbx_is_of_c_library(const void *code);

#endif
