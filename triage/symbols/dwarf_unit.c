/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf_unit.c - one unit of debug information. */
#include "dwarf_unit.h"

#include <dwarf.h>
#include <errno.h>

enum {
    TAG_SKELETON_UNIT = 0x4a /* DW_TAG_skeleton_unit */
};

static bool is_any(unsigned tag)
{
    (void)tag;
    return true;
}

int sbx_dwarf_unit_read(struct sbx_dwarf_reading *reading, uint64_t offset, struct sbx_dwarf_unit *unit_out,
                        uint64_t *next_out)
{
    struct sbx_dwarf_unit *unit = unit_out;
    struct sbx_dwarf_walk walk;
    const struct sbx_dwarf_sections *sections = &reading->sections;
    *unit = (struct sbx_dwarf_unit){.dwarf = reading->dwarf, .sections = sections};
    if (offset >= sections->info.count || !sbx_dwarf_header_read(sections, offset, &unit->header)) {
        return -ENOENT;
    }
    *next_out = unit->header.end;
    if (unit->header.type != DW_UT_compile && unit->header.type != DW_UT_skeleton) {
        return 0;
    }
    int result = sbx_dwarf_walk_begin(&walk, sections, &unit->header, reading->abbreviations, &reading->budget);
    result = result == 0 ? sbx_dwarf_walk_next(&walk, is_any, &unit->entry) : result;
    if (result <= 0) {
        return result;
    }
    if (unit->entry.tag != DW_TAG_compile_unit && unit->entry.tag != TAG_SKELETON_UNIT) {
        return 0; /* of types, or shared by others */
    }
    const struct sbx_dwarf_value *values = unit->entry.values;
    sbx_dwarf_addressing_init(&unit->addressing, sections, &unit->header, &unit->entry, NULL);
    unit->str_offsets_base = values[SBX_DWARF_STR_OFFSETS_BASE].form != 0 ? values[SBX_DWARF_STR_OFFSETS_BASE].number
                             : unit->header.version >= 5                  ? 8
                                                                          : 0;
    unit->has_lines = values[SBX_DWARF_STMT_LIST].form != 0;
    unit->lines = values[SBX_DWARF_STMT_LIST].number;
    unit->folder =
        sbx_dwarf_value_text(sections, &values[SBX_DWARF_COMP_DIR], unit->header.offset_bytes, unit->str_offsets_base);
    return 1;
}
