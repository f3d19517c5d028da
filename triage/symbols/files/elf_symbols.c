/* SPDX-License-Identifier: Apache-2.0 */
/* elf_symbols.c - a symbol table, sorted by address.
 *
 * A stripped program has names for its exported functions only, so "the nearest symbol before" is mostly wrong there: in
 * a table of dynamic symbols one without a size covers nothing. In a full table such a symbol is hand-written assembly,
 * and reaches to the next symbol of its section. */
#include "elf_symbols.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    SYMBOLS_MAX = 8 << 20
};

/* Aliases: global before weak before local, then without leading underscores, then short. */
static uint32_t rank_of(const GElf_Sym *symbol, const char *name)
{
    uint32_t binding = GELF_ST_BIND(symbol->st_info);
    uint32_t scope = binding == STB_GLOBAL ? 0 : binding == STB_WEAK ? 1 : 2;
    uint32_t underscores = (uint32_t)strspn(name, "_");
    size_t length = strcspn(name, "@");
    return (underscores > 3 ? 3 : underscores) << 28 | scope << 24 | (uint32_t)(length > 0xffffff ? 0xffffff : length);
}

static int by_begin(const void *a, const void *b)
{
    const struct sbx_elf_symbol *x = a, *y = b;
    if (x->begin != y->begin) {
        return x->begin < y->begin ? -1 : 1;
    }
    if (x->rank != y->rank) {
        return x->rank < y->rank ? -1 : 1;
    }
    return strcmp(x->name, y->name);
}

/* What a symbol must have to name code: a function, or in a full table also one without a type that lies in code. */
static bool names_code(Elf *elf, const GElf_Sym *symbol, const char *name, uint32_t section_type)
{
    int type = GELF_ST_TYPE(symbol->st_info);
    if (symbol->st_shndx == SHN_UNDEF || name == NULL || name[0] == '\0' ||
        symbol->st_value > UINT64_MAX - symbol->st_size) {
        return false;
    }
    if (type == STT_FUNC || type == STT_GNU_IFUNC) {
        return symbol->st_size != 0 || (section_type == SHT_SYMTAB && symbol->st_shndx < SHN_LORESERVE);
    }
    GElf_Shdr section;
    return type == STT_NOTYPE && section_type == SHT_SYMTAB && name[0] != '$' && symbol->st_shndx < SHN_LORESERVE &&
           gelf_getshdr(elf_getscn(elf, symbol->st_shndx), &section) != NULL &&
           (section.sh_flags & SHF_EXECINSTR) != 0 && symbol->st_value < section.sh_addr + section.sh_size;
}

/* Symbols without a size, in a list sorted by begin, reach to the next one, and not beyond their section. Where one with
 * a size covers them they are labels within it, and cover nothing. */
static void stretch(Elf *elf, struct sbx_elf_symbol *symbols, const uint16_t *sections, size_t count)
{
    uint64_t covered = 0;
    for (size_t i = 0; i < count; i++) { /* `reach` is free to say what covers a symbol until it gets its meaning */
        for (size_t k = i; (i == 0 || symbols[i - 1].begin != symbols[i].begin) && k < count; k++) {
            if (symbols[k].begin != symbols[i].begin) {
                break;
            }
            covered = symbols[k].end > covered ? symbols[k].end : covered;
        }
        symbols[i].reach = covered;
    }
    uint64_t next = UINT64_MAX; /* where the nearest symbol behind begins */
    for (size_t i = count; i > 0; i--) {
        struct sbx_elf_symbol *symbol = &symbols[i - 1];
        if (i < count && symbols[i].begin != symbol->begin) {
            next = symbols[i].begin;
        }
        GElf_Shdr section;
        if (symbol->end == symbol->begin && symbol->reach <= symbol->begin &&
            gelf_getshdr(elf_getscn(elf, sections[symbol->order]), &section) != NULL) {
            uint64_t section_end = section.sh_addr + section.sh_size;
            uint64_t end = next < section_end ? next : section_end;
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
            return elf_getdata(section, NULL); /* NULL too when the content is elsewhere, as in a debug file */
        }
    }
    return NULL;
}

int sbx_elf_symbols_read(Elf *elf, uint32_t section_type, struct sbx_elf_symbols *symbols_out)
{
    GElf_Shdr header;
    *symbols_out = (struct sbx_elf_symbols){NULL, 0};
    const Elf_Data *table = find_table(elf, section_type, &header);
    if (table == NULL || table->d_buf == NULL) {
        return 0;
    }
    size_t count = table->d_size / header.sh_entsize;
    count = count > SYMBOLS_MAX ? SYMBOLS_MAX : count;
    struct sbx_elf_symbol *symbols = calloc(count == 0 ? 1 : count, sizeof *symbols);
    if (symbols == NULL) {
        return -ENOMEM;
    }
    uint16_t *sections = calloc(count == 0 ? 1 : count, sizeof *sections); /* by order */
    if (sections == NULL) {
        free(symbols);
        return -ENOMEM;
    }
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        GElf_Sym symbol;
        if (gelf_getsym((Elf_Data *)table, (int)i, &symbol) == NULL) {
            break;
        }
        const char *name = elf_strptr(elf, header.sh_link, symbol.st_name);
        if (!names_code(elf, &symbol, name, section_type)) {
            continue;
        }
        GElf_Shdr section;
        if (symbol.st_shndx < SHN_LORESERVE && gelf_getshdr(elf_getscn(elf, symbol.st_shndx), &section) != NULL &&
            symbol.st_value + symbol.st_size > section.sh_addr + section.sh_size &&
            symbol.st_value < section.sh_addr + section.sh_size) {
            symbol.st_size = section.sh_addr + section.sh_size - symbol.st_value; /* nothing reaches beyond */
        }
        sections[kept] = symbol.st_shndx;
        symbols[kept] = (struct sbx_elf_symbol){.begin = symbol.st_value,
                                                .end = symbol.st_value + symbol.st_size,
                                                .name = name,
                                                .rank = rank_of(&symbol, name),
                                                .order = (uint32_t)kept};
        kept++;
    }
    qsort(symbols, kept, sizeof *symbols, by_begin);
    stretch(elf, symbols, sections, kept);
    free(sections);
    if (kept == 0) { /* nothing to give back: whoever finds none may ask another file */
        free(symbols);
        return 0;
    }
    uint64_t reach = 0;
    for (size_t i = 0; i < kept; i++) {
        reach = symbols[i].end > reach ? symbols[i].end : reach;
        symbols[i].reach = reach;
    }
    *symbols_out = (struct sbx_elf_symbols){symbols, kept};
    return 0;
}

void sbx_elf_symbols_finish(struct sbx_elf_symbols *symbols)
{
    free(symbols->symbols);
    *symbols = (struct sbx_elf_symbols){NULL, 0};
}

const struct sbx_elf_symbol *sbx_elf_symbols_find(const struct sbx_elf_symbols *symbols, uint64_t address)
{
    size_t low = 0, high = symbols->count; /* the first symbol that begins behind the address is in [low, high] */
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
            break; /* what begins nearest is the innermost */
        }
        if (symbol->end > address) {
            best = symbol; /* of equals the one met last has the smallest rank */
        }
    }
    return best;
}
