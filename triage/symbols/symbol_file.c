/* SPDX-License-Identifier: Apache-2.0 */
/* symbol_file.c - one module's names, from all files that have its build-id.
 *
 * A distribution splits a program into a stripped file with dynamic symbols and a debug file with the rest; so the best
 * of each kind is taken from whichever file has it: DWARF before .symtab before .dynsym. libelf reads instead of
 * mapping: a file that shrinks under a mapping would kill the server. */
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
#include "dwarf_names.h"
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
    struct sbx_places *places;
};

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

/* Where executable code begins and ends: debug information of discarded functions points outside. */
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
        uint64_t text_begin, text_end;
        find_text(elf, &text_begin, &text_end);
        file->units = file->dwarf == NULL ? NULL
                                          : sbx_dwarf_units_create(file->dwarf, text_begin, text_end, file->places,
                                                                   &file->symtab, &file->dynsym);
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
    if (file != NULL) {
        file->places = sbx_places_create();
    }
    if (file == NULL || file->places == NULL) {
        free(file);
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
    sbx_places_destroy(file->places);
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

/* The place that the symbol tables have for an address, on the line of `line_place` (0: none). */
static uint32_t symbol_place(struct sbx_symbol_file *file, const struct sbx_elf_symbol *symbol,
                             enum sbx_symbol_source source, uint32_t line_place)
{
    struct sbx_place place = sbx_places_get(file->places, line_place);
    place.function = sbx_symbol_function(file->places, symbol, source);
    place.into = 0;
    return place.function == 0 ? 0 : sbx_places_add(file->places, place);
}

uint32_t sbx_symbol_file_place(struct sbx_symbol_file *file, uint64_t address)
{
    uint32_t place = file->units == NULL ? 0 : sbx_dwarf_units_find(file->units, address);
    if (sbx_places_is_named(file->places, place)) {
        return place;
    }
    /* A line without any function is hand-written assembly, which the symbols name, or padding behind a function: then
     * it tells of the neighbour. */
    enum sbx_symbol_source source;
    const struct sbx_elf_symbol *symbol = find_symbol(file, address, &source);
    return symbol == NULL ? 0 : symbol_place(file, symbol, source, place);
}

const struct sbx_places *sbx_symbol_file_places(const struct sbx_symbol_file *file)
{
    return file->places;
}

/* A name as people read it. */
static void write_name(const struct sbx_code_frame *frame, char *out, size_t out_bytes)
{
    if (frame->is_readable) {
        snprintf(out, out_bytes, "%s", frame->name);
    } else {
        sbx_demangle(frame->name, out, out_bytes);
    }
}

size_t sbx_symbol_file_find(struct sbx_symbol_file *file, uint64_t address, struct sbx_symbol_frame *frames_out,
                            size_t max, enum sbx_symbol_source *source_out)
{
    struct sbx_code_frame found[SBX_INLINES_MAX];
    uint32_t place = sbx_symbol_file_place(file, address);
    size_t count = sbx_places_chain(file->places, place, found, max < SBX_INLINES_MAX ? max : SBX_INLINES_MAX);
    *source_out = count == 0 ? SBX_SYMBOLS_NONE : (enum sbx_symbol_source)found[count - 1].source;
    for (size_t i = 0; i < count; i++) {
        frames_out[i].file = found[i].file;
        frames_out[i].line = found[i].line;
        frames_out[i].inlined = found[i].inlined;
        write_name(&found[i], frames_out[i].function, sizeof frames_out[i].function);
    }
    return count;
}

/* ---- everything at once ---- */

/* Add the code that symbols name in [begin, end), which is of the line of `line_place`. `edges` are the begins and ends
 * of symbols, sorted. */
static int add_symbols(struct sbx_symbol_file *file, struct sbx_spans *spans, const uint64_t *edges, size_t edge_count,
                       uint64_t begin, uint64_t end, uint32_t line_place)
{
    size_t low = 0, high = edge_count;
    while (low < high) { /* the first edge behind `begin` */
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

/* Begins and ends of all symbols, sorted, each once. NULL without memory. */
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
    free(edges);
    sbx_spans_finish(&units);
    if (result != 0) {
        sbx_spans_finish(spans_out);
    }
    return result;
}
