/* SPDX-License-Identifier: Apache-2.0 */
/* symbol_file.c - one module's names, from all files that have its build-id.
 *
 * A distribution splits a program into a stripped file with dynamic symbols and a debug file with the rest. So the best
 * of each kind is taken from any file that has it: DWARF before .symtab before .dynsym. libelf reads the files and maps
 * them only in a worker, because a mapping of a file that shrinks would kill the server. */
#include "symbol_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <elfutils/libdw.h>
#include <gelf.h>

#include "build_id.h"
#include "debug_link.h"
#include "dwarf_names.h"
#include "dwarf_sections.h"
#include "dwarf_units.h"
#include "elf_bytes.h"
#include "elf_symbols.h"
#include "macho_elf.h"
#include "macho_image.h"
#include "mini_debug_info.h"
#include "name_cache.h"
#include "shortage.h"
#include "split_files.h"
#include "split_parts.h"

enum {
    NAMES_KEPT_BYTES = 4 << 20,  /* demangled, of each file */
    ANSWERS_KEPT_BYTES = 8 << 20 /* of each file, for a hundred thousand addresses */
};

struct sbx_symbol_file {
    bool maps; /* maps the files instead of reading them */
    struct sbx_elf_bytes opened[SBX_ELF_PATHS_MAX];
    size_t opened_count;
    struct sbx_dwarf_units *units; /* NULL: none has debug information */
    struct sbx_split_parts *parts; /* NULL: none were given, or none is of use */
    struct sbx_elf_symbols symtab, dynsym;
    struct sbx_places *places;
    struct sbx_elf_bytes alternate; /* the file that dwz moved parts to; elf NULL: none */
    Dwarf *alternate_dwarf;
    uint8_t *mini_bytes; /* an ELF file with symbols, embedded in another; NULL: none */
    Elf *mini_elf;
    struct sbx_name_cache *names;     /* NULL until a name is asked for */
    struct sbx_answer_cache *answers; /* the same */
    struct sbx_symbol_image *image;   /* NULL: files are used */
    const char *trouble;              /* NULL: none */
    uint64_t base;                    /* the address minus the offset; the same for all files */
    enum sbx_image_kind kind;         /* of the file with the best source */
    bool lacks_memory;                /* so a file could not be opened */
    bool has_debug_map;               /* a file says that its debug information is in object files */
};

/* Where executable code begins and ends: debug information of discarded functions points outside of it. */
static void find_text(Elf *elf, uint64_t *begin_out, uint64_t *end_out)
{
    uint64_t begin = UINT64_MAX, end = 0;
    for (Elf_Scn *section = elf_nextscn(elf, NULL); section != NULL; section = elf_nextscn(elf, section)) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) != NULL && (header.sh_flags & SHF_EXECINSTR) != 0 &&
            header.sh_size <= UINT64_MAX - header.sh_addr) {
            begin = header.sh_addr < begin ? header.sh_addr : begin;
            end = header.sh_addr + header.sh_size > end ? header.sh_addr + header.sh_size : end;
        }
    }
    *begin_out = end == 0 ? 0 : begin;
    *end_out = end == 0 ? UINT64_MAX : end;
}

/* Whether it must not be read as debug information. */
static bool has_bomb(struct sbx_symbol_file *file, const struct sbx_elf_bytes *opened)
{
    bool is_unread = false, is_bomb = sbx_elf_has_bomb(opened, &is_unread);
    if (is_bomb) {
        file->trouble = "a compressed section claims to be more than a hundred times its size";
    } else if (is_unread) {
        file->trouble = "a section is compressed in a way that this elfutils cannot read; write it anew with "
                        "objcopy --decompress-debug-sections";
    }
    return is_bomb;
}

/* The symbols in a compressed section of a stripped file. */
static void read_mini_debug_info(struct sbx_symbol_file *file, Elf *elf)
{
    size_t bytes;
    int result = sbx_mini_debug_info_read(elf, &file->mini_bytes, &bytes);
    if (result == 0) {
        file->mini_elf = elf_memory((char *)file->mini_bytes, bytes);
        (void)sbx_elf_symbols_read(file->mini_elf, SHT_SYMTAB, &file->symtab);
    } else if (result == -EBADMSG) {
        file->trouble = ".gnu_debugdata is damaged";
    }
}

