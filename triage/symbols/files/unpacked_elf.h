/* SPDX-License-Identifier: Apache-2.0 */
/* unpacked_elf.h - a copy of an ELF file whose sections are decompressed.
 *
 * elfutils 0.188 cannot read zstd. It decompresses zlib sections itself, on one thread, one after the other, also those
 * that are not needed. This is two thirds of the time of `stallbox look` where libc's debug information is
 * installed. */
#ifndef SBX_UNPACKED_ELF_H
#define SBX_UNPACKED_ELF_H

#include <stdbool.h>
#include <stddef.h>

#include <libelf.h>

/* A second thread for the work. Only the command `look` sets one; triage starts no threads of its own. */
struct sbx_unpack_helper {
    bool (*begin)(void *(*work)(void *), void *context); /* false: it could not be started */
    void (*end)(void);                                   /* wait until the work is done */
};
void sbx_unpacked_elf_use_helper(const struct sbx_unpack_helper *helper);

/* Whether a section is compressed, with zlib or zstd. */
bool sbx_elf_is_packed(Elf *elf);

/* `elf` is of the file in `file`. Sections that are not needed (unread_sections.h) are empty in the copy. Given:
 * free(). NULL if nothing is compressed, the file is damaged, or memory runs out. Check for a decompression bomb before
 * (elf_bytes.h). */
char *sbx_unpacked_elf_create(Elf *elf, const char *file, size_t bytes, size_t *bytes_out);

#endif
