/* SPDX-License-Identifier: Apache-2.0 */
/* elf_bytes.c - an open ELF file: mapped, or read on demand. */
#include "elf_bytes.h"

#include <gelf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "unpacked_elf.h"

enum {
    GROWS_FREELY_BYTES = 64 << 20, /* size of a decompressed section that is always allowed */
    GROWTH_MAX = 100               /* larger sections: limit as a multiple of the compressed size; debug information is
                                    * compressed to 1/5 or 1/10 */
};

/* ---- compressed sections ---- */

/* The content of a file that is not mapped; given. NULL if it cannot be read. elf_rawfile() is not used, because libelf
 * then takes what it read before for a part of that buffer, and loses it. */
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

/* Replace the file by a copy without compressed sections. Done if libdw cannot decompress a section, and for every file
 * that is not mapped, because it must be read into memory anyway. */
static void unpack(struct sbx_elf_bytes *opened)
{
    size_t bytes = opened->bytes, whole = 0;
    bool is_unread = false, is_mapped = opened->map != NULL;
    if (sbx_elf_has_bomb(opened, &is_unread) || !(is_unread || (!is_mapped && sbx_elf_is_packed(opened->elf)))) {
        return;
    }
    char *read = is_mapped ? NULL : read_whole(opened->fd, &bytes);
    const char *file = is_mapped ? opened->map : read;
    char *copy = file == NULL ? NULL : sbx_unpacked_elf_create(opened->elf, file, bytes, &whole);
    Elf *elf = copy != NULL ? elf_memory(copy, whole) : NULL;
    free(read);
    if (elf == NULL) {
        free(copy);
        return;
    }
    elf_end(opened->elf);
    if (is_mapped && !opened->is_piece) {
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
        /* private and writable: libelf changes the headers of sections that it decompresses */
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

/* Read the first bytes of a section directly from the file, so that no more of it is read. */
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
