/* SPDX-License-Identifier: Apache-2.0 */
/* build_id.c - the build-id note of an ELF file, read without any ELF library.
 *
 * A debug file keeps its program headers, but not the content they point at. A stripped program may have lost its
 * section headers. So both tables are tried, sections first. */
#include "build_id.h"

#include <elf.h>
#include <string.h>
#include <unistd.h>

enum {
    HEADERS_MAX = 512,
    NOTES_BYTES_MAX = 4096,
    HEAD_BYTES = 1024, /* header, program headers and note of most files; a search reads thousands of files */
    SECTIONS_AT_ONCE = 16,
    UUID_DIGITS = 32
};

/* A file, and its first bytes. */
struct beginning {
    int fd;
    size_t bytes;
    uint8_t head[HEAD_BYTES];
};

static int read_at(const struct beginning *file, void *into, size_t bytes, uint64_t at)
{
    if (at <= file->bytes && bytes <= file->bytes - at) {
        memcpy(into, file->head + at, bytes);
        return 1;
    }
    return at <= INT64_MAX && pread(file->fd, into, bytes, (off_t)at) == (ssize_t)bytes;
}

size_t sbx_build_id_of_notes(const uint8_t *notes, size_t bytes, uint8_t build_id_out[SBX_BUILD_ID_BYTES_MAX])
{
    size_t at = 0;
    while (bytes - at >= sizeof(Elf64_Nhdr)) {
        Elf64_Nhdr note;
        memcpy(&note, notes + at, sizeof note);
        at += sizeof note;
        size_t name_room = ((size_t)note.n_namesz + 3) & ~(size_t)3;
        size_t descriptor_room = ((size_t)note.n_descsz + 3) & ~(size_t)3;
        if (name_room > bytes - at || descriptor_room > bytes - at - name_room) {
            return 0;
        }
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(notes + at, "GNU", 4) == 0 &&
            note.n_descsz > 0 && note.n_descsz <= SBX_BUILD_ID_BYTES_MAX) {
            memcpy(build_id_out, notes + at + name_room, note.n_descsz);
            return note.n_descsz;
        }
        at += name_room + descriptor_room;
    }
    return 0;
}

static size_t read_notes(const struct beginning *file, uint64_t at, uint64_t bytes, uint8_t *build_id_out)
{
    uint8_t notes[NOTES_BYTES_MAX];
    size_t taken = bytes > sizeof notes ? sizeof notes : (size_t)bytes;
    return read_at(file, notes, taken, at) ? sbx_build_id_of_notes(notes, taken, build_id_out) : 0;
}

/* Read the section headers from `first` on. Returns how many were read, SECTIONS_AT_ONCE at most; 0: none could be
 * read. */
static size_t read_sections(const struct beginning *file, const Elf64_Ehdr *header, size_t first, Elf64_Shdr *into)
{
    size_t count = header->e_shnum - first < SECTIONS_AT_ONCE ? header->e_shnum - first : SECTIONS_AT_ONCE;
    while (count > 0 && !read_at(file, into, count * sizeof *into, header->e_shoff + first * sizeof *into)) {
        count /= 2; /* a truncated file has only some of them */
    }
    return count;
}

static size_t read_by_sections(const struct beginning *file, const Elf64_Ehdr *header, uint8_t *build_id_out)
{
    Elf64_Shdr sections[SECTIONS_AT_ONCE];
    size_t count, found = 0;
    for (size_t first = 0; found == 0 && first < header->e_shnum; first += count) {
        count = read_sections(file, header, first, sections);
        if (count == 0) {
            break;
        }
        for (size_t i = 0; i < count && found == 0; i++) {
            found = sections[i].sh_type == SHT_NOTE
                        ? read_notes(file, sections[i].sh_offset, sections[i].sh_size, build_id_out)
                        : 0;
        }
    }
    return found;
}

static size_t read_by_segments(const struct beginning *file, const Elf64_Ehdr *header, uint8_t *build_id_out)
{
    Elf64_Phdr segment;
    size_t found = 0;
    for (uint64_t i = 0; found == 0 && i < header->e_phnum &&
                         read_at(file, &segment, sizeof segment, header->e_phoff + i * sizeof segment);
         i++) {
        found = segment.p_type == PT_NOTE ? read_notes(file, segment.p_offset, segment.p_filesz, build_id_out) : 0;
    }
    return found;
}

size_t sbx_build_id_read(int fd, uint8_t build_id_out[SBX_BUILD_ID_BYTES_MAX])
{
    struct beginning file = {.fd = fd};
    Elf64_Ehdr header;
    const unsigned char byte_order = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
    ssize_t got = pread(fd, file.head, sizeof file.head, 0);
    file.bytes = got > 0 ? (size_t)got : 0;
    if (file.bytes < sizeof header) {
        return 0;
    }
    memcpy(&header, file.head, sizeof header);
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_ident[EI_DATA] != byte_order) {
        return 0;
    }
    size_t found = 0;
    if (header.e_shentsize == sizeof(Elf64_Shdr) && header.e_shnum <= HEADERS_MAX) {
        found = read_by_sections(&file, &header, build_id_out);
    }
    if (found == 0 && header.e_phentsize == sizeof(Elf64_Phdr) && header.e_phnum <= HEADERS_MAX) {
        found = read_by_segments(&file, &header, build_id_out);
    }
    return found;
}

static int digit_of(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

size_t sbx_build_id_parse(const char *hex, size_t digits, uint8_t build_id_out[SBX_BUILD_ID_BYTES_MAX])
{
    char uuid[UUID_DIGITS];
    if (digits == UUID_DIGITS + 4 && hex[8] == '-' && hex[13] == '-' && hex[18] == '-' && hex[23] == '-') {
        memcpy(uuid, hex, 8);
        memcpy(uuid + 8, hex + 9, 4);
        memcpy(uuid + 12, hex + 14, 4);
        memcpy(uuid + 16, hex + 19, 4);
        memcpy(uuid + 20, hex + 24, 12);
        hex = uuid;
        digits = sizeof uuid;
    }
    if (digits % 2 != 0 || digits / 2 > SBX_BUILD_ID_BYTES_MAX) {
        return 0;
    }
    for (size_t i = 0; i < digits / 2; i++) {
        int high = digit_of(hex[2 * i]), low = digit_of(hex[2 * i + 1]);
        if (high < 0 || low < 0) {
            return 0;
        }
        build_id_out[i] = (uint8_t)(high << 4 | low);
    }
    return digits / 2;
}

void sbx_build_id_format(const uint8_t *build_id, size_t bytes, char hex_out[2 * SBX_BUILD_ID_BYTES_MAX + 1])
{
    static const char digits[] = "0123456789abcdef";
    bytes = bytes > SBX_BUILD_ID_BYTES_MAX ? SBX_BUILD_ID_BYTES_MAX : bytes;
    for (size_t i = 0; i < bytes; i++) {
        hex_out[2 * i] = digits[build_id[i] >> 4];
        hex_out[2 * i + 1] = digits[build_id[i] & 15];
    }
    hex_out[2 * bytes] = '\0';
}
