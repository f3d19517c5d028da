/* SPDX-License-Identifier: Apache-2.0 */
/* macho_elf.c - a Mach-O image as an ELF file in memory.
 *
 *   header | contents of debug sections | .symtab | .dynsym | .strtab | .shstrtab | section headers */
#include "macho_elf.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "macho_format.h"
#include "macho_image.h"
#include "macho_symbols.h"

#define DEBUG_BYTES_MAX UINT64_C(3221225472) /* of one image; the worker has a limit of 4 GiB */

/* The sections that are read, by their ELF names without ".debug_". */
static const char *const wanted[] = {"info", "types",       "abbrev", "line",     "line_str",
                                     "str",  "str_offsets", "ranges", "rnglists", "addr"};
enum {
    WANTED = sizeof wanted / sizeof wanted[0],
    SECTIONS_MAX =
        SBX_MACHO_SECTIONS_MAX + WANTED + 5, /* of the ELF file: none, .symtab, .dynsym, .strtab, .shstrtab */
    NAME_BYTES = 32
};

struct plan {
    Elf64_Shdr headers[SECTIONS_MAX];
    char names[SECTIONS_MAX * NAME_BYTES];
    size_t count, name_bytes;
    uint64_t bytes;                                 /* size of the planned part of the file */
    uint64_t from[SECTIONS_MAX];                    /* offset of the content in the Mach-O file; 0: no content */
    uint16_t number_of[SBX_MACHO_SECTIONS_MAX + 1]; /* of a section of code in the ELF file, by its number in the
                                                     * image */
};

/* Plan a section of `bytes` bytes of content (SHT_NOBITS: none). Returns its header. */
static Elf64_Shdr *add_section(struct plan *plan, const char *name, uint32_t type, uint64_t bytes)
{
    size_t name_bytes = strlen(name) + 1;
    Elf64_Shdr *header = &plan->headers[plan->count++];
    *header = (Elf64_Shdr){
        .sh_name = (uint32_t)plan->name_bytes, .sh_type = type, .sh_offset = plan->bytes, .sh_size = bytes};
    header->sh_addralign = type == SHT_SYMTAB || type == SHT_DYNSYM ? 8 : 1;
    header->sh_entsize = type == SHT_SYMTAB || type == SHT_DYNSYM ? sizeof(Elf64_Sym) : 0;
    memcpy(plan->names + plan->name_bytes, name, name_bytes);
    plan->name_bytes += name_bytes;
    plan->bytes += type == SHT_NOBITS ? 0 : (bytes + 7) & ~UINT64_C(7);
    return header;
}

/* The ELF name of a section of debug information. False if it is not read. Mach-O cuts names at 16 characters. Go's
 * linker compresses sections and names them "__zdebug_". */
static bool elf_name_of(const char *name, char out[NAME_BYTES])
{
    static const char *const prefixes[][2] = {{"__debug_", ".debug_"}, {"__zdebug_", ".zdebug_"}};
    for (size_t p = 0; p < 2; p++) {
        size_t prefix_bytes = strlen(prefixes[p][0]);
        if (strncmp(name, prefixes[p][0], prefix_bytes) != 0) {
            continue;
        }
        for (size_t i = 0; i < WANTED; i++) {
            if (strncmp(name + prefix_bytes, wanted[i], 16 - prefix_bytes) == 0) {
                strcpy(out, prefixes[p][1]);
                strcat(out, wanted[i]);
                return true;
            }
        }
    }
    return false;
}

