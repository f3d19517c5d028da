/* SPDX-License-Identifier: Apache-2.0 */
/* elf_bytes.c - an ELF file that is open: mapped, or read as it is asked for. */
#include "elf_bytes.h"

#include <gelf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <zstd.h>

#define UNPACKED_BYTES_MAX ((size_t)3 << 30) /* of all sections: a worker has 4 GiB */

enum {
    COMPRESSED_BY_ZSTD = 2,        /* ELFCOMPRESS_ZSTD, newer than the elf.h of 2022 */
    GROWS_FREELY_BYTES = 64 << 20, /* of a compressed section */
    GROWTH_MAX = 100               /* times its size, beyond that; debug information shrinks to a fifth or a tenth */
};

/* ---- zstd ---- */

/* The header of a section that is compressed with zstd; false when it is none, or does not lie within the file. */
static bool read_zstd_header(const GElf_Shdr *section, const char *file, size_t bytes, Elf64_Chdr *header_out)
{
    if ((section->sh_flags & SHF_COMPRESSED) == 0 || section->sh_type == SHT_NOBITS ||
        section->sh_size < sizeof *header_out || section->sh_offset > bytes ||
        section->sh_size > bytes - section->sh_offset) {
        return false;
    }
    memcpy(header_out, file + section->sh_offset, sizeof *header_out);
    return header_out->ch_type == COMPRESSED_BY_ZSTD && header_out->ch_size <= UNPACKED_BYTES_MAX;
}

/* How many bytes the sections that are compressed with zstd will take; 0: there are none. */
static size_t count_unpacked(Elf *elf, const char *file, size_t bytes)
{
    size_t sum = 0;
    for (Elf_Scn *section = elf_nextscn(elf, NULL); section != NULL; section = elf_nextscn(elf, section)) {
        GElf_Shdr header;
        Elf64_Chdr compression;
        if (gelf_getshdr(section, &header) != NULL && read_zstd_header(&header, file, bytes, &compression)) {
            sum += (size_t)compression.ch_size + 8;
        }
    }
    return sum;
}

/* The file, behind it the sections decompressed, behind these new section headers. False when that cannot be. */
static bool write_unpacked(Elf *elf, const char *file, size_t bytes, char *out, size_t table_at)
{
    Elf64_Ehdr header;
    size_t at = (bytes + 7) / 8 * 8;
    memcpy(out, file, bytes);
    memcpy(&header, file, sizeof header);
    for (size_t i = 0; i < header.e_shnum; i++) {
        GElf_Shdr section;
        Elf64_Chdr compression;
        if (gelf_getshdr(elf_getscn(elf, i), &section) == NULL) {
            return false;
        }
        if (read_zstd_header(&section, file, bytes, &compression)) {
            const char *from = file + section.sh_offset + sizeof compression;
            size_t size = (size_t)compression.ch_size;
            if (ZSTD_decompress(out + at, size, from, (size_t)section.sh_size - sizeof compression) != size) {
                return false;
            }
            section.sh_flags &= ~(uint64_t)SHF_COMPRESSED;
            section.sh_offset = at;
            section.sh_size = size;
            section.sh_addralign = compression.ch_addralign;
            at += (size + 7) / 8 * 8;
        }
        memcpy(out + table_at + i * sizeof section, &section, sizeof section);
    }
    header.e_shoff = table_at;
    memcpy(out, &header, sizeof header);
    return true;
}

/* All of a file that is not mapped; given. Not by elf_rawfile(), after which libelf takes what it read before for a part of
 * that and loses it. NULL when it cannot be read. */
static char *read_whole(int fd, size_t *bytes_out)
{
    off_t bytes = lseek(fd, 0, SEEK_END), at = 0;
    char *file = bytes <= 0 ? NULL : malloc((size_t)bytes);
    while (file != NULL && at < bytes) {
        ssize_t got = pread(fd, file + at, (size_t)(bytes - at), at);
        if (got <= 0) {
            free(file);
            return NULL;
        }
        at += got;
    }
    *bytes_out = file == NULL ? 0 : (size_t)bytes;
    return file;
}

/* Replace the file by a copy without zstd, where that is needed and can be done. */
static void unpack(struct sbx_elf_bytes *opened)
{
    GElf_Ehdr header;
    size_t bytes = opened->bytes, sections = 0;
    bool is_unread = false;
    if (sbx_elf_has_bomb(opened, &is_unread) || !is_unread || gelf_getehdr(opened->elf, &header) == NULL ||
        header.e_ident[EI_CLASS] != ELFCLASS64 || elf_getshdrnum(opened->elf, &sections) != 0 ||
        sections != header.e_shnum || header.e_shentsize != sizeof(GElf_Shdr)) {
        return;
    }
    char *read = opened->map != NULL ? NULL : read_whole(opened->fd, &bytes);
    const char *file = opened->map != NULL ? opened->map : read;
    size_t more = file == NULL || bytes < sizeof header ? 0 : count_unpacked(opened->elf, file, bytes);
    size_t table_at = (bytes + 7) / 8 * 8 + (more + 7) / 8 * 8, whole = table_at + sections * sizeof(GElf_Shdr);
    char *copy = more == 0 || more > UNPACKED_BYTES_MAX ? NULL : calloc(1, whole);
    Elf *elf =
        copy != NULL && write_unpacked(opened->elf, file, bytes, copy, table_at) ? elf_memory(copy, whole) : NULL;
    free(read);
    if (elf == NULL) {
        free(copy);
        return;
    }
    elf_end(opened->elf);
    if (opened->map != NULL && !opened->is_piece) {
        munmap(opened->map, opened->bytes);
    }
    opened->map = NULL;
    opened->elf = elf;
    opened->unpacked = copy;
    opened->unpacked_bytes = whole;
}

