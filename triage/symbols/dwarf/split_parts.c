/* SPDX-License-Identifier: Apache-2.0 */
/* split_parts.c - units of .dwo files and of .dwp packages, by id.
 *
 * elfutils 0.188 reads no packages. A unit of a package cannot be read without the index that tells where its pieces
 * are. So a unit is copied out of its package as a small ELF file in memory, like the .dwo file that it came from:
 * slices of the sections, and the strings that it refers to. */
#include "split_parts.h"

#include <dwarf.h>
#include <elf.h>
#include <errno.h>
#include <gelf.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dwarf_entries.h"
#include "dwarf_text.h"
#include "elf_bytes.h"
#include "symbol_bundle.h"

enum {
    UNITS_MAX = 1 << 20,
    COLUMNS_MAX = 8,
    PIECES = 7 /* sections of a unit that is copied out */
};

/* Sections as a package's index numbers them. Number 8 has another meaning in DWARF 5. */
enum column {
    COLUMN_INFO = 1,
    COLUMN_ABBREV = 3,
    COLUMN_LINE = 4,
    COLUMN_STR_OFFSETS = 6,
    COLUMN_RNGLISTS = 8
};

struct package {
    struct sbx_dwarf_bytes columns, offsets, sizes;
    uint32_t column_count;
    uint32_t version;
};

struct part {
    struct sbx_elf_bytes file;
    bool is_package;
    struct package package; /* the package's index */
    struct sbx_dwarf_section index;
    struct sbx_dwarf_sections sections;
};

struct unit {
    uint64_t id;
    uint64_t offset;    /* in .debug_info.dwo of a .dwo file */
    uint32_t part, row; /* row: in the package's index */
};

struct mapping { /* a bundle's mapping; its members are parts of it */
    void *bytes;
    size_t count;
    struct mapping *next;
};

struct sbx_split_parts {
    struct part *parts;
    size_t count, room;
    struct mapping *mappings;
    struct unit *units; /* sorted by id */
    size_t unit_count, unit_room;
    uint64_t steps; /* limit of work for reading the parts */
};

static int add_unit(struct sbx_split_parts *parts, uint64_t id, uint64_t offset, uint32_t row)
{
    if (id == 0 || parts->unit_count >= UNITS_MAX) {
        return 0;
    }
    if (parts->unit_count == parts->unit_room) {
        size_t room = parts->unit_room == 0 ? 64 : parts->unit_room * 2;
        struct unit *grown = realloc(parts->units, room * sizeof *grown);
        if (grown == NULL) {
            return -ENOMEM;
        }
        parts->units = grown;
        parts->unit_room = room;
    }
    parts->units[parts->unit_count++] = (struct unit){id, offset, (uint32_t)parts->count, row};
    return 0;
}

/* ---- the parts ---- */

static bool is_any(unsigned tag)
{
    (void)tag;
    return true;
}

/* The id in the unit's first entry, as before DWARF 5. */
static uint64_t id_of_entry(const struct sbx_dwarf_sections *sections, const struct sbx_dwarf_header *header,
                            struct sbx_dwarf_abbreviations *abbreviations, struct sbx_dwarf_budget *budget)
{
    struct sbx_dwarf_walk walk;
    struct sbx_dwarf_entry entry;
    bool is_read = sbx_dwarf_walk_begin(&walk, sections, header, abbreviations, budget) == 0 &&
                   sbx_dwarf_walk_next(&walk, is_any, &entry) > 0;
    return is_read && entry.tag == DW_TAG_compile_unit ? entry.values[SBX_DWARF_SPLIT_ID].number : 0;
}

/* The units of a .dwo file: mostly one, and units of types. */
static int read_units(struct sbx_split_parts *parts, const struct sbx_dwarf_sections *sections)
{
    struct sbx_dwarf_abbreviations *abbreviations = sbx_dwarf_abbreviations_create();
    struct sbx_dwarf_budget budget = {0};
    struct sbx_dwarf_header header;
    int result = abbreviations == NULL ? -ENOMEM : 0;
    sbx_dwarf_budget_add(&budget, sections);
    for (uint64_t at = 0; result == 0 && at < sections->info.count && sbx_dwarf_header_read(sections, at, &header);
         at = header.end) {
        uint64_t id = header.split_id;
        if (header.version != 0 && header.version < 5) {
            id = id_of_entry(sections, &header, abbreviations, &budget);
        }
        result = add_unit(parts, id, at, 0);
    }
    sbx_dwarf_abbreviations_destroy(abbreviations);
    return result;
}

