/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf_names.c - the name of a function in the debug information. */
#include "dwarf_names.h"

#include <dwarf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "demangle.h"
#include "dwarf_scopes.h"
#include "dwarf_text.h"

enum {
    STEPS_MAX = 16, /* steps from a DIE to its origin */
    SCOPES_MAX = 32,
    LANG_C17 = 0x2c, /* newer than the dwarf.h of 2022 */
    LANG_C23 = 0x3e
};

/* The function of a DIE from which calls were inlined. Kept so that the name is made only once. */
struct known {
    const void *address; /* address of the DIE's bytes; NULL: free slot */
    uint32_t function;
};

struct sbx_dwarf_names {
    struct sbx_places *places;
    const struct sbx_elf_symbols *symtab, *dynsym;
    struct sbx_dwarf_scopes *scopes;
    struct known *known;
    size_t known_count, known_room; /* size of the table, a power of two */
};

struct sbx_dwarf_names *sbx_dwarf_names_create(struct sbx_places *places, const struct sbx_elf_symbols *symtab,
                                               const struct sbx_elf_symbols *dynsym, struct sbx_dwarf_budget *budget)
{
    struct sbx_dwarf_names *names = calloc(1, sizeof *names);
    if (names == NULL) {
        return NULL;
    }
    names->places = places;
    names->symtab = symtab;
    names->dynsym = dynsym;
    names->scopes = sbx_dwarf_scopes_create(budget);
    names->known_room = 1024;
    names->known = calloc(names->known_room, sizeof *names->known);
    if (names->scopes == NULL || names->known == NULL) {
        sbx_dwarf_names_destroy(names);
        return NULL;
    }
    return names;
}

void sbx_dwarf_names_destroy(struct sbx_dwarf_names *names)
{
    if (names != NULL) {
        sbx_dwarf_scopes_destroy(names->scopes);
        free(names->known);
        free(names);
    }
}

void sbx_dwarf_names_forget_units(struct sbx_dwarf_names *names)
{
    sbx_dwarf_scopes_forget(names->scopes);
    memset(names->known, 0, names->known_room * sizeof *names->known);
    names->known_count = 0;
}

/* ---- scopes ---- */

static const char *linkage_name_of(Dwarf_Die *die)
{
    const char *name = sbx_dwarf_text(die, DW_AT_linkage_name);
    return name != NULL ? name : sbx_dwarf_text(die, DW_AT_MIPS_linkage_name);
}

/* The origin of `die` (what it was made from), in *origin_out. */
static bool origin_of(Dwarf_Die *die, Dwarf_Die *origin_out)
{
    Dwarf_Attribute attribute;
    return (dwarf_attr(die, DW_AT_abstract_origin, &attribute) != NULL ||
            dwarf_attr(die, DW_AT_specification, &attribute) != NULL) &&
           dwarf_formref_die(&attribute, origin_out) != NULL;
}

/* The DIE that was written in the scope: the end of the abstract_origin and specification references. */
static Dwarf_Die declaration_of(const Dwarf_Die *die)
{
    Dwarf_Die at = *die, origin;
    for (int steps = 0; steps < STEPS_MAX && origin_of(&at, &origin); steps++) {
        at = origin;
    }
    return at;
}

/* Write "outer::inner::" of the scopes in which `die`, named `name`, was written. Returns the length, at most
 * `out_bytes` - 1. */
