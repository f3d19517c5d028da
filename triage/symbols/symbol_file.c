/* SPDX-License-Identifier: Apache-2.0 */
/* symbol_file.c - one module's names, from all files that have its build-id.
 *
 * A distribution splits a program into a stripped file with dynamic symbols and a debug file with the rest; so the best
 * of each kind is taken from whichever file has it: DWARF before .symtab before .dynsym. libelf reads instead of
 * mapping: a file that shrinks under a mapping would kill the server. */
#include "symbol_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <elfutils/libdw.h>
#include <gelf.h>

#include "build_id.h"
#include "dwarf_units.h"
#include "elf_symbols.h"

struct opened {
    int fd;
    Elf *elf;
};

struct sbx_symbol_file {
    struct opened opened[SBX_ELF_PATHS_MAX];
    size_t opened_count;
    Dwarf *dwarf; /* NULL: none has debug information */
    struct sbx_dwarf_units *units;
    struct sbx_elf_symbols symtab, dynsym;
};

const char *sbx_symbol_source_name(enum sbx_symbol_source source)
{
    static const char *const names[] = {
        [SBX_SYMBOLS_NONE] = "none",
        [SBX_SYMBOLS_DWARF] = "dwarf",
        [SBX_SYMBOLS_SYMTAB] = "symtab",
        [SBX_SYMBOLS_DYNSYM] = "dynsym",
    };
    return (size_t)source < sizeof names / sizeof names[0] ? names[source] : names[SBX_SYMBOLS_NONE];
}

static bool has_section(Elf *elf, const char *wanted)
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

/* Where executable code begins: debug information of discarded functions points below. */
static uint64_t text_begin_of(Elf *elf)
{
    uint64_t begin = UINT64_MAX;
    for (Elf_Scn *section = elf_nextscn(elf, NULL); section != NULL; section = elf_nextscn(elf, section)) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) != NULL && (header.sh_flags & SHF_EXECINSTR) != 0 &&
            header.sh_addr < begin) {
            begin = header.sh_addr;
        }
    }
    return begin == UINT64_MAX ? 0 : begin;
}

static void open_one(struct sbx_symbol_file *file, const char *path, const uint8_t *build_id, size_t bytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    uint8_t found[SBX_BUILD_ID_BYTES_MAX];
    if (fd < 0) {
        return;
    }
    if (sbx_build_id_read(fd, found) != bytes || memcmp(found, build_id, bytes) != 0) {
        goto close_fd;
    }
    Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
    if (elf == NULL) {
        goto close_fd;
    }
    bool useful = file->opened_count == 0; /* the first is kept in any case: the module was found */
    if (file->dwarf == NULL && (has_section(elf, ".debug_info") || has_section(elf, ".zdebug_info"))) {
        file->dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
        file->units = file->dwarf == NULL ? NULL : sbx_dwarf_units_create(file->dwarf, text_begin_of(elf));
        useful = useful || file->units != NULL;
    }
    if (file->symtab.count == 0) {
        (void)sbx_elf_symbols_read(elf, SHT_SYMTAB, &file->symtab); /* without memory: as without symbols */
        useful = useful || file->symtab.count > 0;
    }
    if (file->dynsym.count == 0) {
        (void)sbx_elf_symbols_read(elf, SHT_DYNSYM, &file->dynsym);
        useful = useful || file->dynsym.count > 0;
    }
    if (useful || file->dwarf != NULL) { /* a Dwarf without units may still refer to it */
        file->opened[file->opened_count++] = (struct opened){fd, elf};
        return;
    }
    elf_end(elf);

close_fd:
    close(fd);
}

struct sbx_symbol_file *sbx_symbol_file_open(const struct sbx_elf_paths *paths, const uint8_t *build_id, size_t bytes)
{
    elf_version(EV_CURRENT);
    struct sbx_symbol_file *file = calloc(1, sizeof *file);
    if (file == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < paths->count && i < SBX_ELF_PATHS_MAX; i++) {
        open_one(file, paths->paths[i], build_id, bytes);
    }
    if (file->opened_count == 0) {
        sbx_symbol_file_close(file);
        return NULL;
    }
    return file;
}

void sbx_symbol_file_close(struct sbx_symbol_file *file)
{
    if (file == NULL) {
        return;
    }
    sbx_dwarf_units_destroy(file->units);
    if (file->dwarf != NULL) {
        dwarf_end(file->dwarf);
    }
    sbx_elf_symbols_finish(&file->symtab);
    sbx_elf_symbols_finish(&file->dynsym);
    for (size_t i = 0; i < file->opened_count; i++) {
        elf_end(file->opened[i].elf);
        close(file->opened[i].fd);
    }
    free(file);
}