/* Read a package's index. Returns 0, -ENOMEM, or -EBADMSG. */
static int read_index(struct sbx_split_parts *parts, struct part *part)
{
    struct sbx_dwarf_bytes bytes = sbx_dwarf_section_from(&part->index, 0);
    struct package *package = &part->package;
    package->version = (uint32_t)sbx_dwarf_fixed(&bytes, 4) & 0xffff; /* DWARF 5: two bytes, then two of zero */
    package->column_count = (uint32_t)sbx_dwarf_fixed(&bytes, 4);
    uint64_t units = sbx_dwarf_fixed(&bytes, 4), slots = sbx_dwarf_fixed(&bytes, 4);
    if (bytes.ended || (package->version != 2 && package->version != 5) || package->column_count == 0 ||
        package->column_count > COLUMNS_MAX || slots > UNITS_MAX || units > slots) {
        return -EBADMSG;
    }
    struct sbx_dwarf_bytes ids = bytes;
    sbx_dwarf_skip(&bytes, slots * 8);
    struct sbx_dwarf_bytes rows = bytes;
    sbx_dwarf_skip(&bytes, slots * 4);
    package->columns = bytes;
    sbx_dwarf_skip(&bytes, package->column_count * 4u);
    package->offsets = bytes;
    sbx_dwarf_skip(&bytes, units * package->column_count * 4);
    package->sizes = bytes;
    sbx_dwarf_skip(&bytes, units * package->column_count * 4);
    if (bytes.ended) {
        return -EBADMSG;
    }
    int result = 0;
    for (uint64_t i = 0; i < slots && result == 0; i++) {
        uint64_t id = sbx_dwarf_fixed(&ids, 8), row = sbx_dwarf_fixed(&rows, 4);
        if (row > 0 && row <= units) { /* rows are numbered from 1; 0 is a free slot */
            result = add_unit(parts, id, 0, (uint32_t)row - 1);
        }
    }
    return result;
}

/* The sections of a package, decompressed. Needed because libdw takes a package for a file without debug
 * information. */
static int read_package(struct sbx_split_parts *parts, struct part *part)
{
    Elf *elf = part->file.elf;
    sbx_dwarf_sections_hide_unread(elf);
    for (Elf_Scn *section = elf_nextscn(elf, NULL); section != NULL; section = elf_nextscn(elf, section)) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) != NULL && (header.sh_flags & SHF_COMPRESSED) != 0) {
            (void)elf_compress(section, 0, 0);
        }
    }
    sbx_dwarf_sections_read(elf, &part->sections);
    part->index.bytes = sbx_dwarf_section(elf, "cu_index", &part->index.count);
    return read_index(parts, part);
}

static int read_unit(struct sbx_split_parts *parts, struct part *part)
{
    Dwarf *dwarf = dwarf_begin_elf(part->file.elf, DWARF_C_READ, NULL);
    if (dwarf == NULL) {
        return -EBADMSG;
    }
    sbx_dwarf_sections_read(part->file.elf, &part->sections);
    int result = read_units(parts, &part->sections);
    dwarf_end(dwarf); /* opened again when it is needed */
    return result;
}

/* Add a file's units; `file` is taken. Returns 0 (also if the file is of no use) or -ENOMEM. */
static int add_part(struct sbx_split_parts *parts, struct sbx_elf_bytes file)
{
    struct part part = {.file = file};
    bool is_unread = false;
    size_t before = parts->unit_count;
    if (parts->count == parts->room) {
        size_t room = parts->room == 0 ? 64 : parts->room * 2;
        struct part *grown = realloc(parts->parts, room * sizeof *grown);
        if (grown == NULL) {
            sbx_elf_bytes_end(&part.file);
            return -ENOMEM;
        }
        parts->parts = grown;
        parts->room = room;
    }
    part.is_package = sbx_elf_has_section(part.file.elf, ".debug_cu_index");
    bool is_bomb = sbx_elf_has_bomb(&part.file, &is_unread);
    int result = is_bomb ? -EBADMSG : part.is_package ? read_package(parts, &part) : read_unit(parts, &part);
    if (parts->unit_count == before || result == -ENOMEM) {
        sbx_elf_bytes_end(&part.file);
        return result == -ENOMEM ? result : 0;
    }
    struct sbx_dwarf_budget budget = {parts->steps};
    if (parts->count == 0) {
        sbx_dwarf_budget_add(&budget, &part.sections);
    } else {
        sbx_dwarf_budget_add_one_of_many(&budget, &part.sections);
    }
    parts->steps = budget.left;
    parts->parts[parts->count++] = part;
    return 0;
}