static size_t write_scopes(struct sbx_dwarf_names *names, const Dwarf_Die *die, const char *name, char *out,
                           size_t out_bytes)
{
    Dwarf_Die scopes[SCOPES_MAX], at = declaration_of(die);
    int count = 0;
    while (count < SCOPES_MAX && sbx_dwarf_scopes_parent(names->scopes, &at, &scopes[count])) {
        at = scopes[count++];
    }
    size_t used = 0;
    bool is_closure = name != NULL && strcmp(name, "operator()") == 0;
    out[0] = '\0';
    for (int i = count - 1; i >= 0; i--) {
        int tag = dwarf_tag(&scopes[i]);
        const char *scope = sbx_dwarf_text(&scopes[i], DW_AT_name);
        bool is_type = tag == DW_TAG_class_type || tag == DW_TAG_structure_type || tag == DW_TAG_union_type;
        if (tag == DW_TAG_namespace && scope == NULL) {
            scope = "(anonymous namespace)";
        }
        if (is_type && is_closure && (scope == NULL || scope[0] == '<')) {
            scope = "{lambda}"; /* GCC gives it no name, or "<lambda(int)>" */
        }
        char encloser[512];
        if (tag == DW_TAG_subprogram && is_closure) { /* a closure in a function: its own name has the scopes */
            const char *linkage_name = linkage_name_of(&scopes[i]);
            const char *outer = scope != NULL ? scope : "";
            used = 0;
            if (linkage_name != NULL) {
                sbx_demangle(linkage_name, encloser, sizeof encloser);
            } else { /* only one level of lambdas: damaged files may have a circle */
                bool is_lambda = strcmp(outer, name) == 0;
                size_t outside = is_lambda ? 0 : write_scopes(names, &scopes[i], outer, encloser, sizeof encloser);
                sbx_demangle(is_lambda ? "{lambda}" : outer, encloser + outside, sizeof encloser - outside);
            }
            scope = encloser;
        } else if (scope == NULL || (tag != DW_TAG_namespace && tag != DW_TAG_module && !is_type)) {
            continue;
        }
        size_t bytes = strlen(scope);
        if (bytes + 3 > out_bytes - used) {
            break;
        }
        memcpy(out + used, scope, bytes);
        memcpy(out + used + bytes, "::", 3);
        used += bytes + 2;
    }
    return used;
}

/* ---- names ---- */

static int language_of(Dwarf_Die *die)
{
    Dwarf_Die unit_die;
    return dwarf_diecu(die, &unit_die, NULL, NULL) == NULL ? -1 : dwarf_srclang(&unit_die);
}

/* Whether the function's language has names without decoration. A partial unit that others share may not tell its
 * language. */
static bool is_c(Dwarf_Die *die, Dwarf_Die *declaration)
{
    int language = language_of(declaration);
    switch (language > 0 ? language : language_of(die)) {
    case DW_LANG_C:
    case DW_LANG_C89:
    case DW_LANG_C99:
    case DW_LANG_C11:
    case LANG_C17:
    case LANG_C23:
    case DW_LANG_Mips_Assembler:
        return true;
    default:
        return false;
    }
}

/* Whether `alias` is `name` without decoration: "nanosleep" for "__GI___nanosleep". */
static bool is_plain_alias(const char *alias, const char *name)
{
    size_t alias_bytes = strcspn(alias, "@"), name_bytes = strlen(name);
    return alias[0] != '_' && alias_bytes < name_bytes &&
           strncmp(name + name_bytes - alias_bytes, alias, alias_bytes) == 0 &&
           name[name_bytes - alias_bytes - 1] == '_';
}

static uint32_t add_function(struct sbx_places *places, const char *name, enum sbx_symbol_source source,
                             bool is_readable)
{
    uint32_t text = sbx_places_add_text(places, name);
    return text == 0 ? 0 : sbx_places_add_function(places, (struct sbx_function){text, (uint8_t)source, is_readable});
}

uint32_t sbx_symbol_function(struct sbx_places *places, const struct sbx_elf_symbol *symbol,
                             enum sbx_symbol_source source)
{
    char plain[SBX_SYMBOL_NAME_BYTES_MAX];
    size_t bytes = strcspn(symbol->name, "@");
    if (bytes == 0 || bytes >= sizeof plain) {
        return add_function(places, symbol->name, source, false);
    }
    memcpy(plain, symbol->name, bytes);
    plain[bytes] = '\0';
    return add_function(places, plain, source, false);
}

/* DWARF 2 has no lists of ranges. So gcc describes a part of a function that it moved elsewhere as a function of its
 * own (-gdwarf-2 -gstrict-dwarf). Returns the name without the prefix; NULL: it is no such part. */
static const char *name_of_second_part(const char *name)
{
    static const char prefix[] = "__second_sect_of_";
    return name != NULL && strncmp(name, prefix, sizeof prefix - 1) == 0 ? name + sizeof prefix - 1 : NULL;
}

