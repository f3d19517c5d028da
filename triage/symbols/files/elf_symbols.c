/* SPDX-License-Identifier: Apache-2.0 */
/* elf_symbols.c - a symbol table, sorted by address.
 *
 * A stripped program has names only for its exported functions, so "the nearest symbol before" is mostly wrong there.
 * Therefore a symbol without a size covers nothing in a table of dynamic symbols. In a full table such a symbol is
 * hand-written assembly, and covers the code up to the next symbol of its section. */
#include "elf_symbols.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    SYMBOLS_MAX = 8 << 20,
    DIGIT_BITS = 11, /* of the radix sort; its counters fit in the first-level cache */
    DIGITS = 1 << DIGIT_BITS
};

/* What is needed of a section for each of its symbols. */
struct section {
    uint64_t begin, end; /* equal: no such section */
    bool is_code;
};

struct reading {
    struct section *sections;
    size_t section_count;
    uint32_t section_type; /* of the table */
    struct sbx_elf_symbol *symbols;
    size_t kept;
};

static const struct section *section_at(const struct reading *reading, uint16_t index)
{
    static const struct section none;
    return index < reading->section_count ? &reading->sections[index] : &none;
}

static int read_sections(Elf *elf, struct reading *reading)
{
    size_t count = 0;
    (void)elf_getshdrnum(elf, &count);
    count = count < SHN_LORESERVE ? count : SHN_LORESERVE; /* no symbol can name a section beyond */
    reading->sections = calloc(count == 0 ? 1 : count, sizeof *reading->sections);
    if (reading->sections == NULL) {
        return -ENOMEM;
    }
    reading->section_count = count;
    for (size_t i = 0; i < count; i++) {
        GElf_Shdr header;
        if (gelf_getshdr(elf_getscn(elf, i), &header) != NULL) {
            reading->sections[i] = (struct section){header.sh_addr, header.sh_addr + header.sh_size,
                                                    (header.sh_flags & SHF_EXECINSTR) != 0};
        }
    }
    return 0;
}

/* Order of aliases: without leading underscores first, then global before weak before local, then the shorter. Only
 * symbols at one address are compared, so this runs for few symbols. */
static uint32_t rank_of(const struct sbx_elf_symbol *symbol)
{
    uint32_t scope = symbol->binding == STB_GLOBAL ? 0 : symbol->binding == STB_WEAK ? 1 : 2;
    uint32_t underscores = (uint32_t)strspn(symbol->name, "_");
    size_t length = strcspn(symbol->name, "@");
    return (underscores > 3 ? 3 : underscores) << 28 | scope << 24 | (uint32_t)(length > 0xffffff ? 0xffffff : length);
}

static int by_rank(const void *a, const void *b)
{
    uint32_t x = rank_of(a), y = rank_of(b);
    if (x != y) {
        return x < y ? -1 : 1;
    }
    return strcmp(((const struct sbx_elf_symbol *)a)->name, ((const struct sbx_elf_symbol *)b)->name);
}

/* Does this symbol name code? A function does; in a full table also a symbol without a type that lies in code. */
static bool names_code(const struct reading *reading, const GElf_Sym *symbol, const char *name)
{
    int type = GELF_ST_TYPE(symbol->st_info);
    bool is_full = reading->section_type == SHT_SYMTAB && symbol->st_shndx < SHN_LORESERVE;
    if (symbol->st_shndx == SHN_UNDEF || name == NULL || name[0] == '\0' ||
        symbol->st_value > UINT64_MAX - symbol->st_size) {
        return false;
    }
    if (type == STT_FUNC || type == STT_GNU_IFUNC) {
        return symbol->st_size != 0 || is_full;
    }
    const struct section *section = section_at(reading, symbol->st_shndx);
    return type == STT_NOTYPE && is_full && name[0] != '$' && section->is_code && symbol->st_value < section->end;
}

static void keep_symbol(struct reading *reading, const GElf_Sym *symbol, const char *name)
{
    const struct section *section = section_at(reading, symbol->st_shndx);
    uint64_t end = symbol->st_value + symbol->st_size;
    if (end > section->end && symbol->st_value < section->end) {
        end = section->end; /* no symbol reaches beyond its section */
    }
    reading->symbols[reading->kept++] = (struct sbx_elf_symbol){.begin = symbol->st_value,
                                                                .end = end,
                                                                .name = name,
                                                                .section = symbol->st_shndx,
                                                                .binding = GELF_ST_BIND(symbol->st_info)};
}

