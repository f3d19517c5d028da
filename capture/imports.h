/* SPDX-License-Identifier: Apache-2.0 */
/* imports.h - does the program call one of these functions, as far as its linker knows?
 *
 * A look at names, before anything is prepared: a program in which nobody imports a function has no slot for its hook. The C
 * library and this library do not count; nothing of them is ever hooked. Names are read of what the loader has mapped, inside
 * dl_iterate_phdr. Allocates nothing. */
#ifndef SBX_IMPORTS_H
#define SBX_IMPORTS_H

#include <stdbool.h>
#include <stdint.h>

/* Does a module that is loaded now name a function that a point of `groups` (SBX_POINT_BIT()) hooks, or one of `names`? Those
 * stand one after the other, each with its zero, and one more zero is their end: "a\0b\0"; "" is none. */
bool sbx_imports_any(uint64_t groups, const char *names);

#endif