/* The symbol's name without what the compiler appended: the linkage name of the whole function. */
static uint32_t name_second_part(struct sbx_places *places, const struct sbx_elf_symbol *symbol)
{
    struct sbx_elf_symbol whole = *symbol;
    char name[SBX_SYMBOL_NAME_BYTES_MAX];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(symbol->name, ".@"), symbol->name);
    whole.name = name;
    return sbx_symbol_function(places, &whole, SBX_SYMBOLS_DWARF);
}

/* `symbol`: the function's symbol. NULL for inlined code, and if the symbol tables have none. */
static uint32_t name_function(struct sbx_dwarf_names *names, Dwarf_Die *die, const struct sbx_elf_symbol *symbol)
{
    struct sbx_places *places = names->places;
    Dwarf_Die declaration = declaration_of(die);
    const char *linkage_name = linkage_name_of(die), *name = sbx_dwarf_text(die, DW_AT_name);
    const char *part = name_of_second_part(name);
    name = part != NULL ? part : name;
    if (name != NULL && is_c(die, &declaration)) {
        bool has_alias = symbol != NULL && is_plain_alias(symbol->name, name);
        return has_alias ? sbx_symbol_function(places, symbol, SBX_SYMBOLS_DWARF)
                         : add_function(places, name, SBX_SYMBOLS_DWARF, false);
    }
    if (linkage_name != NULL) {
        return add_function(places, linkage_name, SBX_SYMBOLS_DWARF, false);
    }
    if (symbol != NULL) {
        return part != NULL ? name_second_part(places, symbol) : sbx_symbol_function(places, symbol, SBX_SYMBOLS_DWARF);
    }
    if (name == NULL) {
        return 0;
    }
    char text[SBX_SYMBOL_NAME_BYTES_MAX];
    size_t used = write_scopes(names, die, name, text, sizeof text);
    if (used == 0) {
        return add_function(places, name, SBX_SYMBOLS_DWARF, false);
    }
    sbx_demangle(name, text + used, sizeof text - used);
    return add_function(places, text, SBX_SYMBOLS_DWARF, true);
}

uint32_t sbx_dwarf_function(struct sbx_dwarf_names *names, Dwarf_Die *die, uint64_t entry)
{
    const struct sbx_elf_symbol *symbol = sbx_elf_symbols_find(names->symtab, entry);
    if (symbol == NULL) {
        symbol = sbx_elf_symbols_find(names->dynsym, entry);
    }
    return name_function(names, die, symbol);
}

/* ---- inlined functions: each name is made once ---- */

static struct known *find_known(struct known *known, size_t room, const void *address)
{
    uint64_t hash = (uint64_t)(uintptr_t)address * UINT64_C(0x9e3779b97f4a7c15);
    size_t at = (size_t)(hash >> 20) & (room - 1);
    while (known[at].address != NULL && known[at].address != address) {
        at = (at + 1) & (room - 1);
    }
    return &known[at];
}

static void remember(struct sbx_dwarf_names *names, const void *address, uint32_t function)
{
    if (2 * (names->known_count + 1) > names->known_room) {
        struct known *grown = calloc(names->known_room * 2, sizeof *grown);
        if (grown == NULL) {
            return; /* the name will be made again */
        }
        for (size_t i = 0; i < names->known_room; i++) {
            if (names->known[i].address != NULL) {
                *find_known(grown, names->known_room * 2, names->known[i].address) = names->known[i];
            }
        }
        free(names->known);
        names->known = grown;
        names->known_room *= 2;
    }
    *find_known(names->known, names->known_room, address) = (struct known){address, function};
    names->known_count++;
}

uint32_t sbx_dwarf_inlined_function(struct sbx_dwarf_names *names, Dwarf_Die *die)
{
    Dwarf_Die origin;
    if (!origin_of(die, &origin)) {
        return name_function(names, die, NULL);
    }
    const struct known *known = find_known(names->known, names->known_room, origin.addr);
    if (known->address != NULL) {
        return known->function;
    }
    uint32_t function = name_function(names, die, NULL);
    remember(names, origin.addr, function);
    return function;
}