struct key {
    uint64_t begin; /* relative to the smallest begin */
    uint32_t index;
};

/* One pass of a radix sort, from `from` to `to`. Returns whether the pass was needed. */
static bool sort_digit(const struct key *from, struct key *to, size_t count, unsigned shift)
{
    size_t starts[DIGITS] = {0}, start = 0;
    for (size_t i = 0; i < count; i++) {
        starts[from[i].begin >> shift & (DIGITS - 1)]++;
    }
    if (count > 0 && starts[from[0].begin >> shift & (DIGITS - 1)] == count) {
        return false;
    }
    for (size_t i = 0; i < DIGITS; i++) {
        size_t here = starts[i];
        starts[i] = start;
        start += here;
    }
    for (size_t i = 0; i < count; i++) {
        to[starts[from[i].begin >> shift & (DIGITS - 1)]++] = from[i];
    }
    return true;
}

/* Sort `keys` by begin; `spare` has the same size. Returns the one of the two that has the result. */
static struct key *sort_keys(struct key *keys, struct key *spare, size_t count, uint64_t span)
{
    for (unsigned shift = 0; shift < 64 && span >> shift != 0; shift += DIGIT_BITS) {
        if (sort_digit(keys, spare, count, shift)) {
            struct key *sorted = spare;
            spare = keys;
            keys = sorted;
        }
    }
    return keys;
}

/* Sort the symbols by begin, then by rank. A qsort() of a hundred thousand symbols took a quarter of the time of
 * `stallbox look` for node, most of it for comparing names that need no order. */
static int sort_symbols(struct reading *reading)
{
    size_t count = reading->kept;
    uint64_t least = UINT64_MAX, most = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t begin = reading->symbols[i].begin;
        least = begin < least ? begin : least;
        most = begin > most ? begin : most;
    }
    struct key *keys = calloc(2 * count, sizeof *keys);
    struct sbx_elf_symbol *sorted = calloc(count, sizeof *sorted);
    if (keys == NULL || sorted == NULL) {
        free(keys);
        free(sorted);
        return -ENOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        keys[i] = (struct key){reading->symbols[i].begin - least, (uint32_t)i};
    }
    const struct key *order = sort_keys(keys, keys + count, count, most - least);
    size_t equal = 0; /* start of the symbols with the same begin */
    for (size_t i = 0; i < count; i++) {
        sorted[i] = reading->symbols[order[i].index];
        if (i + 1 == count || order[i + 1].begin != order[i].begin) {
            if (i > equal) {
                qsort(sorted + equal, i + 1 - equal, sizeof *sorted, by_rank);
            }
            equal = i + 1;
        }
    }
    free(keys);
    free(reading->symbols);
    reading->symbols = sorted;
    return 0;
}

/* In a list sorted by begin, a symbol without a size covers the code up to the next symbol, at most to the end of its
 * section. If a symbol with a size covers it, it is a label and covers nothing. */
static void stretch(const struct reading *reading)
{
    struct sbx_elf_symbol *symbols = reading->symbols;
    size_t count = reading->kept;
    uint64_t covered = 0;
    for (size_t i = 0; i < count; i++) { /* `reach` is for now the end of all symbols so far */
        for (size_t k = i; (i == 0 || symbols[i - 1].begin != symbols[i].begin) && k < count; k++) {
            if (symbols[k].begin != symbols[i].begin) {
                break;
            }
            covered = symbols[k].end > covered ? symbols[k].end : covered;
        }
        symbols[i].reach = covered;
    }
    uint64_t next = UINT64_MAX; /* begin of the nearest symbol after this one */
    for (size_t i = count; i > 0; i--) {
        struct sbx_elf_symbol *symbol = &symbols[i - 1];
        const struct section *section = section_at(reading, symbol->section);
        if (i < count && symbols[i].begin != symbol->begin) {
            next = symbols[i].begin;
        }
        if (symbol->end == symbol->begin && symbol->reach <= symbol->begin) {
            uint64_t end = next < section->end ? next : section->end;
            symbol->end = end > symbol->begin ? end : symbol->begin;
        }
    }
}

