/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf_text.c - strings of debug information that are known to end.
 *
 * The strings of the string sections end if those sections do, which is checked once per file. Strings in .debug_info
 * itself are checked one by one, because the last byte of that section need not be the end of a string. */
#include "dwarf_text.h"

#include <dwarf.h>
#include <gelf.h>
#include <string.h>

/* The content of a section as libdw sees it (decompressed); NULL if it has none. The result borrows `elf`. */
static Elf_Data *content_of(Elf_Scn *section)
{
    Elf_Data *content = elf_rawdata(section, NULL);
    return content != NULL && content->d_buf != NULL && content->d_size > 0 ? content : NULL;
}

/* Calls `each` for every section with the name `.debug_` + `part`, or its compressed form. If not `is_whole`, the name
 * needs only to begin so. Stops when `each` returns false, and returns that. */
static bool each_section_named(Elf *elf, const char *part, bool is_whole, bool (*each)(const Elf_Data *, void *),
                               void *context)
{
    size_t names;
    if (elf == NULL || elf_getshdrstrndx(elf, &names) != 0) {
        return true;
    }
    for (Elf_Scn *section = elf_nextscn(elf, NULL); section != NULL; section = elf_nextscn(elf, section)) {
        GElf_Shdr header;
        const char *name = gelf_getshdr(section, &header) != NULL ? elf_strptr(elf, names, header.sh_name) : NULL;
        if (name == NULL || header.sh_type == SHT_NOBITS) {
            continue;
        }
        size_t skipped = strncmp(name, ".debug_", 7) == 0 ? 7 : strncmp(name, ".zdebug_", 8) == 0 ? 8 : 0;
        if (skipped == 0 || strncmp(name + skipped, part, strlen(part)) != 0 ||
            (is_whole && name[skipped + strlen(part)] != '\0')) {
            continue;
        }
        const Elf_Data *content = content_of(section);
        if (content != NULL && !each(content, context)) {
            return false;
        }
    }
    return true;
}

static bool each_section(Elf *elf, const char *part, bool (*each)(const Elf_Data *, void *), void *context)
{
    return each_section_named(elf, part, false, each, context);
}

static bool ends_with_nul(const Elf_Data *content, void *context)
{
    (void)context;
    return ((const char *)content->d_buf)[content->d_size - 1] == '\0';
}

static bool strings_end(Dwarf *dwarf)
{
    Elf *elf = dwarf_getelf(dwarf);
    static const char *const parts[] = {"str", "str.dwo", "line_str", "line_str.dwo"};
    bool end = true;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        end = end && each_section_named(elf, parts[i], true, ends_with_nul, NULL);
    }
    return end;
}

bool sbx_dwarf_text_ends(Dwarf *dwarf)
{
    Dwarf *shared = dwarf_getalt(dwarf);
    return strings_end(dwarf) && (shared == NULL || strings_end(shared));
}

static bool take_content(const Elf_Data *content, void *context)
{
    *(const Elf_Data **)context = content;
    return false;
}

const uint8_t *sbx_dwarf_section(Elf *elf, const char *part, size_t *bytes_out)
{
    const Elf_Data *content = NULL;
    (void)each_section_named(elf, part, true, take_content, &content);
    *bytes_out = content == NULL ? 0 : content->d_size;
    return content == NULL ? NULL : content->d_buf;
}

/* Where a string begins, and whether it ends within its section. */
struct place {
    const char *begin;
    bool ends;
};

static bool look_for_end(const Elf_Data *content, void *context)
{
    struct place *place = context;
    const char *begin = content->d_buf, *end = begin + content->d_size;
    if (place->begin < begin || place->begin >= end) {
        return true; /* not in this section: continue */
    }
    place->ends = memchr(place->begin, '\0', (size_t)(end - place->begin)) != NULL;
    return false;
}

const char *sbx_dwarf_text(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attribute;
    if (dwarf_attr_integrate(die, name, &attribute) == NULL) {
        return NULL;
    }
    if (dwarf_whatform(&attribute) == DW_FORM_string) {
        struct place place = {(const char *)attribute.valp, false};
        Elf *elf = dwarf_getelf(dwarf_cu_getdwarf(attribute.cu));
        (void)each_section(elf, "info", look_for_end, &place); /* also .debug_info.dwo */
        if (!place.ends) {
            return NULL;
        }
    }
    return dwarf_formstring(&attribute);
}
