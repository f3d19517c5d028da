/* SPDX-License-Identifier: Apache-2.0 */
/* late_library.h - a shared library that is loaded when its first function is called. */
#ifndef SBX_LATE_LIBRARY_H
#define SBX_LATE_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

struct sbx_late_function {
    const char *name;
    void *place; /* a pointer to a function of that type: set when the library is loaded */
};

/* Load the library and find all of the functions. It stays loaded. Returns false, and tells people why, when it is not there or lacks
 * one; nothing is set then. Once a library: the caller sees to that. */
bool sbx_late_library_load(const char *soname, const struct sbx_late_function *functions, size_t count);

#endif
