/* SPDX-License-Identifier: Apache-2.0 */
/* hostile_elf.h - ELF files and debug information written byte by byte, with content that no compiler writes. */
#ifndef HOSTILE_ELF_H
#define HOSTILE_ELF_H

#include <stddef.h>
#include <stdint.h>

enum {
    HOSTILE_TEXT = 0x1000,      /* where the code begins */
    HOSTILE_TEXT_BYTES = 65536, /* how much there is; the symbol `survivor` covers the first 16 bytes */
    HOSTILE_SECTIONS_MAX = 12
};

/* A growing array of bytes; all zero is empty. */
struct hostile_bytes {
    uint8_t *bytes;
    size_t count, room;
};
void hostile_put(struct hostile_bytes *out, uint64_t value, size_t bytes); /* little-endian */
void hostile_put_leb(struct hostile_bytes *out, uint64_t value);
void hostile_put_text(struct hostile_bytes *out, const char *text); /* with its NUL */
void hostile_repeat(struct hostile_bytes *out, const void *bytes, size_t count, size_t times);
void hostile_patch(struct hostile_bytes *out, size_t at, uint64_t value, size_t bytes);

/* A file under construction. */
struct hostile_elf {
    struct {
        const char *name;
        struct hostile_bytes content;
    } sections[HOSTILE_SECTIONS_MAX];
    size_t count;
};

/* The content of a section; the section is new when none has that name. */
struct hostile_bytes *hostile_section(struct hostile_elf *elf, const char *name);

/* Begin a unit of DWARF 5 in .debug_info, with its abbreviations at `abbreviations`. Returns the position of its
 * length, for hostile_end_unit(). */
size_t hostile_begin_unit(struct hostile_elf *elf, uint64_t abbreviations);
void hostile_end_unit(struct hostile_elf *elf, size_t begin);
/* An abbreviation: code, tag, whether it has children, then pairs of attribute and form up to 0. */
void hostile_abbreviation(struct hostile_elf *elf, uint64_t code, unsigned tag, int has_children, ...);

/* Write everything with a build-id, code and a symbol table to `path`. With `is_compressed` sections are compressed
 * (SHF_COMPRESSED, zlib). Frees everything that was added. */
void hostile_write(struct hostile_elf *elf, const char *path, int is_compressed);

#endif
