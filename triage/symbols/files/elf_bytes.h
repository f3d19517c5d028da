/* SPDX-License-Identifier: Apache-2.0 */
/* elf_bytes.h - an open ELF file: mapped, or read on demand. */
#ifndef SBX_ELF_BYTES_H
#define SBX_ELF_BYTES_H

#include <stdbool.h>
#include <stddef.h>

#include <libelf.h>

struct sbx_elf_bytes {
    int fd;
    Elf *elf;
    void *map; /* NULL: not mapped, it is read */
    size_t bytes;
    bool is_piece; /* a part of a mapping that belongs to the caller; it has no descriptor of its own */
    /* The memory of `elf`, if that is not the file: a copy without compressed sections (unpacked_elf.h), or the ELF
     * form of a Mach-O image; NULL: it is the file. */
    char *unpacked;
    size_t unpacked_bytes;
};

/* Begin with an open file; `fd` is taken on success. libelf's own mapping is not used, because it asks for the file's
 * size by a system call that the worker's filter forbids, and then reads the file. Sections that are compressed with
 * zstd, which elfutils 0.188 cannot read, are decompressed, unless they are a decompression bomb. Without `maps` the
 * other compressed sections are decompressed, too. Returns false if the file cannot be read. */
bool sbx_elf_bytes_begin(int fd, bool maps, struct sbx_elf_bytes *out);
/* The same for a part of a private and writable mapping. The mapping must outlive it. */
bool sbx_elf_bytes_begin_piece(void *piece, size_t bytes, struct sbx_elf_bytes *out);
void sbx_elf_bytes_end(struct sbx_elf_bytes *bytes);
/* The same for the file itself, which stays open. */
void sbx_elf_bytes_forget(struct sbx_elf_bytes *bytes);

/* Whether the file has a section of that name with content. */
bool sbx_elf_has_section(Elf *elf, const char *name);

/* Whether the decompressed sections would take far more memory than is normal for a file of that size. libdw
 * decompresses what it needs without a limit, so call this before. *unread_out: whether a section is compressed in a
 * way that libdw cannot read. */
bool sbx_elf_has_bomb(const struct sbx_elf_bytes *bytes, bool *unread_out);

#endif
