/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf_addresses.c - which code an entry of debug information covers (DWARF 2 to 5). */
#include "dwarf_addresses.h"

#include <dwarf.h>
#include <errno.h>
#include <stdbool.h>

/* Number `index` of the unit's addresses. */
static bool indexed(const struct sbx_dwarf_addressing *addressing, uint64_t index, uint64_t *address_out)
{
    uint64_t offset;
    if (__builtin_mul_overflow(index, addressing->address_bytes, &offset) ||
        __builtin_add_overflow(offset, addressing->addr_base, &offset)) {
        return false;
    }
    struct sbx_dwarf_bytes bytes = sbx_dwarf_section_from(&addressing->main->addr, offset);
    *address_out = sbx_dwarf_fixed(&bytes, addressing->address_bytes);
    return !bytes.ended;
}

/* Whether the value is an address. If so, it is in *address_out. */
static bool address_of(const struct sbx_dwarf_addressing *addressing, const struct sbx_dwarf_value *value,
                       uint64_t *address_out)
{
    switch (value->form) {
    case DW_FORM_addr:
        *address_out = value->number;
        return true;
    case DW_FORM_addrx:
    case DW_FORM_addrx1:
    case DW_FORM_addrx2:
    case DW_FORM_addrx3:
    case DW_FORM_addrx4:
    case DW_FORM_GNU_addr_index:
        return indexed(addressing, value->number, address_out);
    default:
        return false;
    }
}

static bool is_offset_form(unsigned form)
{
    return form == DW_FORM_data4 || form == DW_FORM_data8 || form == DW_FORM_sec_offset;
}

void sbx_dwarf_addressing_init(struct sbx_dwarf_addressing *addressing, const struct sbx_dwarf_sections *sections,
                               const struct sbx_dwarf_header *header, const struct sbx_dwarf_entry *unit,
                               const struct sbx_dwarf_addressing *skeleton)
{
    const struct sbx_dwarf_value *values = unit->values;
    const uint64_t behind_header = header->offset_bytes == 8 ? 20 : 12; /* of .debug_rnglists */
    *addressing = (struct sbx_dwarf_addressing){.sections = sections,
                                                .main = skeleton == NULL ? sections : skeleton->main,
                                                .version = header->version,
                                                .offset_bytes = header->offset_bytes,
                                                .address_bytes = header->address_bytes};
    if (skeleton != NULL) {
        addressing->addr_base = skeleton->addr_base;
        addressing->base = skeleton->base;
        addressing->ranges_base = skeleton->ranges_base;
        addressing->rnglists_base = behind_header;
        return;
    }
    addressing->addr_base = values[SBX_DWARF_ADDR_BASE].form != 0 ? values[SBX_DWARF_ADDR_BASE].number
                            : header->version >= 5                ? 8
                                                                  : 0;
    addressing->rnglists_base =
        values[SBX_DWARF_RNGLISTS_BASE].form != 0 ? values[SBX_DWARF_RNGLISTS_BASE].number : behind_header;
    addressing->ranges_base = values[SBX_DWARF_RANGES_BASE].number;
    (void)address_of(addressing, &values[SBX_DWARF_LOW_PC], &addressing->base);
}

struct adding {
    struct sbx_dwarf_budget *budget;
    int (*add)(void *context, uint64_t begin, uint64_t end);
    void *context;
};

static int add(const struct adding *adding, uint64_t begin, uint64_t end)
{
    return begin < end ? adding->add(adding->context, begin, end) : 0;
}

/* A list of .debug_ranges. */
static int add_old_list(const struct sbx_dwarf_addressing *addressing, uint64_t offset, const struct adding *adding)
{
    struct sbx_dwarf_bytes bytes = sbx_dwarf_section_from(&addressing->main->ranges, offset);
    const uint64_t selects_base = addressing->address_bytes == 8 ? UINT64_MAX : UINT32_MAX;
    uint64_t base = addressing->base;
    for (;;) {
        uint64_t begin = sbx_dwarf_fixed(&bytes, addressing->address_bytes);
        uint64_t end = sbx_dwarf_fixed(&bytes, addressing->address_bytes);
        if (bytes.ended || (begin == 0 && end == 0)) {
            return 0;
        }
        if (!sbx_dwarf_spend(adding->budget, 1)) {
            return -E2BIG;
        }
        if (begin == selects_base) {
            base = end;
            continue;
        }
        int result = add(adding, base + begin, base + end);
        if (result != 0) {
            return result;
        }
    }
}