/* Add the parts of a bundle. */
static int add_bundle(struct sbx_split_parts *parts, int fd)
{
    struct sbx_bundle bundle;
    int result = sbx_bundle_read(fd, &bundle);
    if (result != 0) {
        return result == -ENOMEM ? result : 0;
    }
    size_t count = (size_t)lseek(fd, 0, SEEK_END);
    struct mapping *mapping = calloc(1, sizeof *mapping);
    void *bytes = mapping == NULL ? MAP_FAILED : mmap(NULL, count, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED) {
        free(mapping);
        free(bundle.members);
        return -ENOMEM;
    }
    *mapping = (struct mapping){bytes, count, parts->mappings};
    parts->mappings = mapping;
    for (size_t i = 0; i < bundle.count && result == 0; i++) {
        const struct sbx_bundle_member *member = &bundle.members[i];
        struct sbx_elf_bytes file;
        if (member->kind == SBX_BUNDLE_PART &&
            sbx_elf_bytes_begin_piece((char *)bytes + member->offset, (size_t)member->bytes, &file)) {
            result = add_part(parts, file);
        }
    }
    free(bundle.members);
    return result;
}

/* Add a file; `fd` is taken. */
static int add_file(struct sbx_split_parts *parts, int fd, bool maps)
{
    char begin[SBX_BUNDLE_BEGIN_BYTES];
    struct sbx_elf_bytes file;
    ssize_t got = pread(fd, begin, sizeof begin, 0);
    if (got > 0 && sbx_bundle_is(begin, (size_t)got)) {
        int result = add_bundle(parts, fd);
        close(fd);
        return result;
    }
    if (!sbx_elf_bytes_begin(fd, maps, &file)) {
        close(fd);
        return 0;
    }
    return add_part(parts, file);
}

static int by_id(const void *a, const void *b)
{
    const struct unit *x = a, *y = b;
    if (x->id != y->id) {
        return x->id < y->id ? -1 : 1;
    }
    return x->part < y->part ? -1 : x->part > y->part; /* of equal ids the first counts */
}

struct sbx_split_parts *sbx_split_parts_create(const int *descriptors, size_t count, bool maps)
{
    elf_version(EV_CURRENT);
    struct sbx_split_parts *parts = calloc(1, sizeof *parts);
    int result = parts == NULL ? -ENOMEM : 0;
    for (size_t i = 0; i < count; i++) {
        if (result == 0) {
            result = add_file(parts, descriptors[i], maps);
        } else {
            close(descriptors[i]);
        }
    }
    if (result != 0 || parts->count == 0) {
        sbx_split_parts_destroy(parts);
        return NULL;
    }
    qsort(parts->units, parts->unit_count, sizeof *parts->units, by_id);
    return parts;
}

void sbx_split_parts_destroy(struct sbx_split_parts *parts)
{
    if (parts == NULL) {
        return;
    }
    for (size_t i = 0; i < parts->count; i++) {
        sbx_elf_bytes_end(&parts->parts[i].file);
    }
    while (parts->mappings != NULL) {
        struct mapping *mapping = parts->mappings;
        parts->mappings = mapping->next;
        munmap(mapping->bytes, mapping->count);
        free(mapping);
    }
    free(parts->parts);
    free(parts->units);
    free(parts);
}

void sbx_split_parts_add_budget(const struct sbx_split_parts *parts, struct sbx_dwarf_budget *budget)
{
    budget->left += parts->steps;
}

/* ---- copying a unit out of a package ---- */

struct piece {
    const char *name;
    struct sbx_dwarf_section content;
};

