/* SPDX-License-Identifier: Apache-2.0 */
/* macho_symbols.c - the names of code in the symbol table of a Mach-O image. */
#include "macho_symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "macho_format.h"

enum {
    SYMBOLS_MAX = 8 << 20,
    STARTS_MAX = 8 << 20,
    BLOCK_SYMBOLS = 4096
};

/* ---- the list of functions ---- */

struct starts {
    uint64_t *addresses; /* ascending */
    size_t count;
};

/* The addresses at which functions begin. The list has distances in LEB128: each from the function before, the first
 * one from the base. A distance of 0 ends the list. An address outside of the image also ends it. */
static int read_starts(int fd, const struct sbx_macho_image *image, struct starts *starts)
{
    *starts = (struct starts){NULL, 0};
    size_t bytes = image->starts_bytes > STARTS_MAX ? STARTS_MAX : (size_t)image->starts_bytes;
    if (bytes == 0) {
        return 0;
    }
    uint8_t *list = malloc(bytes);
    starts->addresses = malloc(bytes * sizeof *starts->addresses);
    int result = list == NULL || starts->addresses == NULL
                     ? -ENOMEM
                     : sbx_macho_bytes_read(fd, list, bytes, image->starts_offset);
    uint64_t reached = 0, distance = 0;
    unsigned shift = 0;
    for (size_t i = 0; i < bytes && result == 0; i++) {
        if (shift > 28) { /* a larger distance than an image can have */
            break;
        }
        distance |= (uint64_t)(list[i] & 0x7f) << shift;
        shift += 7;
        if ((list[i] & 0x80) != 0) {
            continue;
        }
        reached += distance;
        if (distance == 0 || reached >= SBX_MACHO_REACH || reached > UINT64_MAX - image->base) {
            break;
        }
        starts->addresses[starts->count++] = image->base + reached;
        distance = 0;
        shift = 0;
    }
    free(list);
    if (result != 0) {
        free(starts->addresses);
        *starts = (struct starts){NULL, 0};
    }
    return result;
}

/* ---- the symbol table ---- */

/* Is it a name that an assembler makes, such as "ltmp17"? */
static bool is_of_assembler(const char *name)
{
    return strncmp(name, "ltmp", 4) == 0 && name[4] != '\0' && strspn(name + 4, "0123456789") == strlen(name + 4);
}

/* Keep the symbol if it names code. */
static void take(const struct sbx_macho_image *image, const struct sbx_macho_nlist *entry,
                 struct sbx_macho_symbols *symbols)
{
    bool is_stab = (entry->type & SBX_MACHO_SYMBOL_STAB) != 0;
    symbols->has_debug_map = symbols->has_debug_map || entry->type == SBX_MACHO_SYMBOL_OBJECT;
    if (is_stab || (entry->type & SBX_MACHO_SYMBOL_TYPE) != SBX_MACHO_SYMBOL_SECTION || entry->section == 0 ||
        entry->section > image->section_count || entry->name >= symbols->string_bytes ||
        (entry->description & SBX_MACHO_SYMBOL_INNER) != 0) {
        return;
    }
    const struct sbx_macho_section *section = &image->sections[entry->section - 1];
    const char *name = symbols->strings + entry->name;
    if (!section->is_code || entry->value < section->address || entry->value - section->address >= section->bytes ||
        is_of_assembler(name)) {
        return;
    }
    name += name[0] == '_';
    if (name[0] != '\0') {
        symbols->symbols[symbols->count++] =
            (struct sbx_macho_symbol){.begin = entry->value,
                                      .end = entry->value,
                                      .name = name,
                                      .section = entry->section,
                                      .is_external = (entry->type & SBX_MACHO_SYMBOL_EXTERNAL) != 0};
    }
}