/* Read the debug information of `elf`. libdw would itself open the file to which dwz moved parts, by a name in this
 * file, and would hang if that is a pipe. So libdw is used only if that file is known already, or if none is needed. */
static void read_dwarf(struct sbx_symbol_file *file, const struct sbx_elf_bytes *opened)
{
    Elf *elf = opened->elf;
    uint64_t text_begin, text_end;
    if (has_bomb(file, opened)) {
        return;
    }
    if (sbx_elf_has_section(elf, ".gnu_debugaltlink") && file->alternate_dwarf == NULL) {
        file->trouble = "the debug information shares parts with a file that was not found (.gnu_debugaltlink)";
        return;
    }
    find_text(elf, &text_begin, &text_end);
    sbx_dwarf_sections_hide_unread(elf);
    Dwarf *dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
    if (dwarf != NULL) {
        dwarf_setalt(dwarf, file->alternate_dwarf);
        file->units = sbx_dwarf_units_create(dwarf, opened->map, opened->bytes, text_begin, text_end, file->places,
                                             &file->symtab, &file->dynsym);
    }
    if (file->units == NULL && file->trouble == NULL) {
        file->trouble = "the debug information is damaged";
    }
}

static void open_alternate(struct sbx_symbol_file *file, int fd)
{
    if (fd < 0) {
        return;
    }
    if (!sbx_elf_bytes_begin(fd, file->maps, &file->alternate)) {
        close(fd);
    } else if (!has_bomb(file, &file->alternate) && !sbx_elf_has_section(file->alternate.elf, ".gnu_debugaltlink")) {
        sbx_dwarf_sections_hide_unread(file->alternate.elf);
        file->alternate_dwarf = dwarf_begin_elf(file->alternate.elf, DWARF_C_READ, NULL);
    }
}

/* Open a Mach-O image as ELF. Its debug information is copied, so nothing is mapped. */
static bool begin_macho(struct sbx_symbol_file *file, const uint8_t *uuid, struct sbx_elf_bytes *opened,
                        uint64_t *base_out, enum sbx_image_kind *kind_out)
{
    struct sbx_macho_elf macho;
    int result = sbx_macho_elf_read(opened->fd, uuid, &macho);
    file->lacks_memory = file->lacks_memory || result == -ENOMEM;
    if (result != 0) {
        return false;
    }
    opened->elf = elf_memory((char *)macho.bytes, macho.count);
    if (opened->elf == NULL) {
        free(macho.bytes);
        return false;
    }
    opened->unpacked = (char *)macho.bytes;
    opened->unpacked_bytes = macho.count;
    *base_out = macho.base;
    *kind_out = macho.is_companion ? SBX_IMAGE_DSYM : SBX_IMAGE_MACHO;
    file->trouble = macho.is_cut ? "it has more than 3 GiB of debug information" : file->trouble;
    file->has_debug_map = file->has_debug_map || macho.has_debug_map;
    return true;
}

/* Open the file as ELF if it has that build-id; `opened->fd` is taken on success. */
static bool open_elf(struct sbx_symbol_file *file, const uint8_t *build_id, size_t bytes, struct sbx_elf_bytes *opened,
                     enum sbx_image_kind *kind_out)
{
    uint8_t found[SBX_BUILD_ID_BYTES_MAX];
    uint64_t base = 0;
    bool is_open = false;
    size_t found_bytes = sbx_build_id_read(opened->fd, found);
    *kind_out = SBX_IMAGE_ELF;
    if (found_bytes > 0) {
        is_open = found_bytes == bytes && memcmp(found, build_id, bytes) == 0 &&
                  sbx_elf_bytes_begin(opened->fd, file->maps, opened);
    } else if (bytes == SBX_MACHO_UUID_BYTES) {
        is_open = begin_macho(file, build_id, opened, &base, kind_out);
    }
    if (is_open && file->opened_count > 0 && base != file->base) {
        sbx_elf_bytes_forget(opened); /* the files have different addresses for the same code */
        return false;
    }
    file->base = is_open ? base : file->base;
    return is_open;
}

/* Use the symbols of a dSYM instead of those of its program, so that the answers are the same without the program.
 * Returns whether it has any. */
static bool prefer_symbols(struct sbx_symbol_file *file, Elf *elf)
{
    struct sbx_elf_symbols symbols;
    if (sbx_elf_symbols_read(elf, SHT_SYMTAB, &symbols) != 0 || symbols.count == 0) {
        return false;
    }
    sbx_elf_symbols_finish(&file->symtab);
    file->symtab = symbols;
    return true;
}

