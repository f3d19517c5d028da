/* SPDX-License-Identifier: Apache-2.0 */
/* debug_link.c - which other files a symbol file needs. */
#include "debug_link.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "build_id.h"
#include "shortage.h"

enum {
    SECTIONS_MAX = 512,
    LINK_BYTES_MAX = 272 /* a file's name, padding and a checksum */
};

static bool read_at(int fd, void *into, size_t bytes, uint64_t at)
{
    return at <= INT64_MAX && pread(fd, into, bytes, (off_t)at) == (ssize_t)bytes;
}

/* Read the section with the name `wanted` into `content`. Returns how many of its bytes were read; 0: no such
 * section. */
static size_t read_section(int fd, const char *wanted, char *content, size_t room)
{
    Elf64_Ehdr header;
    Elf64_Shdr names, section;
    char name[24];
    size_t name_bytes = strlen(wanted) + 1;
    if (!read_at(fd, &header, sizeof header, 0) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_shentsize != sizeof section ||
        header.e_shnum > SECTIONS_MAX || header.e_shstrndx >= header.e_shnum ||
        !read_at(fd, &names, sizeof names, header.e_shoff + header.e_shstrndx * sizeof names)) {
        return 0;
    }
    for (uint64_t i = 0; i < header.e_shnum; i++) {
        if (!read_at(fd, &section, sizeof section, header.e_shoff + i * sizeof section)) {
            return 0;
        }
        if (section.sh_type == SHT_PROGBITS && section.sh_name < names.sh_size &&
            read_at(fd, name, name_bytes, names.sh_offset + section.sh_name) && memcmp(name, wanted, name_bytes) == 0) {
            size_t count = section.sh_size > room ? room : (size_t)section.sh_size;
            return read_at(fd, content, count, section.sh_offset) ? count : 0;
        }
    }
    return 0;
}

bool sbx_debug_link_read(int fd, char *name_out, size_t bytes)
{
    char link[LINK_BYTES_MAX];
    size_t count = read_section(fd, ".gnu_debuglink", link, sizeof link);
    const char *end = count == 0 ? NULL : memchr(link, '\0', count);
    if (end == NULL || end == link || (size_t)(end - link) >= bytes || strchr(link, '/') != NULL ||
        strcmp(link, ".") == 0 || strcmp(link, "..") == 0) {
        return false;
    }
    strcpy(name_out, link);
    return true;
}

size_t sbx_debug_alternate_id(int fd, uint8_t *build_id_out)
{
    char link[PATH_MAX + SBX_BUILD_ID_BYTES_MAX];
    size_t count = read_section(fd, ".gnu_debugaltlink", link, sizeof link);
    const char *end = count == 0 ? NULL : memchr(link, '\0', count);
    size_t id_bytes = end == NULL ? 0 : count - (size_t)(end + 1 - link);
    if (id_bytes == 0 || id_bytes > SBX_BUILD_ID_BYTES_MAX) {
        return 0;
    }
    memcpy(build_id_out, end + 1, id_bytes);
    return id_bytes;
}

bool sbx_debug_may_be_split(int fd)
{
    char byte;
    return read_section(fd, ".debug_addr", &byte, sizeof byte) > 0; /* the addresses of split units are there */
}

/* Open `path` if it is a regular file with that build-id. */
static int open_if_equal(const char *path, const uint8_t *build_id, size_t bytes)
{
    struct stat status;
    uint8_t found[SBX_BUILD_ID_BYTES_MAX];
    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode)) {
        return -1;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        sbx_shortage_note(errno);
    }
    if (fd >= 0 && (sbx_build_id_read(fd, found) != bytes || memcmp(found, build_id, bytes) != 0)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

int sbx_debug_alternate_open(const char *path, int fd)
{
    char link[PATH_MAX + SBX_BUILD_ID_BYTES_MAX], tried[PATH_MAX], hex[2 * SBX_BUILD_ID_BYTES_MAX + 1];
    size_t count = read_section(fd, ".gnu_debugaltlink", link, sizeof link);
    const char *end = count == 0 ? NULL : memchr(link, '\0', count);
    size_t id_bytes = end == NULL ? 0 : count - (size_t)(end + 1 - link);
    if (id_bytes == 0 || id_bytes > SBX_BUILD_ID_BYTES_MAX) {
        return -1;
    }
    const uint8_t *build_id = (const uint8_t *)end + 1;
    sbx_build_id_format(build_id, id_bytes, hex);
    snprintf(tried, sizeof tried, "/usr/lib/debug/.build-id/%.2s/%s.debug", hex, hex + 2);
    int found = open_if_equal(tried, build_id, id_bytes);
    if (found >= 0) {
        return found;
    }
    if (link[0] == '/') {
        bool is_usual = strncmp(link, "/usr/lib/debug/", 15) == 0 && strstr(link, "..") == NULL;
        return is_usual ? open_if_equal(link, build_id, id_bytes) : -1;
    }
    const char *slash = strrchr(path, '/');
    int length = snprintf(tried, sizeof tried, "%.*s/%s", slash == NULL ? 1 : (int)(slash - path),
                          slash == NULL ? "." : path, link);
    return length > 0 && (size_t)length < sizeof tried ? open_if_equal(tried, build_id, id_bytes) : -1;
}
