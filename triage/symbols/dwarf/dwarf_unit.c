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
        return 0; /* a unit of types, or a partial unit that others share */
    }
    const struct sbx_dwarf_value *values = unit->entry.values;
    sbx_dwarf_addressing_init(&unit->addressing, sections, &unit->header, &unit->entry, NULL);
    unit->str_offsets_base = values[SBX_DWARF_STR_OFFSETS_BASE].form != 0 ? values[SBX_DWARF_STR_OFFSETS_BASE].number
                             : unit->header.version >= 5                  ? 8
                                                                          : 0;
    unit->split_id = unit->header.type == DW_UT_skeleton ? unit->header.split_id : values[SBX_DWARF_SPLIT_ID].number;
    unit->has_lines = values[SBX_DWARF_STMT_LIST].form != 0;
    unit->lines = values[SBX_DWARF_STMT_LIST].number;
    unit->folder =
        sbx_dwarf_value_text(sections, &values[SBX_DWARF_COMP_DIR], unit->header.offset_bytes, unit->str_offsets_base);
    return 1;
}

int sbx_dwarf_unit_open_split(struct sbx_dwarf_reading *reading, struct sbx_dwarf_unit *unit)
{
    struct sbx_dwarf_walk walk;
    struct sbx_dwarf_header header;
    struct sbx_dwarf_entry entry;
    if (unit->split_id == 0) {
        return 0;
    }
    int result = reading->parts == NULL ? -ENOENT : sbx_split_parts_open(reading->parts, unit->split_id, &unit->split);
    if (result != 0) {
        reading->missing_parts += result != -ENOMEM;
        return result == -ENOMEM ? result : 0;
    }
    const struct sbx_dwarf_sections *sections = &unit->split.sections;
    if (!sbx_dwarf_spend(&reading->budget, (uint64_t)sections->info.count + sections->str_offsets.count)) {
        return -E2BIG;
    }
    if (!sbx_dwarf_header_read(sections, unit->split.offset, &header)) {
        return 0;
    }
    result = sbx_dwarf_walk_begin(&walk, sections, &header, reading->abbreviations, &reading->budget);
    result = result == 0 ? sbx_dwarf_walk_next(&walk, is_any, &entry) : result;
    if (result > 0) {
        struct sbx_dwarf_addressing skeleton = unit->addressing;
        unit->dwarf = unit->split.dwarf;
        unit->sections = sections;
        unit->header = header;
        unit->entry = entry;
        sbx_dwarf_addressing_init(&unit->addressing, sections, &header, &entry, &skeleton);
    }
    return result < 0 ? result : 0;
}

void sbx_dwarf_unit_close_split(struct sbx_dwarf_reading *reading, struct sbx_dwarf_unit *unit)
{
    if (unit->split.dwarf != NULL) { /* the next split unit may have the same addresses */
        sbx_dwarf_names_forget_units(reading->names);
        sbx_dwarf_abbreviations_forget(reading->abbreviations);
        sbx_split_unit_close(&unit->split);
    }
}
