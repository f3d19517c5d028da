/* SPDX-License-Identifier: Apache-2.0 */
/* address_classes.c - random addresses of a program's code, of a given class. */
#include "address_classes.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const address_class_names[ADDRESS_CLASSES] = {
    [ADDRESS_ANYWHERE] = "anywhere",       [ADDRESS_ENTRY] = "first bytes",      [ADDRESS_LAST_BYTE] = "last bytes",
    [ADDRESS_RETURN] = "return addresses", [ADDRESS_BEFORE_IT] = "within calls", [ADDRESS_COLD] = "cold parts",
    [ADDRESS_INLINED] = "inlined calls",   [ADDRESS_PADDING] = "padding",
};

static uint64_t next_random(uint64_t *random)
{
    *random = *random * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return *random >> 16;
}

static bool is_code(const struct address_source *source, uint64_t address)
{
    for (size_t i = 0; i < source->section_count; i++) {
        const struct text_section *section = &source->sections[i];
        if (address >= section->begin && address - section->begin < section->bytes) {
            return true;
        }
    }
    return false;
}

void address_source_read_returns(struct address_source *source, const char *path)
{
    char *command = NULL, *line = NULL;
    size_t line_bytes = 0, room = 0;
    bool is_behind_call = false;
    FILE *listing =
        asprintf(&command, "objdump -d --no-show-raw-insn '%s' 2>/dev/null", path) < 0 ? NULL : popen(command, "r");
    while (listing != NULL && getline(&line, &line_bytes, listing) > 0) {
        char *end;
        uint64_t address = strtoull(line, &end, 16);
        if (line[0] != ' ' || *end != ':') { /* in another function: behind a function's last call is padding */
            is_behind_call = false;
            continue;
        }
        if (is_behind_call && is_code(source, address)) {
            if (source->return_count == room) {
                room = room == 0 ? 4096 : 2 * room;
                source->returns = realloc(source->returns, room * sizeof *source->returns);
            }
            source->returns[source->return_count++] = address;
        }
        end += strspn(end, ":\t ");
        is_behind_call = strncmp(end, "call", 4) == 0 || strncmp(end, "bl\t", 3) == 0 || strncmp(end, "blr", 3) == 0;
    }
    if (listing != NULL) {
        pclose(listing);
    }
    free(command);
    free(line);
}

static uint64_t draw_anywhere(const struct address_source *source, uint64_t *random)
{
    uint64_t code_bytes = 0;
    size_t s = 0;
    for (size_t i = 0; i < source->section_count; i++) {
        code_bytes += source->sections[i].bytes;
    }
    uint64_t at = next_random(random) % code_bytes;
    while (at >= source->sections[s].bytes) {
        at -= source->sections[s++].bytes;
    }
    return source->sections[s].begin + at;
}

static const struct sbx_elf_symbol *draw_symbol(const struct address_source *source, uint64_t *random)
{
    size_t total = 0;
    for (size_t t = 0; t < source->table_count; t++) {
        total += source->tables[t].count;
    }
    size_t at = total == 0 ? 0 : next_random(random) % total;
    for (size_t t = 0; total != 0 && t < source->table_count; t++) {
        if (at < source->tables[t].count) {
            return &source->tables[t].symbols[at];
        }
        at -= source->tables[t].count;
    }
    return NULL;
}

static bool is_covered(const struct address_source *source, uint64_t address)
{
    for (size_t t = 0; t < source->table_count; t++) {
        if (sbx_elf_symbols_find(&source->tables[t], address) != NULL) {
            return true;
        }
    }
    return false;
}

/* Draw one address; 0: this try found none. */
static uint64_t draw(const struct address_source *source, enum address_class class, uint64_t *random)
{
    if (class == ADDRESS_ANYWHERE) {
        return draw_anywhere(source, random);
    }
    if (class == ADDRESS_RETURN || class == ADDRESS_BEFORE_IT) {
        return source->return_count == 0
                   ? 0
                   : source->returns[next_random(random) % source->return_count] - (class == ADDRESS_BEFORE_IT);
    }
    if (class == ADDRESS_INLINED) {
        return source->inlined_count == 0 ? 0 : source->inlined[next_random(random) % source->inlined_count];
    }
    const struct sbx_elf_symbol *symbol = draw_symbol(source, random);
    if (symbol == NULL || symbol->end <= symbol->begin) {
        return 0;
    }
    switch (class) {
    case ADDRESS_ENTRY:
        return symbol->begin;
    case ADDRESS_LAST_BYTE:
        return symbol->end - 1;
    case ADDRESS_COLD:
        return strstr(symbol->name, ".cold") == NULL
                   ? 0
                   : symbol->begin + next_random(random) % (symbol->end - symbol->begin);
    default:
        return is_covered(source, symbol->end) ? 0 : symbol->end + next_random(random) % 8;
    }
}

size_t address_source_draw(const struct address_source *source, enum address_class class, uint64_t *random,
                           size_t count, uint64_t *addresses_out)
{
    size_t found = 0;
    for (size_t tries = 0; found < count && tries < 200 * count; tries++) {
        uint64_t address = draw(source, class, random);
        if (address != 0 && is_code(source, address) && (class != ADDRESS_PADDING || !is_covered(source, address))) {
            addresses_out[found++] = address;
        }
    }
    return found;
}
