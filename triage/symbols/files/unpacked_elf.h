/* SPDX-License-Identifier: Apache-2.0 */
/* unpacked_elf.h - a copy of an ELF file whose sections are decompressed.
 *
 * elfutils 0.188 reads no zstd. What zlib has compressed it decompresses itself, on one thread, one section behind the other and those that
 * nobody looks at as well: two thirds of the time that `stallbox look` takes where libc's debug information is installed. */
#ifndef SBX_UNPACKED_ELF_H
#define SBX_UNPACKED_ELF_H

#include <stdbool.h>
#include <stddef.h>

#include <libelf.h>

/* Who works beside the caller. Only the command `look` has somebody: triage starts no threads of its own. */
struct sbx_unpack_helper {
    bool (*begin)(void *(*work)(void *), void *context); /* false: it could not be begun */
    void (*end)(void);                                   /* wait until the work is done */
};
void sbx_unpacked_elf_use_helper(const struct sbx_unpack_helper *helper);

/* Whether a section is compressed, with zlib or zstd. */
bool sbx_elf_is_packed(Elf *elf);

/* `elf` is of the file that `file` holds; sections that nobody reads (unread_sections.h) are empty in the copy. Given: free(). NULL where nothing
 * is compressed, the file is damaged, or there is no memory. Whether it is a bomb has to be asked before (elf_bytes.h). */
char *sbx_unpacked_elf_create(Elf *elf, const char *file, size_t bytes, size_t *bytes_out);

#endif
