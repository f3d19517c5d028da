/* SPDX-License-Identifier: Apache-2.0 */
/* elf_bytes.c - an ELF file that is open: mapped, or read as it is asked for. */
#include "elf_bytes.h"

#include <gelf.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    GROWS_FREELY_BYTES = 64 << 20, /* of a compressed section */
    GROWTH_MAX = 100               /* times its size, beyond that; debug information shrinks to a fifth or a tenth */
};

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
    *out = opened;
    return opened.elf != NULL;
}

void sbx_elf_bytes_end(struct sbx_elf_bytes *bytes)
{
    elf_end(bytes->elf);
    if (bytes->map != NULL) {
        munmap(bytes->map, bytes->bytes);
    }
    close(bytes->fd);
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

bool sbx_elf_has_bomb(Elf *elf, bool *unread_out)
{
    size_t names = 0;
    (void)elf_getshdrstrndx(elf, &names);
    for (Elf_Scn *section = elf_nextscn(elf, NULL); section != NULL; section = elf_nextscn(elf, section)) {
        GElf_Shdr header;
        GElf_Chdr compression;
        uint64_t bytes = 0;
        if (gelf_getshdr(section, &header) == NULL || header.sh_type == SHT_NOBITS) {
            continue;
        }
        const char *name = elf_strptr(elf, names, header.sh_name);
        if ((header.sh_flags & SHF_COMPRESSED) != 0 && gelf_getchdr(section, &compression) != NULL) {
            bytes = compression.ch_size;
            if (compression.ch_type != ELFCOMPRESS_ZLIB) {
                *unread_out = true;
            }
        } else if (name != NULL && strncmp(name, ".zdebug_", 8) == 0) {
            const Elf_Data *content = elf_rawdata(section, NULL);
            for (size_t i = 4; content != NULL && content->d_size >= 12 && i < 12; i++) { /* "ZLIB", then big-endian */
                bytes = bytes << 8 | ((const uint8_t *)content->d_buf)[i];
            }
        }
        if (bytes > GROWS_FREELY_BYTES && bytes / GROWTH_MAX > header.sh_size) {
            return true;
        }
    }
    return false;
}
