/* SPDX-License-Identifier: Apache-2.0 */
/* hostile_elf.c - ELF files and debug information written byte by byte. */
#include "hostile_elf.h"

#include <dwarf.h>
#include <elf.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void must(int condition, const char *what)
{
    if (!condition) {
        perror(what);
        abort();
    }
}

static uint8_t *grow(struct hostile_bytes *out, size_t count)
{
    if (out->count + count > out->room) {
        out->room = 2 * (out->count + count) + 64;
        out->bytes = realloc(out->bytes, out->room);
        must(out->bytes != NULL, "realloc");
    }
    out->count += count;
    return out->bytes + out->count - count;
}

void hostile_put(struct hostile_bytes *out, uint64_t value, size_t bytes)
{
    uint8_t *at = grow(out, bytes);
    for (size_t i = 0; i < bytes; i++) {
        at[i] = (uint8_t)(value >> 8 * i);
    }
}

void hostile_patch(struct hostile_bytes *out, size_t at, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        out->bytes[at + i] = (uint8_t)(value >> 8 * i);
    }
}

void hostile_put_leb(struct hostile_bytes *out, uint64_t value)
{
    do {
        uint8_t byte = value & 0x7f;
        value >>= 7;
        hostile_put(out, byte | (value != 0 ? 0x80 : 0), 1);
    } while (value != 0);
}

void hostile_put_text(struct hostile_bytes *out, const char *text)
{
    memcpy(grow(out, strlen(text) + 1), text, strlen(text) + 1);
}

void hostile_repeat(struct hostile_bytes *out, const void *bytes, size_t count, size_t times)
{
    uint8_t *at = grow(out, count * times);
    for (size_t i = 0; i < times; i++) {
        memcpy(at + i * count, bytes, count);
    }
}

struct hostile_bytes *hostile_section(struct hostile_elf *elf, const char *name)
{
    for (size_t i = 0; i < elf->count; i++) {
        if (strcmp(elf->sections[i].name, name) == 0) {
            return &elf->sections[i].content;
        }
    }
    must(elf->count < HOSTILE_SECTIONS_MAX, "too many sections");
    elf->sections[elf->count].name = name;
    return &elf->sections[elf->count++].content;
}

size_t hostile_begin_unit(struct hostile_elf *elf, uint64_t abbreviations)
{
    struct hostile_bytes *info = hostile_section(elf, ".debug_info");
    size_t begin = info->count;
    hostile_put(info, 0, 4); /* the length, which is set later */
    hostile_put(info, 5, 2);
    hostile_put(info, DW_UT_compile, 1);
    hostile_put(info, 8, 1);
    hostile_put(info, abbreviations, 4);
    return begin;
}

void hostile_end_unit(struct hostile_elf *elf, size_t begin)
{
    struct hostile_bytes *info = hostile_section(elf, ".debug_info");
    hostile_patch(info, begin, info->count - begin - 4, 4);
}

void hostile_abbreviation(struct hostile_elf *elf, uint64_t code, unsigned tag, int has_children, ...)
{
    struct hostile_bytes *out = hostile_section(elf, ".debug_abbrev");
    va_list arguments;
    va_start(arguments, has_children);
    hostile_put_leb(out, code);
    hostile_put_leb(out, tag);
    hostile_put(out, has_children != 0, 1);
    for (unsigned name = va_arg(arguments, unsigned); name != 0; name = va_arg(arguments, unsigned)) {
        hostile_put_leb(out, name);
        hostile_put_leb(out, va_arg(arguments, unsigned));
    }
    va_end(arguments);
    hostile_put(out, 0, 2);
}

/* ---- the file ---- */

struct file {
    struct hostile_bytes bytes, names;
    Elf64_Shdr headers[HOSTILE_SECTIONS_MAX + 6];
    size_t count;
};

static void add_section(struct file *file, const char *name, uint32_t type, uint64_t flags,
                        const struct hostile_bytes *content)
{
    hostile_put(&file->bytes, 0, (8 - file->bytes.count % 8) % 8);
    file->headers[file->count++] = (Elf64_Shdr){.sh_name = (uint32_t)file->names.count,
                                                .sh_type = type,
                                                .sh_flags = flags,
                                                .sh_offset = file->bytes.count,
                                                .sh_size = content->count,
                                                .sh_addralign = 1};
    hostile_put_text(&file->names, name);
    if (content->count > 0) {
        memcpy(grow(&file->bytes, content->count), content->bytes, content->count);
    }
}

