/* SPDX-License-Identifier: Apache-2.0 */
/* debug_link.h - which other files a symbol file needs: .gnu_debuglink, .gnu_debugaltlink; read without any ELF
 * library.
 *
 * A name in a stranger's file decides where to look, but not what to believe. A file counts only if its build-id is the
 * right one. It is opened only if it is a regular file, because libraries that open any name would hang on a pipe. */
#ifndef SBX_DEBUG_LINK_H
#define SBX_DEBUG_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The name of the debug file of a stripped file, into `name_out`. It is a plain file name that leads to no other
 * folder. False if the file behind `fd` has none. */
bool sbx_debug_link_read(int fd, char *name_out, size_t bytes);

/* The build-id of the file to which dwz moved the common parts of `fd`'s debug information, into `build_id_out`
 * (SBX_BUILD_ID_BYTES_MAX bytes). Returns its number of bytes; 0: nothing was moved. */
size_t sbx_debug_alternate_id(int fd, uint8_t *build_id_out);
/* Whether the program may have split debug information (-gsplit-dwarf). */
bool sbx_debug_may_be_split(int fd);

/* Open the file to which dwz moved the common parts of `path`'s debug information; `path` is open as `fd`. It is
 * searched by its build-id and name below /usr/lib/debug, and by a relative name from the folder of `path`. Returns a
 * descriptor; -1: none is needed, or it was not found. */
int sbx_debug_alternate_open(const char *path, int fd);

#endif