/* A list of .debug_rnglists. */
static int add_list(const struct sbx_dwarf_addressing *addressing, uint64_t offset, const struct adding *adding)
{
    struct sbx_dwarf_bytes bytes = sbx_dwarf_section_from(&addressing->sections->rnglists, offset);
    uint64_t base = addressing->base;
    for (;;) {
        uint64_t begin = 0, end = 0;
        bool is_known = true, is_range = true;
        uint64_t kind = sbx_dwarf_fixed(&bytes, 1);
        switch (kind) {
        case DW_RLE_base_addressx:
            is_known = indexed(addressing, sbx_dwarf_leb(&bytes), &base);
            is_range = false;
            break;
        case DW_RLE_startx_endx:
            is_known = indexed(addressing, sbx_dwarf_leb(&bytes), &begin);
            is_known = indexed(addressing, sbx_dwarf_leb(&bytes), &end) && is_known;
            break;
        case DW_RLE_startx_length:
            is_known = indexed(addressing, sbx_dwarf_leb(&bytes), &begin);
            end = begin + sbx_dwarf_leb(&bytes);
            break;
        case DW_RLE_offset_pair:
            begin = base + sbx_dwarf_leb(&bytes);
            end = base + sbx_dwarf_leb(&bytes);
            break;
        case DW_RLE_base_address:
            base = sbx_dwarf_fixed(&bytes, addressing->address_bytes);
            is_range = false;
            break;
        case DW_RLE_start_end:
            begin = sbx_dwarf_fixed(&bytes, addressing->address_bytes);
            end = sbx_dwarf_fixed(&bytes, addressing->address_bytes);
            break;
        case DW_RLE_start_length:
            begin = sbx_dwarf_fixed(&bytes, addressing->address_bytes);
            end = begin + sbx_dwarf_leb(&bytes);
            break;
        default: /* the end, or an unknown kind */
            return 0;
        }
        if (bytes.ended || !is_known) {
            return 0;
        }
        if (!sbx_dwarf_spend(adding->budget, 1)) {
            return -E2BIG;
        }
        int result = is_range ? add(adding, begin, end) : 0;
        if (result != 0) {
            return result;
        }
    }
}

int sbx_dwarf_ranges(const struct sbx_dwarf_addressing *addressing, const struct sbx_dwarf_entry *entry,
                     struct sbx_dwarf_budget *budget, int (*add_one)(void *context, uint64_t begin, uint64_t end),
                     void *context)
{
    const struct adding adding = {budget, add_one, context};
    const struct sbx_dwarf_value *ranges = &entry->values[SBX_DWARF_RANGES], *high = &entry->values[SBX_DWARF_HIGH_PC];
    uint64_t begin, end;
    if (high->form != 0 && address_of(addressing, &entry->values[SBX_DWARF_LOW_PC], &begin)) {
        if (!address_of(addressing, high, &end)) {
            end = begin + high->number;
        }
        return add(&adding, begin, end);
    }
    if (ranges->form == DW_FORM_rnglistx) {
        uint64_t at;
        if (__builtin_mul_overflow(ranges->number, addressing->offset_bytes, &at) ||
            __builtin_add_overflow(at, addressing->rnglists_base, &at)) {
            return 0;
        }
        struct sbx_dwarf_bytes bytes = sbx_dwarf_section_from(&addressing->sections->rnglists, at);
        uint64_t offset = sbx_dwarf_fixed(&bytes, addressing->offset_bytes);
        return bytes.ended ? 0 : add_list(addressing, addressing->rnglists_base + offset, &adding);
    }
    if (!is_offset_form(ranges->form)) {
        return 0;
    }
    if (addressing->version >= 5) {
        return add_list(addressing, ranges->number, &adding);
    }
    uint64_t base = addressing->sections == addressing->main ? 0 : addressing->ranges_base;
    return add_old_list(addressing, base + ranges->number, &adding);
}