static void add_symbols(struct file *file, uint16_t text_index)
{
    struct hostile_bytes symbols = {0}, names = {0};
    Elf64_Sym survivor = {.st_name = 1,
                          .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                          .st_shndx = text_index,
                          .st_value = HOSTILE_TEXT,
                          .st_size = 16};
    hostile_put(&symbols, 0, 8);
    hostile_put(&symbols, 0, 8);
    hostile_put(&symbols, 0, 8);
    hostile_repeat(&symbols, &survivor, sizeof survivor, 1);
    hostile_put(&names, 0, 1);
    hostile_put_text(&names, "survivor");
    add_section(file, ".symtab", SHT_SYMTAB, 0, &symbols);
    file->headers[file->count - 1].sh_entsize = sizeof survivor;
    file->headers[file->count - 1].sh_link = (uint32_t)file->count;
    add_section(file, ".strtab", SHT_STRTAB, 0, &names);
    free(symbols.bytes);
    free(names.bytes);
}

void hostile_write(struct hostile_elf *elf, const char *path, int is_compressed)
{
    struct file file = {.count = 1};
    struct hostile_bytes note = {0}, nothing = {0};
    Elf64_Ehdr header = {.e_type = ET_DYN,
                         .e_machine = EM_X86_64,
                         .e_version = EV_CURRENT,
                         .e_ehsize = sizeof header,
                         .e_shentsize = sizeof(Elf64_Shdr)};
    memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    grow(&file.bytes, sizeof header);
    hostile_put(&file.names, 0, 1);
    hostile_put(&note, 4, 4);
    hostile_put(&note, 20, 4);
    hostile_put(&note, NT_GNU_BUILD_ID, 4);
    hostile_put_text(&note, "GNU");
    hostile_repeat(&note, "\x5a", 1, 20);
    add_section(&file, ".note.gnu.build-id", SHT_NOTE, SHF_ALLOC, &note);
    add_section(&file, ".text", SHT_NOBITS, SHF_ALLOC | SHF_EXECINSTR, &nothing);
    file.headers[file.count - 1].sh_addr = HOSTILE_TEXT;
    file.headers[file.count - 1].sh_size = HOSTILE_TEXT_BYTES;
    add_symbols(&file, (uint16_t)(file.count - 1));
    for (size_t i = 0; i < elf->count; i++) {
        add_section(&file, elf->sections[i].name, SHT_PROGBITS, 0, &elf->sections[i].content);
        free(elf->sections[i].content.bytes);
    }
    struct hostile_bytes names = {0};
    hostile_put_text(&file.names, ".shstrtab");
    hostile_repeat(&names, file.names.bytes, file.names.count, 1);
    size_t last = file.names.count - sizeof ".shstrtab";
    add_section(&file, "", SHT_STRTAB, 0, &names);
    file.headers[file.count - 1].sh_name = (uint32_t)last;
    hostile_put(&file.bytes, 0, (8 - file.bytes.count % 8) % 8);
    header.e_shoff = file.bytes.count;
    header.e_shnum = (uint16_t)file.count;
    header.e_shstrndx = (uint16_t)(file.count - 1);
    hostile_repeat(&file.bytes, file.headers, file.count * sizeof file.headers[0], 1);
    memcpy(file.bytes.bytes, &header, sizeof header);
    int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
    must(fd >= 0, path);
    for (size_t done = 0; done < file.bytes.count;) {
        ssize_t written = write(fd, file.bytes.bytes + done, file.bytes.count - done);
        must(written > 0, path);
        done += (size_t)written;
    }
    close(fd);
    free(file.bytes.bytes);
    free(file.names.bytes);
    free(names.bytes);
    free(note.bytes);
    *elf = (struct hostile_elf){.count = 0};
    if (is_compressed) {
        char command[512];
        snprintf(command, sizeof command, "objcopy --compress-debug-sections=zlib-gabi '%s'", path);
        must(system(command) == 0, command);
    }
}
