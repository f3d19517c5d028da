/* SPDX-License-Identifier: Apache-2.0 */
/* imports.h - does the program call one of these functions, as far as its linker knows?
 *
 * This looks at names, before anything is prepared: if no module imports a function, there is no slot for its hook. The
 * C library and this library are left out, because they are never hooked. Names are read from what the loader has
 * mapped, inside dl_iterate_phdr. Allocates nothing. */
#ifndef SBX_IMPORTS_H
#define SBX_IMPORTS_H

#include <stdbool.h>
#include <stdint.h>

/* Does a module that is loaded now name a function that a point of `groups` (SBX_POINT_BIT()) hooks, or one of `names`?
 * Each name ends with a zero, and one more zero ends the list: "a\0b\0"; "" is an empty list. */
bool sbx_imports_any(uint64_t groups, const char *names);

#endif
