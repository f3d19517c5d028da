/* SPDX-License-Identifier: Apache-2.0 */
/* debug_link.h - which other files a symbol file needs: .gnu_debuglink, .gnu_debugaltlink; read without any ELF library.
 *
 * A name that stands in a stranger's file decides where we look, never what is believed: a file counts only if its
 * build-id is the right one, and is opened only if it is a regular file, because libraries that open what they are told
 * hang on a pipe. */
#ifndef SBX_DEBUG_LINK_H
#define SBX_DEBUG_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a stripped file calls its debug file, into `name_out`: a file's name that leads into no other folder. False when
 * the file behind `fd` has none. */
bool sbx_debug_link_read(int fd, char *name_out, size_t bytes);

/* The build-id of the file that dwz moved the common parts of `fd`'s debug information to, into `build_id_out`
 * (SBX_BUILD_ID_BYTES_MAX bytes). Returns how many bytes, 0: none was moved. */
size_t sbx_debug_alternate_id(int fd, uint8_t *build_id_out);
/* Whether something may have been split off it (-gsplit-dwarf). */
bool sbx_debug_may_be_split(int fd);

/* Open the file that dwz moved the common parts of `path`'s debug information to; `path` is open as `fd`. It is looked
 * for by its build-id and name below /usr/lib/debug, and by a relative name from the folder of `path`. Returns a
 * descriptor, or -1: none is needed, or it was not found. */
int sbx_debug_alternate_open(const char *path, int fd);

#endif