/* Take the useful parts of a file; `fd` is taken. */
static void open_one(struct sbx_symbol_file *file, int fd, const uint8_t *build_id, size_t bytes)
{
    struct sbx_elf_bytes opened = {.fd = fd};
    enum sbx_image_kind kind;
    if (!open_elf(file, build_id, bytes, &opened, &kind)) {
        close(fd);
        return;
    }
    Elf *elf = opened.elf;
    bool useful = file->opened_count == 0; /* the first file is always kept: it shows that the module was found */
    if (kind == SBX_IMAGE_DSYM && file->kind != SBX_IMAGE_DSYM) {
        useful = prefer_symbols(file, elf) || useful;
    }
    if (file->units == NULL && (sbx_elf_has_section(elf, ".debug_info") || sbx_elf_has_section(elf, ".zdebug_info"))) {
        read_dwarf(file, &opened);
        useful = useful || file->units != NULL;
    }
    if (file->symtab.count == 0) {
        (void)sbx_elf_symbols_read(elf, SHT_SYMTAB, &file->symtab); /* if memory runs out: as without symbols */
        useful = useful || file->symtab.count > 0;
    }
    if (file->symtab.count == 0 && file->mini_elf == NULL) {
        read_mini_debug_info(file, elf);
        useful = useful || file->symtab.count > 0;
    }
    if (file->dynsym.count == 0) {
        (void)sbx_elf_symbols_read(elf, SHT_DYNSYM, &file->dynsym);
        useful = useful || file->dynsym.count > 0;
    }
    if (useful) {
        file->kind = file->opened_count == 0 || kind == SBX_IMAGE_DSYM ? kind : file->kind;
        file->opened[file->opened_count++] = opened;
        return;
    }
    sbx_elf_bytes_end(&opened);
}

static struct sbx_symbol_file *open_all(bool maps, const int *descriptors, size_t count, int alternate,
                                        const uint8_t *build_id, size_t bytes)
{
    elf_version(EV_CURRENT);
    struct sbx_symbol_file *file = calloc(1, sizeof *file);
    if (file != NULL) {
        file->maps = maps;
        file->places = sbx_places_create();
        open_alternate(file, alternate);
    } else if (alternate >= 0) {
        close(alternate);
    }
    for (size_t i = 0; i < count; i++) {
        if (file == NULL || file->places == NULL || file->opened_count == SBX_ELF_PATHS_MAX) {
            close(descriptors[i]);
        } else {
            open_one(file, descriptors[i], build_id, bytes);
        }
    }
    if (file != NULL && file->opened_count == 0) {
        bool lacks_memory = file->lacks_memory;
        sbx_symbol_file_close(file);
        errno = lacks_memory ? ENOMEM : ENOENT;
        return NULL;
    }
    if (file != NULL && file->units == NULL && file->has_debug_map && file->trouble == NULL) {
        file->trouble = "its debug information is in object files: make a dSYM with dsymutil and add that";
    }
    return file;
}

struct sbx_symbol_file *sbx_symbol_file_open_descriptors(const int *descriptors, size_t count, int alternate,
                                                         const uint8_t *build_id, size_t bytes)
{
    return open_all(true, descriptors, count, alternate, build_id, bytes);
}