/* ---- files ---- */

bool sbx_elf_bytes_begin(int fd, bool maps, struct sbx_elf_bytes *out)
{
    struct sbx_elf_bytes opened = {.fd = fd};
    off_t bytes = maps ? lseek(fd, 0, SEEK_END) : 0;
    if (bytes > 0) {
        opened.bytes = (size_t)bytes;
        /* Private, and to be written to: libelf changes the headers of what it decompresses. */
        opened.map = mmap(NULL, opened.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
        opened.map = opened.map == MAP_FAILED ? NULL : opened.map;
    }
    opened.elf = opened.map != NULL ? elf_memory(opened.map, opened.bytes) : elf_begin(fd, ELF_C_READ, NULL);
    if (opened.elf == NULL && opened.map != NULL) {
        munmap(opened.map, opened.bytes);
    }
    if (opened.elf != NULL) {
        unpack(&opened);
    }
    *out = opened;
    return opened.elf != NULL;
}

bool sbx_elf_bytes_begin_piece(void *piece, size_t bytes, struct sbx_elf_bytes *out)
{
    struct sbx_elf_bytes opened = {.fd = -1, .map = piece, .bytes = bytes, .is_piece = true};
    opened.elf = elf_memory(piece, bytes);
    if (opened.elf != NULL) {
        unpack(&opened);
    }
    *out = opened;
    return opened.elf != NULL;
}

void sbx_elf_bytes_forget(struct sbx_elf_bytes *bytes)
{
    elf_end(bytes->elf);
    if (bytes->map != NULL && !bytes->is_piece) {
        munmap(bytes->map, bytes->bytes);
    }
    free(bytes->unpacked);
}

void sbx_elf_bytes_end(struct sbx_elf_bytes *bytes)
{
    sbx_elf_bytes_forget(bytes);
    if (!bytes->is_piece) {
        close(bytes->fd);
    }
}

bool sbx_elf_has_section(Elf *elf, const char *wanted)
{
    size_t names;
    if (elf_getshdrstrndx(elf, &names) != 0) {
        return false;
    }
    for (Elf_Scn *section = elf_nextscn(elf, NULL); section != NULL; section = elf_nextscn(elf, section)) {
        GElf_Shdr header;
        const char *name = gelf_getshdr(section, &header) != NULL ? elf_strptr(elf, names, header.sh_name) : NULL;
        if (name != NULL && strcmp(name, wanted) == 0) {
            return header.sh_type != SHT_NOBITS;
        }
    }
    return false;
}

/* The first bytes of a section, by the file itself: no more of it is read. */
static bool read_begin(const struct sbx_elf_bytes *bytes, const GElf_Shdr *section, void *into, size_t count)
{
    const char *memory = bytes->unpacked != NULL ? bytes->unpacked : bytes->is_piece ? bytes->map : NULL;
    if (memory != NULL) {
        size_t whole = bytes->unpacked != NULL ? bytes->unpacked_bytes : bytes->bytes;
        bool is_there = section->sh_size >= count && section->sh_offset <= whole && count <= whole - section->sh_offset;
        if (is_there) {
            memcpy(into, memory + section->sh_offset, count);
        }
        return is_there;
    }
    return section->sh_size >= count && section->sh_offset <= INT64_MAX &&
           pread(bytes->fd, into, count, (off_t)section->sh_offset) == (ssize_t)count;
}

bool sbx_elf_has_bomb(const struct sbx_elf_bytes *bytes, bool *unread_out)
{
    Elf *elf = bytes->elf;
    size_t names = 0;
    (void)elf_getshdrstrndx(elf, &names);
    for (Elf_Scn *section = elf_nextscn(elf, NULL); section != NULL; section = elf_nextscn(elf, section)) {
        GElf_Shdr header;
        Elf64_Chdr compression;
        uint8_t old[12]; /* "ZLIB", then the size, big-endian */
        uint64_t size = 0;
        if (gelf_getshdr(section, &header) == NULL || header.sh_type == SHT_NOBITS) {
            continue;
        }
        const char *name = elf_strptr(elf, names, header.sh_name);
        if ((header.sh_flags & SHF_COMPRESSED) != 0) {
            if (read_begin(bytes, &header, &compression, sizeof compression)) {
                size = compression.ch_size;
                *unread_out = *unread_out || compression.ch_type != ELFCOMPRESS_ZLIB;
            }
        } else if (name != NULL && strncmp(name, ".zdebug_", 8) == 0 && read_begin(bytes, &header, old, sizeof old)) {
            for (size_t i = 4; i < sizeof old; i++) {
                size = size << 8 | old[i];
            }
        }
        if (size > GROWS_FREELY_BYTES && size / GROWTH_MAX > header.sh_size) {
            return true;
        }
    }
    return false;
}
