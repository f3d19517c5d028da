/* SPDX-License-Identifier: Apache-2.0 */
/* elf_symbols.c - a symbol table, sorted by address.
 *
 * A stripped program has names for its exported functions only, so "the nearest symbol before" is mostly wrong. Symbols
 * without a size cover nothing here. */
#include "elf_symbols.h"

#include <errno.h>
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

/* The section of that type, and its symbols as libelf translates them. */
static Elf_Data *find_table(Elf *elf, uint32_t section_type, GElf_Shdr *header_out)
{
    for (Elf_Scn *section = elf_nextscn(elf, NULL); section != NULL; section = elf_nextscn(elf, section)) {
        if (gelf_getshdr(section, header_out) != NULL && header_out->sh_type == section_type &&
            header_out->sh_entsize != 0) {
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
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        GElf_Sym symbol;
        if (gelf_getsym((Elf_Data *)table, (int)i, &symbol) == NULL) {
            break;
        }
        int type = GELF_ST_TYPE(symbol.st_info);
        if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol.st_shndx == SHN_UNDEF || symbol.st_size == 0 ||
            symbol.st_value > UINT64_MAX - symbol.st_size) {
            continue;
        }
        const char *name = elf_strptr(elf, header.sh_link, symbol.st_name);
        if (name == NULL || name[0] == '\0') {
            continue;
        }
        symbols[kept++] = (struct sbx_elf_symbol){.begin = symbol.st_value,
                                                  .end = symbol.st_value + symbol.st_size,
                                                  .name = name,
                                                  .rank = rank_of(&symbol, name)};
    }
    qsort(symbols, kept, sizeof *symbols, by_begin);
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