static bool has_name(const struct plan *plan, const char *name)
{
    for (size_t i = 0; i < plan->count; i++) {
        if (strcmp(plan->names + plan->headers[i].sh_name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* Whether it has more debug information than the limit. An empty file may claim sizes whose sum overflows. */
static bool has_too_much(const struct sbx_macho_image *image)
{
    uint64_t left = DEBUG_BYTES_MAX;
    for (size_t i = 0; i < image->section_count; i++) {
        const struct sbx_macho_section *section = &image->sections[i];
        char name[NAME_BYTES];
        if (!section->is_debug || !elf_name_of(section->name, name)) {
            continue;
        }
        if (section->bytes > left) {
            return true;
        }
        left -= section->bytes;
    }
    return false;
}

static void plan_sections(struct plan *plan, const struct sbx_macho_image *image, bool has_debug)
{
    for (size_t i = 0; i < image->section_count; i++) {
        const struct sbx_macho_section *section = &image->sections[i];
        char name[NAME_BYTES];
        if (section->is_code) {
            plan->number_of[i + 1] = (uint16_t)plan->count;
            Elf64_Shdr *header = add_section(plan, ".text", SHT_NOBITS, section->bytes);
            header->sh_flags = SHF_ALLOC | SHF_EXECINSTR;
            header->sh_addr = section->address;
        } else if (section->is_debug && section->bytes > 0 && has_debug && elf_name_of(section->name, name) &&
                   !has_name(plan, name)) { /* of two with one name, the first counts */
            plan->from[plan->count] = section->offset;
            add_section(plan, name, SHT_PROGBITS, section->bytes);
        }
    }
}

static void write_symbols(const struct plan *plan, const struct sbx_macho_symbols *symbols, uint8_t *into)
{
    for (size_t i = 0; i < symbols->count; i++) {
        const struct sbx_macho_symbol *symbol = &symbols->symbols[i];
        Elf64_Sym entry = {
            .st_name = (uint32_t)(symbol->name - symbols->strings),
            .st_info = ELF64_ST_INFO(symbol->is_external ? STB_GLOBAL : STB_LOCAL, STT_FUNC),
            .st_shndx = plan->number_of[symbol->section],
            .st_value = symbol->begin,
            .st_size = symbol->end - symbol->begin,
        };
        memcpy(into + (i + 1) * sizeof entry, &entry, sizeof entry); /* [0] is the null symbol */
    }
}

/* Write the file as planned. */
static int write_all(int fd, const struct plan *plan, const struct sbx_macho_symbols *symbols, uint16_t machine,
                     uint8_t *bytes)
{
    Elf64_Ehdr header = {
        .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
                    __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB, EV_CURRENT},
        .e_type = ET_EXEC,
        .e_machine = machine,
        .e_version = EV_CURRENT,
        .e_shoff = plan->bytes,
        .e_ehsize = sizeof header,
        .e_shentsize = sizeof(Elf64_Shdr),
        .e_shnum = (uint16_t)plan->count,
        .e_shstrndx = (uint16_t)(plan->count - 1),
    };
    memcpy(bytes, &header, sizeof header);
    memcpy(bytes + plan->bytes, plan->headers, plan->count * sizeof(Elf64_Shdr));
    for (size_t i = 1; i < plan->count; i++) {
        const Elf64_Shdr *section = &plan->headers[i];
        uint8_t *into = bytes + section->sh_offset;
        if (section->sh_type == SHT_SYMTAB || section->sh_type == SHT_DYNSYM) {
            write_symbols(plan, symbols, into);
        } else if (section->sh_type == SHT_STRTAB && i + 1 == plan->count) {
            memcpy(into, plan->names, plan->name_bytes);
        } else if (section->sh_type == SHT_STRTAB) {
            memcpy(into, symbols->strings, symbols->string_bytes + 1);
        } else if (section->sh_type == SHT_PROGBITS) {
            int result = sbx_macho_bytes_read(fd, into, section->sh_size, plan->from[i]);
            if (result != 0) {
                return result;
            }
        }
    }
    return 0;
}

static int make(int fd, const struct sbx_macho_image *image, const struct sbx_macho_symbols *symbols, uint16_t machine,
                struct plan *plan, struct sbx_macho_elf *elf_out)
{
    plan->bytes = sizeof(Elf64_Ehdr);
    add_section(plan, "", SHT_NULL, 0);
    elf_out->is_cut = has_too_much(image);
    plan_sections(plan, image, !elf_out->is_cut);
    uint64_t table_bytes = (symbols->count + 1) * sizeof(Elf64_Sym);
    Elf64_Shdr *table = symbols->is_stripped ? add_section(plan, ".dynsym", SHT_DYNSYM, table_bytes)
                                             : add_section(plan, ".symtab", SHT_SYMTAB, table_bytes);
    table->sh_link = (uint32_t)plan->count;
    table->sh_info = 1;
    add_section(plan, ".strtab", SHT_STRTAB, symbols->string_bytes + 1);
    Elf64_Shdr *names = add_section(plan, ".shstrtab", SHT_STRTAB, 0); /* it contains its own name */
    names->sh_size = plan->name_bytes;
    plan->bytes += (plan->name_bytes + 7) & ~UINT64_C(7);
    elf_out->count = plan->bytes + plan->count * sizeof(Elf64_Shdr);
    elf_out->bytes = calloc(1, elf_out->count);
    return elf_out->bytes == NULL ? -ENOMEM : write_all(fd, plan, symbols, machine, elf_out->bytes);
}

int sbx_macho_elf_read(int fd, const uint8_t *uuid, struct sbx_macho_elf *elf_out)
{
    struct sbx_macho_symbols symbols = {.symbols = NULL};
    struct sbx_macho_image *image = malloc(sizeof *image);
    struct plan *plan = calloc(1, sizeof *plan);
    *elf_out = (struct sbx_macho_elf){.bytes = NULL};
    int result = image == NULL || plan == NULL ? -ENOMEM : sbx_macho_image_read(fd, uuid, image);
    if (result == 0) {
        uint16_t machine = image->cpu == SBX_MACHO_CPU_ARM64 ? EM_AARCH64 : EM_X86_64;
        result = sbx_macho_symbols_read(fd, image, &symbols);
        result = result == 0 ? make(fd, image, &symbols, machine, plan, elf_out) : result;
    }
    if (result == 0) {
        elf_out->base = image->base;
        elf_out->is_companion = image->file_type == SBX_MACHO_DSYM;
        elf_out->has_debug_map = symbols.has_debug_map;
    } else {
        free(elf_out->bytes);
        *elf_out = (struct sbx_macho_elf){.bytes = NULL};
    }
    sbx_macho_symbols_finish(&symbols);
    free(plan);
    free(image);
    return result;
}