struct sbx_symbol_file *sbx_symbol_file_open(const struct sbx_elf_paths *paths, const uint8_t *build_id, size_t bytes)
{
    int descriptors[SBX_ELF_PATHS_MAX];
    size_t count = 0;
    int alternate = -1;
    for (size_t i = 0; i < paths->count && i < SBX_ELF_PATHS_MAX; i++) {
        int fd = open(paths->paths[i], O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        if (fd >= 0) {
            descriptors[count++] = fd;
            alternate = alternate < 0 ? sbx_debug_alternate_open(paths->paths[i], fd) : alternate;
        } else {
            sbx_shortage_note(errno);
        }
    }
    struct sbx_symbol_file *file = open_all(false, descriptors, count, alternate, build_id, bytes);
    if (file != NULL && file->units != NULL && sbx_dwarf_units_are_split(file->units)) {
        struct sbx_split_files parts = {.count = 0};
        for (size_t i = 0; i < paths->count; i++) {
            sbx_split_files_open_beside(&parts, paths->paths[i]);
        }
        sbx_symbol_file_use_parts(file, parts.descriptors, parts.count);
    }
    return file;
}

void sbx_symbol_file_use_parts(struct sbx_symbol_file *file, const int *descriptors, size_t count)
{
    file->parts = sbx_split_parts_create(descriptors, count, file->maps); /* if memory runs out: as without parts */
    if (file->parts != NULL && file->units != NULL) {
        sbx_dwarf_units_use_parts(file->units, file->parts);
    }
}

struct sbx_symbol_file *sbx_symbol_file_of_image(struct sbx_symbol_image *image)
{
    struct sbx_symbol_file *file = calloc(1, sizeof *file);
    if (file == NULL) {
        sbx_shortage_note(ENOMEM);
        sbx_symbol_image_close(image);
        return NULL;
    }
    file->image = image;
    return file;
}

void sbx_symbol_file_close(struct sbx_symbol_file *file)
{
    if (file == NULL) {
        return;
    }
    sbx_dwarf_units_destroy(file->units);
    sbx_split_parts_destroy(file->parts);
    sbx_elf_symbols_finish(&file->symtab);
    sbx_elf_symbols_finish(&file->dynsym);
    for (size_t i = 0; i < file->opened_count; i++) {
        sbx_elf_bytes_end(&file->opened[i]);
    }
    if (file->alternate_dwarf != NULL) {
        dwarf_end(file->alternate_dwarf);
    }
    if (file->alternate.elf != NULL) {
        sbx_elf_bytes_end(&file->alternate);
    }
    elf_end(file->mini_elf);
    free(file->mini_bytes);
    sbx_name_cache_destroy(file->names);
    sbx_answer_cache_destroy(file->answers);
    sbx_symbol_image_close(file->image);
    sbx_places_destroy(file->places);
    free(file);
}

bool sbx_symbol_file_has_dwarf(const struct sbx_symbol_file *file)
{
    return file->image != NULL ? sbx_symbol_image_facts(file->image)->best == SBX_SYMBOLS_DWARF : file->units != NULL;
}

enum sbx_image_kind sbx_symbol_file_kind(const struct sbx_symbol_file *file)
{
    return file->kind;
}

uint16_t sbx_symbol_file_machine(const struct sbx_symbol_file *file)
{
    GElf_Ehdr header;
    return file->opened_count > 0 && gelf_getehdr(file->opened[0].elf, &header) != NULL ? header.e_machine : EM_NONE;
}

uint64_t sbx_symbol_file_base(const struct sbx_symbol_file *file)
{
    if (file->image != NULL) {
        return sbx_symbol_image_facts(file->image)->base;
    }
    return file->base % SBX_MACHO_REACH == 0 && file->base >> 48 == 0 ? file->base : 0;
}

const char *sbx_symbol_file_trouble(const struct sbx_symbol_file *file)
{
    if (file->trouble == NULL && file->units != NULL && sbx_dwarf_units_missing_parts(file->units) > 0) {
        return "debug information was split off into .dwo files of which some were not found; pack them with dwp";
    }
    return file->trouble;
}

/* The symbol at the address, from .symtab first. */
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

/* The place from the symbol tables for an address, on the line of `line_place` (0: none). */
static uint32_t symbol_place(struct sbx_symbol_file *file, const struct sbx_elf_symbol *symbol,
                             enum sbx_symbol_source source, uint32_t line_place)
{
    struct sbx_place place = sbx_places_get(file->places, line_place);
    place.function = sbx_symbol_function(file->places, symbol, source);
    place.into = 0;
    return place.function == 0 ? 0 : sbx_places_add(file->places, place);
}

uint32_t sbx_symbol_file_place(struct sbx_symbol_file *file, uint64_t offset)
{
    if (offset > UINT64_MAX - file->base) {
        return 0;
    }
    uint64_t address = file->base + offset;
    uint32_t place = file->units == NULL ? 0 : sbx_dwarf_units_find(file->units, address);
    if (sbx_places_is_named(file->places, place)) {
        return place;
    }
    /* A line without a function has two possible reasons. It is hand-written assembly, which the symbols name. Or it is
     * padding after a function, and the line is that of the neighbour. */
    enum sbx_symbol_source source;
    const struct sbx_elf_symbol *symbol = find_symbol(file, address, &source);
    return symbol == NULL ? 0 : symbol_place(file, symbol, source, place);
}

const struct sbx_places *sbx_symbol_file_places(const struct sbx_symbol_file *file)
{
    return file->places;
}

/* A readable name; borrowed until the next call. */
static const char *readable(struct sbx_symbol_file *file, const struct sbx_code_frame *frame)
{
    bool is_mangled = !frame->is_readable && frame->name[0] == '_';
    if (is_mangled && file->names == NULL) {
        file->names = sbx_name_cache_create(NAMES_KEPT_BYTES);
    }
    return is_mangled && file->names != NULL ? sbx_name_cache_read(file->names, frame->name) : frame->name;
}

/* Copy the result, with readable names, into the cache of answers. NULL if it is full. */
static const struct sbx_answer *keep_answer(struct sbx_symbol_file *file, uint64_t address,
                                            const struct sbx_code_frame *found, size_t count)
{
    struct sbx_symbol_frame frames[SBX_INLINES_MAX];
    for (size_t i = 0; i < count; i++) {
        const char *path = found[i].file;
        frames[i] = (struct sbx_symbol_frame){sbx_answer_cache_keep(file->answers, readable(file, &found[i])),
                                              path == NULL ? NULL : sbx_answer_cache_keep(file->answers, path),
                                              found[i].line, found[i].inlined};
        if (frames[i].function == NULL || (path != NULL && frames[i].file == NULL)) {
            return NULL;
        }
    }
    uint8_t source = count == 0 ? (uint8_t)SBX_SYMBOLS_NONE : found[count - 1].source;
    return sbx_answer_cache_add(file->answers, address, &(struct sbx_answer){frames, (uint32_t)count, source});
}

/* If a chunk could not be loaded for lack of memory, the answer may be found later. */
static void note_shortage(struct sbx_symbol_image *image)
{
    if (sbx_symbol_image_lacked_memory(image)) {
        sbx_shortage_note(ENOMEM);
    }
}

/* Look up what is not in the cache, and keep the answer. NULL if memory runs out. */
static const struct sbx_answer *find_anew(struct sbx_symbol_file *file, uint64_t address)
{
    struct sbx_code_frame found[SBX_INLINES_MAX];
    size_t count = file->image != NULL
                       ? sbx_symbol_image_find(file->image, address, found, SBX_INLINES_MAX)
                       : sbx_places_chain(file->places, sbx_symbol_file_place(file, address), found, SBX_INLINES_MAX);
    if (file->image != NULL) {
        note_shortage(file->image);
    }
    if (file->answers == NULL) {
        file->answers = sbx_answer_cache_create(ANSWERS_KEPT_BYTES);
    }
    const struct sbx_answer *kept = file->answers == NULL ? NULL : keep_answer(file, address, found, count);
    if (kept == NULL && file->answers != NULL) {
        sbx_answer_cache_forget(file->answers);
        kept = keep_answer(file, address, found, count);
    }
    if (kept == NULL) {
        sbx_shortage_note(ENOMEM);
    }
    return kept;
}

/* The argument as an offset. For a Mach-O program it may be an address. */
static uint64_t offset_in(const struct sbx_symbol_file *file, uint64_t offset)
{
    uint64_t base = sbx_symbol_file_base(file);
    return offset - (base != 0 && offset >= base && offset - base < SBX_MACHO_REACH ? base : 0);
}

void sbx_symbol_file_prefetch(struct sbx_symbol_file *file, const uint64_t *offsets, size_t count)
{
    uint64_t *wanted = file->image == NULL || count == 0 ? NULL : malloc(count * sizeof *wanted);
    size_t wanted_count = 0;
    for (size_t i = 0; i < count && wanted != NULL; i++) {
        uint64_t offset = offset_in(file, offsets[i]);
        if (file->answers == NULL || sbx_answer_cache_find(file->answers, offset) == NULL) {
            wanted[wanted_count++] = offset;
        }
    }
    if (wanted_count > 0) {
        (void)sbx_symbol_image_prefetch(file->image, wanted, wanted_count); /* failures show in the answers */
        note_shortage(file->image);
    }
    free(wanted);
}

bool sbx_symbol_file_is_troubled(const struct sbx_symbol_file *file)
{
    return file->image != NULL && sbx_symbol_image_is_troubled(file->image);
}

size_t sbx_symbol_file_find(struct sbx_symbol_file *file, uint64_t offset, struct sbx_symbol_frame *frames_out,
                            size_t max, enum sbx_symbol_source *source_out)
{
    offset = offset_in(file, offset);
    const struct sbx_answer *answer = file->answers == NULL ? NULL : sbx_answer_cache_find(file->answers, offset);
    if (answer == NULL) {
        answer = find_anew(file, offset);
    }
    if (answer == NULL) {
        *source_out = SBX_SYMBOLS_NONE;
        return 0;
    }
    size_t count = answer->count < max ? answer->count : max;
    *source_out = (enum sbx_symbol_source)answer->source;
    for (size_t i = 0; i < count; i++) {
        frames_out[i] = answer->frames[i];
    }
    return count;
}

/* ---- all places at once ---- */

/* Add the code that symbols name in [begin, end), on the line of `line_place`. `edges` are the begins and ends of
 * symbols, sorted. */
static int add_symbols(struct sbx_symbol_file *file, struct sbx_spans *spans, const uint64_t *edges, size_t edge_count,
                       uint64_t begin, uint64_t end, uint32_t line_place)
{
    size_t low = 0, high = edge_count;
    while (low < high) { /* the first edge after `begin` */
        size_t middle = low + (high - low) / 2;
        if (edges[middle] <= begin) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    int result = 0;
    while (begin < end && result == 0) {
        uint64_t until = low < edge_count && edges[low] < end ? edges[low] : end;
        enum sbx_symbol_source source;
        const struct sbx_elf_symbol *symbol = find_symbol(file, begin, &source);
        if (symbol != NULL) {
            uint32_t place = symbol_place(file, symbol, source, line_place);
            result = place == 0 ? -ENOMEM : sbx_spans_add(spans, (struct sbx_span){begin, until, place});
        } else if (low == edge_count) {
            break;
        }
        begin = until;
        low++;
    }
    return result;
}

static int compare_addresses(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Begins and ends of all symbols, sorted, each once. NULL if memory runs out. */
static uint64_t *find_edges(const struct sbx_symbol_file *file, size_t *count_out)
{
    const struct sbx_elf_symbols *tables[] = {&file->symtab, &file->dynsym};
    uint64_t *edges = malloc((2 * (file->symtab.count + file->dynsym.count) + 1) * sizeof *edges);
    size_t count = 0, kept = 0;
    if (edges == NULL) {
        return NULL;
    }
    for (size_t t = 0; t < 2; t++) {
        for (size_t i = 0; i < tables[t]->count; i++) {
            edges[count++] = tables[t]->symbols[i].begin;
            edges[count++] = tables[t]->symbols[i].end;
        }
    }
    qsort(edges, count, sizeof *edges, compare_addresses);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || edges[i] != edges[i - 1]) {
            edges[kept++] = edges[i];
        }
    }
    *count_out = kept;
    return edges;
}

int sbx_symbol_file_read_all(struct sbx_symbol_file *file, struct sbx_spans *spans_out,
                             void (*progress)(void *context, size_t done, size_t total), void *context)
{
    struct sbx_spans units = {0};
    size_t edge_count = 0;
    *spans_out = (struct sbx_spans){0};
    uint64_t *edges = find_edges(file, &edge_count), at = 0;
    int result = edges == NULL ? -ENOMEM : 0;
    if (result == 0 && file->units != NULL) {
        result = sbx_dwarf_units_read_all(file->units, &units, progress, context);
    }
    for (size_t i = 0; i < units.count && result == 0; i++) {
        const struct sbx_span *span = &units.spans[i];
        result = add_symbols(file, spans_out, edges, edge_count, at, span->begin, 0);
        if (result == 0) {
            result = sbx_places_is_named(file->places, span->place)
                         ? sbx_spans_add(spans_out, *span)
                         : add_symbols(file, spans_out, edges, edge_count, span->begin, span->end, span->place);
        }
        at = span->end;
    }
    result = result == 0 ? add_symbols(file, spans_out, edges, edge_count, at, UINT64_MAX, 0) : result;
    result = result == 0 && sbx_places_failed(file->places) ? -ENOMEM : result;
    for (size_t i = 0; i < spans_out->count; i++) { /* addresses become offsets; no address is below the base */
        spans_out->spans[i].begin -= file->base;
        spans_out->spans[i].end -= file->base;
    }
    free(edges);
    sbx_spans_finish(&units);
    if (result != 0) {
        sbx_spans_finish(spans_out);
    }
    return result;
}