/* The unit's slice of a section. Empty if the index has no such column, or if the slice is not within the section. */
static struct sbx_dwarf_section slice(const struct part *part, uint32_t row, enum column column,
                                      const struct sbx_dwarf_section *section)
{
    const struct package *package = &part->package;
    struct sbx_dwarf_bytes columns = package->columns;
    for (uint32_t i = 0; i < package->column_count; i++) {
        if (sbx_dwarf_fixed(&columns, 4) == (uint64_t)column) {
            struct sbx_dwarf_bytes offsets = package->offsets, sizes = package->sizes;
            sbx_dwarf_skip(&offsets, ((uint64_t)row * package->column_count + i) * 4);
            sbx_dwarf_skip(&sizes, ((uint64_t)row * package->column_count + i) * 4);
            uint64_t offset = sbx_dwarf_fixed(&offsets, 4), size = sbx_dwarf_fixed(&sizes, 4);
            if (section->bytes == NULL || offset > section->count || size > section->count - offset) {
                break;
            }
            return (struct sbx_dwarf_section){section->bytes + offset, (size_t)size};
        }
    }
    return (struct sbx_dwarf_section){NULL, 0};
}

/* Copies of the unit's string offsets and of the strings, so that no other strings of the package must be copied. Both
 * are given. Returns 0, -ENOMEM or -EBADMSG. */
static int take_strings(const struct part *part, struct sbx_dwarf_section from, struct sbx_dwarf_section *offsets_out,
                        struct sbx_dwarf_section *strings_out)
{
    size_t header = part->package.version == 5 ? 8 : 0, count = from.count < header ? 0 : (from.count - header) / 4;
    size_t room = 256, used = 1;
    uint8_t *offsets = malloc(from.count + 1), *strings = malloc(room);
    int result = offsets == NULL || strings == NULL ? -ENOMEM : 0;
    if (result == 0) {
        strings[0] = '\0'; /* damaged files lead here */
        memcpy(offsets, from.bytes, from.count);
    }
    for (size_t i = 0; i < count && result == 0; i++) {
        uint32_t offset, moved = 0;
        memcpy(&offset, offsets + header + 4 * i, sizeof offset);
        const char *text = sbx_dwarf_section_text(&part->sections.str, offset);
        size_t bytes = text == NULL ? 0 : strlen(text) + 1;
        if (used + bytes > room) {
            uint8_t *grown = used + bytes > INT_MAX ? NULL : realloc(strings, 2 * (used + bytes));
            if (grown == NULL) {
                result = -ENOMEM;
                break;
            }
            strings = grown;
            room = 2 * (used + bytes);
        }
        if (bytes > 0) {
            memcpy(strings + used, text, bytes);
            moved = (uint32_t)used;
            used += bytes;
        }
        memcpy(offsets + header + 4 * i, &moved, sizeof moved);
    }
    if (result != 0) {
        free(offsets);
        free(strings);
        return result;
    }
    *offsets_out = (struct sbx_dwarf_section){offsets, from.count};
    *strings_out = (struct sbx_dwarf_section){strings, used};
    return 0;
}

/* Make an ELF file of the pieces; given. NULL if memory runs out. */
static char *put_together(const struct piece *pieces, size_t count, size_t *bytes_out)
{
    size_t bytes = sizeof(Elf64_Ehdr) + (count + 2) * sizeof(Elf64_Shdr), names = 1;
    for (size_t i = 0; i < count; i++) {
        bytes += (pieces[i].content.count + 7) / 8 * 8;
        names += strlen(pieces[i].name) + 1;
    }
    char *file = calloc(1, bytes + names);
    if (file == NULL) {
        return NULL;
    }
    Elf64_Ehdr header = {.e_type = ET_REL,
                         .e_machine = EM_X86_64, /* the content does not depend on a machine */
                         .e_version = EV_CURRENT,
                         .e_shoff = sizeof header,
                         .e_ehsize = sizeof header,
                         .e_shentsize = sizeof(Elf64_Shdr),
                         .e_shnum = (Elf64_Half)(count + 2),
                         .e_shstrndx = (Elf64_Half)(count + 1)};
    memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    memcpy(file, &header, sizeof header);
    size_t at = sizeof header + (count + 2) * sizeof(Elf64_Shdr), name = 1;
    for (size_t i = 0; i < count; i++) {
        const Elf64_Shdr section = {.sh_name = (Elf64_Word)name,
                                    .sh_type = SHT_PROGBITS,
                                    .sh_offset = at,
                                    .sh_size = pieces[i].content.count,
                                    .sh_addralign = 1};
        memcpy(file + sizeof header + (i + 1) * sizeof section, &section, sizeof section);
        if (pieces[i].content.count > 0) {
            memcpy(file + at, pieces[i].content.bytes, pieces[i].content.count);
        }
        at += (pieces[i].content.count + 7) / 8 * 8;
        strcpy(file + bytes + name, pieces[i].name);
        name += strlen(pieces[i].name) + 1;
    }
    const Elf64_Shdr section = {.sh_type = SHT_STRTAB, .sh_offset = bytes, .sh_size = names, .sh_addralign = 1};
    memcpy(file + sizeof header + (count + 1) * sizeof section, &section, sizeof section);
    *bytes_out = bytes + names;
    return file;
}

