/* SPDX-License-Identifier: Apache-2.0 */
/* debug_link.c - .gnu_debuglink: what a stripped file calls its debug file, read without any ELF library. */
#include "debug_link.h"

#include <elf.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

enum {
    SECTIONS_MAX = 512,
    LINK_BYTES_MAX = 272 /* a file's name, padding and a checksum */
};

static bool read_at(int fd, void *into, size_t bytes, uint64_t at)
{
    return at <= INT64_MAX && pread(fd, into, bytes, (off_t)at) == (ssize_t)bytes;
}

/* Whether the section's name is ".gnu_debuglink"; `names` is the section of names. */
static bool is_link(int fd, const Elf64_Shdr *section, const Elf64_Shdr *names)
{
    static const char wanted[] = ".gnu_debuglink";
    char name[sizeof wanted];
    return section->sh_type == SHT_PROGBITS && section->sh_name < names->sh_size &&
           read_at(fd, name, sizeof name, names->sh_offset + section->sh_name) &&
           memcmp(name, wanted, sizeof wanted) == 0;
}

bool sbx_debug_link_read(int fd, char *name_out, size_t bytes)
{
    Elf64_Ehdr header;
    Elf64_Shdr names, section;
    if (!read_at(fd, &header, sizeof header, 0) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_shentsize != sizeof section ||
        header.e_shnum > SECTIONS_MAX || header.e_shstrndx >= header.e_shnum ||
        !read_at(fd, &names, sizeof names, header.e_shoff + header.e_shstrndx * sizeof names)) {
        return false;
    }
    for (uint64_t i = 0; i < header.e_shnum; i++) {
        char link[LINK_BYTES_MAX] = "";
        if (!read_at(fd, &section, sizeof section, header.e_shoff + i * sizeof section)) {
            return false;
        }
        if (!is_link(fd, &section, &names)) {
            continue;
        }
        size_t count = section.sh_size > sizeof link ? sizeof link : (size_t)section.sh_size;
        const char *end = read_at(fd, link, count, section.sh_offset) ? memchr(link, '\0', count) : NULL;
        if (end == NULL || end == link || (size_t)(end - link) >= bytes || strchr(link, '/') != NULL ||
            strcmp(link, ".") == 0 || strcmp(link, "..") == 0) {
            return false;
        }
        strcpy(name_out, link);
        return true;
    }
    return false;
}
