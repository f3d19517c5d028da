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

/* Load the library and find all functions. It stays loaded. Returns false, and prints the reason, when the library is
 * missing or lacks a function; then nothing is set. The caller calls this once for each library. */
bool sbx_late_library_load(const char *soname, const struct sbx_late_function *functions, size_t count);

#endif
