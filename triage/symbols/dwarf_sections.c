/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf_sections.c - the sections of one file's debug information. */
#include "dwarf_sections.h"

#include "dwarf_text.h"

enum {
    STEPS_FREE = 16 << 20, /* a fraction of a second */
    STEPS_A_BYTE = 4
};

/* `.debug_NAME`, or else `.debug_NAME.dwo`. */
static struct sbx_dwarf_section find(Dwarf *dwarf, const char *name, const char *split_name)
{
    struct sbx_dwarf_section section;
    section.bytes = sbx_dwarf_section(dwarf, name, &section.count);
    if (section.bytes == NULL) {
        section.bytes = sbx_dwarf_section(dwarf, split_name, &section.count);
    }
    return section;
}

void sbx_dwarf_sections_read(Dwarf *dwarf, struct sbx_dwarf_sections *sections_out)
{
    *sections_out = (struct sbx_dwarf_sections){
        .info = find(dwarf, "info", "info.dwo"),
        .abbrev = find(dwarf, "abbrev", "abbrev.dwo"),
        .line = find(dwarf, "line", "line.dwo"),
        .str = find(dwarf, "str", "str.dwo"),
        .line_str = find(dwarf, "line_str", "line_str.dwo"),
        .str_offsets = find(dwarf, "str_offsets", "str_offsets.dwo"),
        .addr = find(dwarf, "addr", "addr.dwo"),
        .ranges = find(dwarf, "ranges", "ranges.dwo"),
        .rnglists = find(dwarf, "rnglists", "rnglists.dwo"),
    };
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

void sbx_dwarf_budget_add(struct sbx_dwarf_budget *budget, const struct sbx_dwarf_sections *sections)
{
    uint64_t bytes = (uint64_t)sections->info.count + sections->abbrev.count + sections->line.count +
                     sections->ranges.count + sections->rnglists.count;
    budget->left += STEPS_FREE + STEPS_A_BYTE * bytes;
}
