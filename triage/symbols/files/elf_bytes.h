/* SPDX-License-Identifier: Apache-2.0 */
/* elf_bytes.h - an ELF file that is open: mapped, or read as it is asked for. */
#ifndef SBX_ELF_BYTES_H
#define SBX_ELF_BYTES_H

#include <stdbool.h>
#include <stddef.h>

#include <libelf.h>

struct sbx_elf_bytes {
    int fd;
    Elf *elf;
    void *map; /* NULL: it is read */
    size_t bytes;
    bool is_piece; /* of a file that somebody else has mapped: there is no descriptor of its own */
    /* What `elf` is of, where that is no file: a copy whose sections are not compressed any more (unpacked_elf.h), or what a Mach-O image was made
     * into; NULL: it is the file. */
    char *unpacked;
    size_t unpacked_bytes;
};

/* Begin with an open file; `fd` is taken on success. Not by libelf's own mapping: it asks for the file's size by a call that
 * the worker does not let through, and then reads. Sections that are compressed with zstd, which elfutils 0.188 cannot
 * read, are decompressed, unless they are a bomb; without `maps` the others as well. Returns false when it cannot be read. */
bool sbx_elf_bytes_begin(int fd, bool maps, struct sbx_elf_bytes *out);
/* The same of a piece of a private and writable mapping, which has to outlive it. */
bool sbx_elf_bytes_begin_piece(void *piece, size_t bytes, struct sbx_elf_bytes *out);
void sbx_elf_bytes_end(struct sbx_elf_bytes *bytes);
/* The same, but for the file itself, which stays open. */
void sbx_elf_bytes_forget(struct sbx_elf_bytes *bytes);

/* Whether it has a section of that name with content. */
bool sbx_elf_has_section(Elf *elf, const char *name);

/* Whether decompressing the file's sections would take memory that nobody expects of a file of that size. libdw
 * decompresses what it likes, so it is asked before. *unread_out: whether a section is compressed in a way that libdw
 * cannot read. */
bool sbx_elf_has_bomb(const struct sbx_elf_bytes *bytes, bool *unread_out);

#endif
