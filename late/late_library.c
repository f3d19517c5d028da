/* SPDX-License-Identifier: Apache-2.0 */
/* late_library.c - dlopen(), and dlsym() for each function. */
#include "late_library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

bool sbx_late_library_load(const char *soname, const struct sbx_late_function *functions, size_t count)
{
    void *library = dlopen(soname, RTLD_NOW | RTLD_LOCAL);
    bool is_whole = library != NULL;
    for (size_t i = 0; is_whole && i < count; i++) {
        is_whole = dlsym(library, functions[i].name) != NULL;
    }
    if (!is_whole) {
        const char *why = dlerror();
        fprintf(stderr, "stallbox: %s\n", why != NULL ? why : soname);
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        void *address = dlsym(library, functions[i].name);
        memcpy(functions[i].place, &address, sizeof address);
    }
    return true;
}