/* The section of that type, and its symbols as libelf translates them. */
static Elf_Data *find_table(Elf *elf, uint32_t section_type, GElf_Shdr *header_out)
{
    for (Elf_Scn *section = elf_nextscn(elf, NULL); section != NULL; section = elf_nextscn(elf, section)) {
        if (gelf_getshdr(section, header_out) != NULL && header_out->sh_type == section_type &&
            header_out->sh_entsize != 0) {
            if (header_out->sh_size / header_out->sh_entsize > SYMBOLS_MAX && header_out->sh_offset <= INT64_MAX) {
                size_t bytes = SYMBOLS_MAX * gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT);
                return elf_getdata_rawchunk(elf, (int64_t)header_out->sh_offset, bytes, ELF_T_SYM);
            }
            return elf_getdata(section, NULL); /* also NULL if the content is in another file, as in a debug file */
        }
    }
    return NULL;
}

static void read_symbols(struct reading *reading, Elf *elf, const GElf_Shdr *header, const Elf_Data *table,
                         size_t count)
{
    for (size_t i = 0; i < count; i++) {
        GElf_Sym symbol;
        if (gelf_getsym((Elf_Data *)table, (int)i, &symbol) == NULL) {
            break;
        }
        if (symbol.st_shndx == SHN_UNDEF) { /* most of a dynamic table may be symbols of other modules */
            continue;
        }
        const char *name = elf_strptr(elf, header->sh_link, symbol.st_name);
        if (names_code(reading, &symbol, name)) {
            keep_symbol(reading, &symbol, name);
        }
    }
}

int sbx_elf_symbols_read(Elf *elf, uint32_t section_type, struct sbx_elf_symbols *symbols_out)
{
    GElf_Shdr header;
    struct reading reading = {.section_type = section_type};
    *symbols_out = (struct sbx_elf_symbols){NULL, 0};
    const Elf_Data *table = find_table(elf, section_type, &header);
    if (table == NULL || table->d_buf == NULL) {
        return 0;
    }
    size_t count = table->d_size / header.sh_entsize;
    count = count > SYMBOLS_MAX ? SYMBOLS_MAX : count;
    reading.symbols = calloc(count == 0 ? 1 : count, sizeof *reading.symbols);
    int result = reading.symbols == NULL ? -ENOMEM : read_sections(elf, &reading);
    if (result == 0) {
        read_symbols(&reading, elf, &header, table, count);
        result = reading.kept > 0 ? sort_symbols(&reading) : 0;
    }
    if (result != 0 || reading.kept == 0) { /* no symbols: free all. The caller may try another file */
        free(reading.symbols);
        free(reading.sections);
        return result;
    }
    stretch(&reading);
    free(reading.sections);
    uint64_t reach = 0;
    for (size_t i = 0; i < reading.kept; i++) {
        reach = reading.symbols[i].end > reach ? reading.symbols[i].end : reach;
        reading.symbols[i].reach = reach;
    }
    *symbols_out = (struct sbx_elf_symbols){reading.symbols, reading.kept};
    return 0;
}

void sbx_elf_symbols_finish(struct sbx_elf_symbols *symbols)
{
    free(symbols->symbols);
    *symbols = (struct sbx_elf_symbols){NULL, 0};
}

const struct sbx_elf_symbol *sbx_elf_symbols_find(const struct sbx_elf_symbols *symbols, uint64_t address)
{
    size_t low = 0, high = symbols->count; /* the first symbol that begins after the address is in [low, high] */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (symbols->symbols[middle].begin <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    const struct sbx_elf_symbol *best = NULL;
    while (low > 0 && symbols->symbols[low - 1].reach > address) {
        const struct sbx_elf_symbol *symbol = &symbols->symbols[--low];
        if (best != NULL && symbol->begin != best->begin) {
            break; /* the nearest begin is the innermost function */
        }
        if (symbol->end > address) {
            best = symbol; /* of symbols at one begin, the last one visited has the best rank */
        }
    }
    return best;
}
