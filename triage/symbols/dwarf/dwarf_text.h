/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf_text.h - strings of debug information that are known to end, and sections.
 *
 * libdw (0.188) checks where a string begins, but not that it ends within its section. A damaged file would be read
 * past its memory. */
#ifndef SBX_DWARF_TEXT_H
#define SBX_DWARF_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <elfutils/libdw.h>

/* Whether the string sections of the file, and of the file it shares strings with, end with a NUL. If not, no string of
 * them may be read. */
bool sbx_dwarf_text_ends(Dwarf *dwarf);

/* The content of section ".debug_" + `part`, decompressed, borrowed from the Dwarf; NULL: no such section. */
const uint8_t *sbx_dwarf_section(Elf *elf, const char *part, size_t *bytes_out);

/* The string in attribute `name` of `die`, or of the DIE that it was made from; NULL if there is none that ends. */
const char *sbx_dwarf_text(Dwarf_Die *die, unsigned name);

#endif
