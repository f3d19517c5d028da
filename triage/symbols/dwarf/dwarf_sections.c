/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf_sections.c - the sections of one file's debug information. */
#include "dwarf_sections.h"

#include <gelf.h>

#include "dwarf_text.h"
#include "unread_sections.h"

enum {
    STEPS_FREE = 16 << 20, /* takes a fraction of a second */
    STEPS_A_BYTE = 4
};

/* `.debug_NAME`, else `.debug_NAME.dwo`. */
static struct sbx_dwarf_section find(Elf *elf, const char *name, const char *split_name)
{
    struct sbx_dwarf_section section;
    section.bytes = sbx_dwarf_section(elf, name, &section.count);
    if (section.bytes == NULL) {
        section.bytes = sbx_dwarf_section(elf, split_name, &section.count);
    }
    return section;
}

void sbx_dwarf_sections_hide_unread(Elf *elf)
{
    size_t names;
    if (elf_getshdrstrndx(elf, &names) != 0) {
        return;
    }
    for (Elf_Scn *section = elf_nextscn(elf, NULL); section != NULL; section = elf_nextscn(elf, section)) {
        GElf_Shdr header;
        const char *name = gelf_getshdr(section, &header) != NULL ? elf_strptr(elf, names, header.sh_name) : NULL;
        if (name != NULL && sbx_section_is_unread(name)) {
            header.sh_type = SHT_NOBITS; /* libdw takes this type for a section that was stripped */
            (void)gelf_update_shdr(section, &header);
        }
    }
}

void sbx_dwarf_sections_read(Elf *elf, struct sbx_dwarf_sections *sections_out)
{
    *sections_out = (struct sbx_dwarf_sections){
        .info = find(elf, "info", "info.dwo"),
        .abbrev = find(elf, "abbrev", "abbrev.dwo"),
        .line = find(elf, "line", "line.dwo"),
        .str = find(elf, "str", "str.dwo"),
        .line_str = find(elf, "line_str", "line_str.dwo"),
        .str_offsets = find(elf, "str_offsets", "str_offsets.dwo"),
        .addr = find(elf, "addr", "addr.dwo"),
        .ranges = find(elf, "ranges", "ranges.dwo"),
        .rnglists = find(elf, "rnglists", "rnglists.dwo"),
    };
}

void sbx_dwarf_sections_share(Dwarf *dwarf, struct sbx_dwarf_sections *sections)
{
    Dwarf *shared = dwarf_getalt(dwarf);
    if (shared != NULL) {
        sections->shared_str.bytes = sbx_dwarf_section(dwarf_getelf(shared), "str", &sections->shared_str.count);
    }
}

struct sbx_dwarf_bytes sbx_dwarf_section_from(const struct sbx_dwarf_section *section, uint64_t offset)
{
    static const uint8_t none[1];
    if (section->bytes == NULL || offset > section->count) {
        return (struct sbx_dwarf_bytes){none, none, true};
    }
    return (struct sbx_dwarf_bytes){section->bytes + offset, section->bytes + section->count, false};
}

const char *sbx_dwarf_section_text(const struct sbx_dwarf_section *section, uint64_t offset)
{
    struct sbx_dwarf_bytes bytes = sbx_dwarf_section_from(section, offset);
    return sbx_dwarf_text_here(&bytes);
}

const char *sbx_dwarf_indexed_text(const struct sbx_dwarf_sections *sections, uint64_t base, uint64_t index,
                                   unsigned offset_bytes)
{
    uint64_t at;
    if (__builtin_mul_overflow(index, offset_bytes, &at) || __builtin_add_overflow(at, base, &at)) {
        return NULL;
    }
    struct sbx_dwarf_bytes bytes = sbx_dwarf_section_from(&sections->str_offsets, at);
    uint64_t offset = sbx_dwarf_fixed(&bytes, offset_bytes);
    return bytes.ended ? NULL : sbx_dwarf_section_text(&sections->str, offset);
}

void sbx_dwarf_budget_add_one_of_many(struct sbx_dwarf_budget *budget, const struct sbx_dwarf_sections *sections)
{
    uint64_t bytes = (uint64_t)sections->info.count + sections->abbrev.count + sections->line.count +
                     sections->ranges.count + sections->rnglists.count;
    budget->left += STEPS_A_BYTE * bytes;
}

void sbx_dwarf_budget_add(struct sbx_dwarf_budget *budget, const struct sbx_dwarf_sections *sections)
{
    budget->left += STEPS_FREE;
    sbx_dwarf_budget_add_one_of_many(budget, sections);
}