static int read_table(int fd, const struct sbx_macho_image *image, struct sbx_macho_symbols *symbols)
{
    size_t count = image->symbol_count > SYMBOLS_MAX ? SYMBOLS_MAX : (size_t)image->symbol_count;
    struct sbx_macho_nlist *block = malloc(BLOCK_SYMBOLS * sizeof *block);
    symbols->symbols = malloc((count + 1) * sizeof *symbols->symbols);
    symbols->strings = malloc(image->string_bytes + 1);
    if (block == NULL || symbols->symbols == NULL || symbols->strings == NULL) {
        free(block);
        return -ENOMEM;
    }
    symbols->string_bytes = image->string_bytes;
    symbols->strings[image->string_bytes] = '\0';
    int result = sbx_macho_bytes_read(fd, symbols->strings, image->string_bytes, image->strings_offset);
    for (size_t done = 0; done < count && result == 0;) {
        size_t taken = count - done > BLOCK_SYMBOLS ? BLOCK_SYMBOLS : count - done;
        result = sbx_macho_bytes_read(fd, block, taken * sizeof *block, image->symbols_offset + done * sizeof *block);
        for (size_t i = 0; i < taken && result == 0; i++) {
            take(image, &block[i], symbols);
        }
        done += taken;
    }
    free(block);
    return result;
}

static int by_begin(const void *a, const void *b)
{
    const struct sbx_macho_symbol *x = a, *y = b;
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* ---- where functions end ---- */

/* Whether there are functions without a symbol. */
static bool is_stripped(const struct sbx_macho_image *image, const struct sbx_macho_symbols *symbols,
                        const struct starts *starts)
{
    if (image->file_type == SBX_MACHO_DSYM || symbols->has_debug_map) {
        return false;
    }
    size_t named = 0, at = 0;
    for (size_t i = 0; i < symbols->count; i++) {
        if (!symbols->symbols[i].is_external) {
            return false; /* strip removes these first */
        }
        while (at < starts->count && starts->addresses[at] < symbols->symbols[i].begin) {
            at++;
        }
        if (at < starts->count && starts->addresses[at] == symbols->symbols[i].begin) {
            named++;
            at++;
        }
    }
    return starts->count == 0 || named < starts->count;
}

/* Set the end of each symbol to the end of its function. If functions are missing and no list tells where they begin,
 * the end is not known. */
static void stretch(const struct sbx_macho_image *image, struct sbx_macho_symbols *symbols, const struct starts *starts)
{
    if (symbols->is_stripped && starts->count == 0) {
        return;
    }
    uint64_t next = UINT64_MAX; /* begin of the nearest symbol after this one */
    size_t start = starts->count;
    for (size_t i = symbols->count; i > 0; i--) {
        struct sbx_macho_symbol *symbol = &symbols->symbols[i - 1];
        if (i < symbols->count && symbols->symbols[i].begin != symbol->begin) {
            next = symbols->symbols[i].begin;
        }
        while (start > 0 && starts->addresses[start - 1] > symbol->begin) {
            start--; /* the first function that begins after it */
        }
        const struct sbx_macho_section *section = &image->sections[symbol->section - 1];
        uint64_t end = section->address + section->bytes;
        end = next < end ? next : end;
        symbol->end = start < starts->count && starts->addresses[start] < end ? starts->addresses[start] : end;
    }
}

int sbx_macho_symbols_read(int fd, const struct sbx_macho_image *image, struct sbx_macho_symbols *symbols_out)
{
    struct starts starts;
    *symbols_out = (struct sbx_macho_symbols){.symbols = NULL};
    int result = read_starts(fd, image, &starts);
    result = result == 0 ? read_table(fd, image, symbols_out) : result;
    if (result == 0) {
        if (symbols_out->count > 1) {
            qsort(symbols_out->symbols, symbols_out->count, sizeof *symbols_out->symbols, by_begin);
        }
        symbols_out->is_stripped = is_stripped(image, symbols_out, &starts);
        stretch(image, symbols_out, &starts);
    } else {
        sbx_macho_symbols_finish(symbols_out);
    }
    free(starts.addresses);
    return result;
}

void sbx_macho_symbols_finish(struct sbx_macho_symbols *symbols)
{
    free(symbols->symbols);
    free(symbols->strings);
    *symbols = (struct sbx_macho_symbols){.symbols = NULL};
}