bool sbx_symbol_file_has_dwarf(const struct sbx_symbol_file *file)
{
    return file->units != NULL;
}

/* The symbol at the address, .symtab first. */
static const struct sbx_elf_symbol *find_symbol(const struct sbx_symbol_file *file, uint64_t address,
                                                enum sbx_symbol_source *source_out)
{
    const struct sbx_elf_symbol *symbol = sbx_elf_symbols_find(&file->symtab, address);
    *source_out = SBX_SYMBOLS_SYMTAB;
    if (symbol == NULL) {
        symbol = sbx_elf_symbols_find(&file->dynsym, address);
        *source_out = symbol == NULL ? SBX_SYMBOLS_NONE : SBX_SYMBOLS_DYNSYM;
    }
    return symbol;
}

/* A symbol's name without its version ("memcpy@@GLIBC_2.14"), demangled. */
static void write_symbol_name(const struct sbx_elf_symbol *symbol, char *out, size_t out_bytes)
{
    char plain[SBX_NAME_BYTES_MAX];
    size_t bytes = strcspn(symbol->name, "@");
    if (bytes == 0 || bytes >= sizeof plain) {
        sbx_demangle(symbol->name, out, out_bytes);
        return;
    }
    memcpy(plain, symbol->name, bytes);
    plain[bytes] = '\0';
    sbx_demangle(plain, out, out_bytes);
}

/* Whether `alias` is `name` without its decoration: "nanosleep" for "__GI___nanosleep". */
static bool is_plain_alias(const char *alias, const char *name)
{
    size_t alias_bytes = strcspn(alias, "@"), name_bytes = strlen(name);
    return alias[0] != '_' && alias_bytes < name_bytes &&
           strncmp(name + name_bytes - alias_bytes, alias, alias_bytes) == 0 &&
           name[name_bytes - alias_bytes - 1] == '_';
}

/* For C the plain name, or the exported alias that programs call it by in libraries that decorate their own. For other
 * languages the linkage name, else what the symbol table calls the outermost frame (compilers give functions of an
 * unnamed namespace no linkage name in DWARF, but the symbol has it), else the name behind its scopes. */
static void write_dwarf_name(const struct sbx_symbol_file *file, const struct sbx_dwarf_frame *frame, uint64_t address,
                             char *out, size_t out_bytes)
{
    bool has_plain_name = frame->is_c && frame->name != NULL;
    enum sbx_symbol_source source;
    const struct sbx_elf_symbol *symbol = frame->inlined ? NULL : find_symbol(file, address, &source);
    out[0] = '\0';
    if (has_plain_name) {
        if (symbol != NULL && is_plain_alias(symbol->name, frame->name)) {
            write_symbol_name(symbol, out, out_bytes);
        } else {
            sbx_demangle(frame->name, out, out_bytes);
        }
    } else if (frame->linkage_name != NULL) {
        sbx_demangle(frame->linkage_name, out, out_bytes);
    } else if (symbol != NULL) {
        write_symbol_name(symbol, out, out_bytes);
    } else if (frame->name != NULL) {
        size_t used = sbx_dwarf_scope(frame, out, out_bytes);
        sbx_demangle(frame->name, out + used, out_bytes - used);
    }
}

size_t sbx_symbol_file_find(struct sbx_symbol_file *file, uint64_t address, struct sbx_symbol_frame *frames_out,
                            size_t max, enum sbx_symbol_source *source_out)
{
    *source_out = SBX_SYMBOLS_NONE;
    if (max == 0) {
        return 0;
    }
    if (file->units != NULL) {
        struct sbx_dwarf_frame found[SBX_INLINES_MAX];
        size_t room = max < SBX_INLINES_MAX ? max : SBX_INLINES_MAX;
        size_t count = sbx_dwarf_units_find(file->units, address, found, room);
        for (size_t i = 0; i < count; i++) {
            struct sbx_symbol_frame *frame = &frames_out[i];
            frame->file = found[i].file;
            frame->line = found[i].line;
            frame->inlined = found[i].inlined;
            write_dwarf_name(file, &found[i], address, frame->function, sizeof frame->function);
        }
        if (count > 0 && frames_out[count - 1].function[0] != '\0') {
            *source_out = SBX_SYMBOLS_DWARF;
            return count;
        }
        /* A line without any function is padding behind one: it tells of the neighbour. */
    }
    const struct sbx_elf_symbol *symbol = find_symbol(file, address, source_out);
    if (symbol == NULL) {
        return 0;
    }
    frames_out[0].file = NULL;
    frames_out[0].line = 0;
    frames_out[0].inlined = false;
    write_symbol_name(symbol, frames_out[0].function, sizeof frames_out[0].function);
    return 1;
}
