/* SPDX-License-Identifier: Apache-2.0 */
/* library_symbol.h - where a variable lies that a library does not export: by the names that its file keeps (.symtab), where it was not stripped. */
#ifndef SBX_LIBRARY_SYMBOL_H
#define SBX_LIBRARY_SYMBOL_H

#include <stdint.h>

/* The address of the variable `name` in the ELF file at `path`, as the file counts them; 0: there is none, or the file is no such one. The file is
 * mapped meanwhile. Our own threads only. */
uint64_t sbx_library_symbol(const char *path, const char *name);

#endif
