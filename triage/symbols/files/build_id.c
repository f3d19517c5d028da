/* SPDX-License-Identifier: Apache-2.0 */
/* build_id.c - the build-id note of an ELF file, read without any ELF library.
 *
 * A debug file keeps its program headers but not what they point at, a stripped program may have lost its section
 * headers: both tables are tried, sections first. */
#include "build_id.h"

#include <elf.h>
#include <string.h>
#include <unistd.h>

enum {
    HEADERS_MAX = 512,
    NOTES_BYTES_MAX = 4096,
    UUID_DIGITS = 32
};

static int read_at(int fd, void *into, size_t bytes, uint64_t at)
{
    return at <= INT64_MAX && pread(fd, into, bytes, (off_t)at) == (ssize_t)bytes;
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

static size_t read_notes(int fd, uint64_t at, uint64_t bytes, uint8_t *build_id_out)
{
    uint8_t notes[NOTES_BYTES_MAX];
    size_t taken = bytes > sizeof notes ? sizeof notes : (size_t)bytes;
    return read_at(fd, notes, taken, at) ? sbx_build_id_of_notes(notes, taken, build_id_out) : 0;
}

size_t sbx_build_id_read(int fd, uint8_t build_id_out[SBX_BUILD_ID_BYTES_MAX])
{
    Elf64_Ehdr header;
    const unsigned char byte_order = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
    if (!read_at(fd, &header, sizeof header, 0) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != byte_order) {
        return 0;
    }
    if (header.e_shentsize == sizeof(Elf64_Shdr) && header.e_shnum <= HEADERS_MAX) {
        for (uint64_t i = 0; i < header.e_shnum; i++) {
            Elf64_Shdr section;
            if (!read_at(fd, &section, sizeof section, header.e_shoff + i * sizeof section)) {
                break;
            }
            size_t found =
                section.sh_type == SHT_NOTE ? read_notes(fd, section.sh_offset, section.sh_size, build_id_out) : 0;
            if (found > 0) {
                return found;
            }
        }
    }
    if (header.e_phentsize == sizeof(Elf64_Phdr) && header.e_phnum <= HEADERS_MAX) {
        for (uint64_t i = 0; i < header.e_phnum; i++) {
            Elf64_Phdr segment;
            if (!read_at(fd, &segment, sizeof segment, header.e_phoff + i * sizeof segment)) {
                break;
            }
            size_t found =
                segment.p_type == PT_NOTE ? read_notes(fd, segment.p_offset, segment.p_filesz, build_id_out) : 0;
            if (found > 0) {
                return found;
            }
        }
    }
    return 0;
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
