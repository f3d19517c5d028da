/* SPDX-License-Identifier: Apache-2.0 */
/* mini_debug_info.h - .gnu_debugdata: a symbol table of functions that distributions keep in stripped programs. */
#ifndef SBX_MINI_DEBUG_INFO_H
#define SBX_MINI_DEBUG_INFO_H

#include <stddef.h>
#include <stdint.h>

#include <gelf.h>

/* Decompress (xz) the ELF file in the section of that name; given in *bytes_out (free). Returns 0, -ENOENT if there is
 * none, -EBADMSG if it is damaged or larger than 64 MiB, or -ENOMEM. */
int sbx_mini_debug_info_read(Elf *elf, uint8_t **bytes_out, size_t *count_out);

#endif