/* The memory of an open unit. */
struct opened {
    char *bytes; /* a file in memory; NULL: the part's own Elf is used */
    Elf *elf;    /* of those bytes */
};

static int take_out(const struct part *part, uint32_t row, struct opened *opened)
{
    const struct sbx_dwarf_sections *sections = &part->sections;
    struct sbx_dwarf_section offsets = {NULL, 0}, strings = {NULL, 0};
    struct sbx_dwarf_section from = slice(part, row, COLUMN_STR_OFFSETS, &sections->str_offsets);
    int result = from.bytes == NULL ? 0 : take_strings(part, from, &offsets, &strings);
    if (result != 0) {
        return result;
    }
    struct piece pieces[PIECES] = {{".debug_info.dwo", slice(part, row, COLUMN_INFO, &sections->info)},
                                   {".debug_abbrev.dwo", slice(part, row, COLUMN_ABBREV, &sections->abbrev)}};
    size_t count = 2, bytes;
    result = pieces[0].content.bytes == NULL || pieces[1].content.bytes == NULL ? -EBADMSG : 0;
    const struct piece more[] = {{".debug_line.dwo", slice(part, row, COLUMN_LINE, &sections->line)},
                                 {".debug_rnglists.dwo", part->package.version == 5
                                                             ? slice(part, row, COLUMN_RNGLISTS, &sections->rnglists)
                                                             : (struct sbx_dwarf_section){NULL, 0}},
                                 {".debug_str_offsets.dwo", offsets},
                                 {".debug_str.dwo", strings}};
    for (size_t i = 0; i < sizeof more / sizeof more[0]; i++) {
        if (more[i].content.bytes != NULL) {
            pieces[count++] = more[i];
        }
    }
    if (result == 0) {
        opened->bytes = put_together(pieces, count, &bytes);
        opened->elf = opened->bytes == NULL ? NULL : elf_memory(opened->bytes, bytes);
        result = opened->elf == NULL ? -ENOMEM : 0;
    }
    free((void *)offsets.bytes);
    free((void *)strings.bytes);
    return result;
}

int sbx_split_parts_open(struct sbx_split_parts *parts, uint64_t id, struct sbx_split_unit *unit_out)
{
    size_t low = 0, high = parts->unit_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (parts->units[middle].id < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == parts->unit_count || parts->units[low].id != id) {
        return -ENOENT;
    }
    const struct part *part = &parts->parts[parts->units[low].part];
    struct opened *opened = calloc(1, sizeof *opened);
    int result = opened == NULL ? -ENOMEM : part->is_package ? take_out(part, parts->units[low].row, opened) : 0;
    *unit_out = (struct sbx_split_unit){.opened = opened, .offset = parts->units[low].offset};
    if (result == 0) {
        unit_out->dwarf = dwarf_begin_elf(part->is_package ? opened->elf : part->file.elf, DWARF_C_READ, NULL);
        result = unit_out->dwarf == NULL || !sbx_dwarf_text_ends(unit_out->dwarf) ? -EBADMSG : 0;
    }
    if (result != 0) {
        sbx_split_unit_close(unit_out);
        return result;
    }
    sbx_dwarf_sections_read(dwarf_getelf(unit_out->dwarf), &unit_out->sections);
    return 0;
}

void sbx_split_unit_close(struct sbx_split_unit *unit)
{
    struct opened *opened = unit->opened;
    if (unit->dwarf != NULL) {
        dwarf_end(unit->dwarf);
    }
    if (opened != NULL) {
        elf_end(opened->elf);
        free(opened->bytes);
        free(opened);
    }
    *unit = (struct sbx_split_unit){.dwarf = NULL};
}
