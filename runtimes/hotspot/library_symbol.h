/* SPDX-License-Identifier: Apache-2.0 */
/* library_symbol.h - the address of a variable that a library does not export, from the symbol table of its file
 * (.symtab), if the file was not stripped. */
#ifndef SBX_LIBRARY_SYMBOL_H
#define SBX_LIBRARY_SYMBOL_H

#include <stdint.h>

/* Returns the address of the variable `name` in the ELF file at `path`, relative to the load address; 0: there is none,
 * or the file is no such file. The file is mapped during the call. For our own threads only. */
uint64_t sbx_library_symbol(const char *path, const char *name);

#endif
