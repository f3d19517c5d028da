/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf_entries.c - the entries of a unit of debug information, front to back, each read once. */
#include "dwarf_entries.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

enum {
    FIXED_MAX = 1 << 14, /* bytes of an entry that may be skipped in one step */
    NOT_FIXED = UINT16_MAX
};

struct attribute {
    uint16_t form;
    uint8_t asked; /* enum sbx_dwarf_asked; SBX_DWARF_ASKED: not needed */
    int64_t constant;
};

struct abbreviation {
    uint64_t code;
    uint32_t first, count; /* of its attributes */
    uint16_t tag;
    uint16_t fixed_bytes; /* size of an entry without its code; NOT_FIXED: the entry must be read */
    bool has_children, has_sibling;
};

struct sbx_dwarf_abbreviations {
    struct abbreviation *list; /* sorted by code, or in the file's order while codes are 1, 2, 3, ... */
    struct attribute *attributes;
    size_t count, room, attribute_count, attribute_room;
    bool is_dense; /* code i is at [i - 1] */
    /* Which table this is, and how its forms are read. */
    const uint8_t *at;
    uint8_t version, offset_bytes, address_bytes;
};

struct sbx_dwarf_abbreviations *sbx_dwarf_abbreviations_create(void)
{
    return calloc(1, sizeof(struct sbx_dwarf_abbreviations));
}

void sbx_dwarf_abbreviations_destroy(struct sbx_dwarf_abbreviations *abbreviations)
{
    if (abbreviations != NULL) {
        free(abbreviations->list);
        free(abbreviations->attributes);
        free(abbreviations);
    }
}

void sbx_dwarf_abbreviations_forget(struct sbx_dwarf_abbreviations *abbreviations)
{
    abbreviations->at = NULL;
}

/* ---- headers ---- */

bool sbx_dwarf_header_read(const struct sbx_dwarf_sections *sections, uint64_t offset, struct sbx_dwarf_header *out)
{
    struct sbx_dwarf_bytes bytes = sbx_dwarf_section_from(&sections->info, offset);
    struct sbx_dwarf_header header = {.begin = offset, .offset_bytes = 4, .type = DW_UT_compile};
    uint64_t length = sbx_dwarf_fixed(&bytes, 4);
    if (length == 0xffffffff) {
        header.offset_bytes = 8;
        length = sbx_dwarf_fixed(&bytes, 8);
    }
    if (bytes.ended || length > sbx_dwarf_left(&bytes)) {
        return false;
    }
    header.end = (uint64_t)(bytes.at - sections->info.bytes) + length;
    bytes.end = bytes.at + length;
    uint64_t version = sbx_dwarf_fixed(&bytes, 2);
    if (version < 2 || version > 5) {
        header.version = 0; /* this unit is skipped, but the next ones may be of use */
        header.first = header.end;
        *out = header;
        return true;
    }
    header.version = (uint8_t)version;
    if (version == 5) {
        header.type = (uint8_t)sbx_dwarf_fixed(&bytes, 1);
        header.address_bytes = (uint8_t)sbx_dwarf_fixed(&bytes, 1);
        header.abbreviations = sbx_dwarf_fixed(&bytes, header.offset_bytes);
        if (header.type == DW_UT_skeleton || header.type == DW_UT_split_compile) {
            header.split_id = sbx_dwarf_fixed(&bytes, 8);
        } else if (header.type == DW_UT_type || header.type == DW_UT_split_type) {
            sbx_dwarf_skip(&bytes, 8u + header.offset_bytes);
        }
    } else {
        header.abbreviations = sbx_dwarf_fixed(&bytes, header.offset_bytes);
        header.address_bytes = (uint8_t)sbx_dwarf_fixed(&bytes, 1);
    }
    if (bytes.ended || (header.address_bytes != 4 && header.address_bytes != 8)) {
        header.version = 0;
    }
    header.first = (uint64_t)(bytes.at - sections->info.bytes);
    *out = header;
    return true;
}

/* ---- abbreviations ---- */

static uint8_t asked_of(uint64_t name)
{
    switch (name) {
    case DW_AT_low_pc:
        return SBX_DWARF_LOW_PC;
    case DW_AT_high_pc:
        return SBX_DWARF_HIGH_PC;
    case DW_AT_ranges:
        return SBX_DWARF_RANGES;
    case DW_AT_call_file:
        return SBX_DWARF_CALL_FILE;
    case DW_AT_call_line:
        return SBX_DWARF_CALL_LINE;
    case DW_AT_stmt_list:
        return SBX_DWARF_STMT_LIST;
    case DW_AT_comp_dir:
        return SBX_DWARF_COMP_DIR;
    case DW_AT_str_offsets_base:
        return SBX_DWARF_STR_OFFSETS_BASE;
    case DW_AT_addr_base:
    case DW_AT_GNU_addr_base:
        return SBX_DWARF_ADDR_BASE;
    case DW_AT_rnglists_base:
        return SBX_DWARF_RNGLISTS_BASE;
    case DW_AT_GNU_ranges_base:
        return SBX_DWARF_RANGES_BASE;
    case DW_AT_GNU_dwo_id:
        return SBX_DWARF_SPLIT_ID;
    case DW_AT_sibling:
        return SBX_DWARF_SIBLING;
    default:
        return SBX_DWARF_ASKED;
    }
}

/* How many bytes a form takes; -1: not fixed, it must be read. */
static int bytes_of(const struct sbx_dwarf_header *header, uint64_t form)
{
    switch (form) {
    case DW_FORM_flag_present:
    case DW_FORM_implicit_const:
        return 0;
    case DW_FORM_data1:
    case DW_FORM_flag:
    case DW_FORM_ref1:
    case DW_FORM_strx1:
    case DW_FORM_addrx1:
        return 1;
    case DW_FORM_data2:
    case DW_FORM_ref2:
    case DW_FORM_strx2:
    case DW_FORM_addrx2:
        return 2;
    case DW_FORM_strx3:
    case DW_FORM_addrx3:
        return 3;
    case DW_FORM_data4:
    case DW_FORM_ref4:
    case DW_FORM_ref_sup4:
    case DW_FORM_strx4:
    case DW_FORM_addrx4:
        return 4;
    case DW_FORM_data8:
    case DW_FORM_ref8:
    case DW_FORM_ref_sig8:
    case DW_FORM_ref_sup8:
        return 8;
    case DW_FORM_data16:
        return 16;
    case DW_FORM_addr:
        return header->address_bytes;
    case DW_FORM_ref_addr:
        return header->version == 2 ? header->address_bytes : header->offset_bytes;
    case DW_FORM_strp:
    case DW_FORM_strp_sup:
    case DW_FORM_line_strp:
    case DW_FORM_sec_offset:
    case DW_FORM_GNU_ref_alt:
    case DW_FORM_GNU_strp_alt:
        return header->offset_bytes;
    default:
        return -1;
    }
}

static bool grow(void **list, size_t *room, size_t count, size_t entry_bytes)
{
    if (count < *room) {
        return true;
    }
    size_t wanted = *room == 0 ? 256 : *room * 2;
    void *grown = realloc(*list, wanted * entry_bytes);
    if (grown == NULL) {
        return false;
    }
    *list = grown;
    *room = wanted;
    return true;
}

static int by_code(const void *a, const void *b)
{
    const struct abbreviation *x = a, *y = b;
    if (x->code != y->code) {
        return x->code < y->code ? -1 : 1;
    }
    return x->first < y->first ? -1 : x->first > y->first; /* of equal codes the first counts */
}

/* Read one declaration. Returns 1, 0 at the end of the table, or -ENOMEM. */
static int read_one(struct sbx_dwarf_abbreviations *all, const struct sbx_dwarf_header *header,
                    struct sbx_dwarf_bytes *bytes)
{
    struct abbreviation one = {.code = sbx_dwarf_leb(bytes), .first = (uint32_t)all->attribute_count};
    uint64_t tag = one.code == 0 ? 0 : sbx_dwarf_leb(bytes);
    one.tag = tag > UINT16_MAX ? 0 : (uint16_t)tag;
    one.has_children = one.code != 0 && sbx_dwarf_fixed(bytes, 1) != 0;
    size_t fixed = 0;
    for (bool is_last = one.code == 0; !is_last && !bytes->ended;) {
        uint64_t name = sbx_dwarf_leb(bytes), form = sbx_dwarf_leb(bytes);
        struct attribute attribute = {.form = form > UINT16_MAX ? 0 : (uint16_t)form, .asked = asked_of(name)};
        if (form == DW_FORM_implicit_const) {
            attribute.constant = sbx_dwarf_signed_leb(bytes);
        }
        is_last = name == 0 && form == 0;
        if (is_last) {
            break;
        }
        int size = bytes_of(header, form);
        fixed = fixed == NOT_FIXED || size < 0 || fixed + (size_t)size > FIXED_MAX ? NOT_FIXED : fixed + (size_t)size;
        one.has_sibling = one.has_sibling || attribute.asked == SBX_DWARF_SIBLING;
        if (!grow((void **)&all->attributes, &all->attribute_room, all->attribute_count, sizeof *all->attributes)) {
            return -ENOMEM;
        }
        all->attributes[all->attribute_count++] = attribute;
        one.count++;
    }
    if (one.code == 0 || bytes->ended) {
        return 0;
    }
    one.fixed_bytes = (uint16_t)fixed;
    if (!grow((void **)&all->list, &all->room, all->count, sizeof *all->list)) {
        return -ENOMEM;
    }
    all->is_dense = all->is_dense && one.code == all->count + 1;
    all->list[all->count++] = one;
    return 1;
}

/* Read the table of a unit, unless it is the one that was read last. */
static int read_table(struct sbx_dwarf_abbreviations *all, const struct sbx_dwarf_sections *sections,
                      const struct sbx_dwarf_header *header, struct sbx_dwarf_budget *budget)
{
    struct sbx_dwarf_bytes bytes = sbx_dwarf_section_from(&sections->abbrev, header->abbreviations);
    if (all->at == bytes.at && all->version == header->version && all->offset_bytes == header->offset_bytes &&
        all->address_bytes == header->address_bytes) {
        return 0;
    }
    all->count = all->attribute_count = 0;
    all->is_dense = true;
    all->at = NULL;
    const uint8_t *begin = bytes.at;
    int result = 1;
    while (result == 1) {
        const uint8_t *at = bytes.at;
        result = read_one(all, header, &bytes);
        if (!sbx_dwarf_spend(budget, (uint64_t)(bytes.at - at))) {
            return -E2BIG;
        }
    }
    if (result != 0) {
        return result;
    }
    if (!all->is_dense) {
        qsort(all->list, all->count, sizeof *all->list, by_code);
    }
    all->at = begin;
    all->version = header->version;
    all->offset_bytes = header->offset_bytes;
    all->address_bytes = header->address_bytes;
    return 0;
}

static const struct abbreviation *find(const struct sbx_dwarf_abbreviations *all, uint64_t code)
{
    if (all->is_dense) {
        return code - 1 < all->count ? &all->list[code - 1] : NULL;
    }
    size_t low = 0, high = all->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (all->list[middle].code < code) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < all->count && all->list[low].code == code ? &all->list[low] : NULL;
}

/* ---- walking ---- */

int sbx_dwarf_walk_begin(struct sbx_dwarf_walk *walk, const struct sbx_dwarf_sections *sections,
                         const struct sbx_dwarf_header *header, struct sbx_dwarf_abbreviations *abbreviations,
                         struct sbx_dwarf_budget *budget)
{
    *walk = (struct sbx_dwarf_walk){.sections = sections,
                                    .abbreviations = abbreviations,
                                    .budget = budget,
                                    .header = *header,
                                    .bytes = sbx_dwarf_section_from(&sections->info, header->first)};
    if (header->version == 0) {
        (void)sbx_dwarf_past_end(&walk->bytes);
        return 0;
    }
    walk->bytes.end = sections->info.bytes + header->end;
    return read_table(abbreviations, sections, header, budget);
}

/* Read a value of `form`; false: the form is not known. */
static bool read_value(struct sbx_dwarf_walk *walk, uint64_t form, int64_t constant, struct sbx_dwarf_value *value)
{
    struct sbx_dwarf_bytes *bytes = &walk->bytes;
    int size = bytes_of(&walk->header, form);
    value->form = (uint16_t)form;
    value->at = bytes->at;
    if (size > 8) {
        value->number = 0;
        sbx_dwarf_skip(bytes, (uint64_t)size);
        return !bytes->ended;
    }
    if (size >= 0) {
        value->number = form == DW_FORM_flag_present     ? 1
                        : form == DW_FORM_implicit_const ? (uint64_t)constant
                                                         : sbx_dwarf_fixed(bytes, (size_t)size);
        return !bytes->ended;
    }
    size_t length_bytes = 0;
    switch (form) {
    case DW_FORM_udata:
    case DW_FORM_ref_udata:
    case DW_FORM_strx:
    case DW_FORM_addrx:
    case DW_FORM_loclistx:
    case DW_FORM_rnglistx:
    case DW_FORM_GNU_addr_index:
    case DW_FORM_GNU_str_index:
        value->number = sbx_dwarf_leb(bytes);
        return !bytes->ended;
    case DW_FORM_sdata:
        value->number = (uint64_t)sbx_dwarf_signed_leb(bytes);
        return !bytes->ended;
    case DW_FORM_string:
        value->number = 0;
        return sbx_dwarf_text_here(bytes) != NULL;
    case DW_FORM_block1:
        length_bytes = 1;
        break;
    case DW_FORM_block2:
        length_bytes = 2;
        break;
    case DW_FORM_block4:
        length_bytes = 4;
        break;
    case DW_FORM_block:
    case DW_FORM_exprloc:
        break;
    case DW_FORM_indirect: {
        uint64_t real = sbx_dwarf_leb(bytes);
        /* No compiler makes an indirect form that names an indirect form. */
        return real != DW_FORM_indirect && real != DW_FORM_implicit_const && !bytes->ended &&
               read_value(walk, real, 0, value);
    }
    default:
        return false;
    }
    value->number = length_bytes == 0 ? sbx_dwarf_leb(bytes) : sbx_dwarf_fixed(bytes, length_bytes);
    sbx_dwarf_skip(bytes, value->number);
    return !bytes->ended;
}

const char *sbx_dwarf_value_text(const struct sbx_dwarf_sections *sections, const struct sbx_dwarf_value *value,
                                 unsigned offset_bytes, uint64_t str_offsets_base)
{
    switch (value->form) {
    case DW_FORM_string:
        return (const char *)value->at; /* the read already checked that it ends */
    case DW_FORM_strp:
        return sbx_dwarf_section_text(&sections->str, value->number);
    case DW_FORM_line_strp:
        return sbx_dwarf_section_text(&sections->line_str, value->number);
    case DW_FORM_strp_sup:
    case DW_FORM_GNU_strp_alt:
        return sbx_dwarf_section_text(&sections->shared_str, value->number);
    case DW_FORM_strx:
    case DW_FORM_strx1:
    case DW_FORM_strx2:
    case DW_FORM_strx3:
    case DW_FORM_strx4:
    case DW_FORM_GNU_str_index:
        return sbx_dwarf_indexed_text(sections, str_offsets_base, value->number, offset_bytes);
    default:
        return NULL;
    }
}

/* The result of a step. */
enum {
    STEP_END = 0, /* the end of the unit, or damage */
    STEP_ENTRY = 1,
    STEP_UP = 2 /* the end of the children of an entry */
};

/* The next entry, or the end of a list. Returns one of the above, or -E2BIG. */
static int step(struct sbx_dwarf_walk *walk, bool (*is_wanted)(unsigned tag), struct sbx_dwarf_entry *entry)
{
    struct sbx_dwarf_bytes *bytes = &walk->bytes;
    if (!sbx_dwarf_spend(walk->budget, 1)) {
        return -E2BIG;
    }
    entry->offset = (uint64_t)(bytes->at - walk->sections->info.bytes);
    uint64_t code = bytes->at < bytes->end ? sbx_dwarf_leb(bytes) : sbx_dwarf_past_end(bytes);
    if (bytes->ended) {
        return STEP_END;
    }
    if (code == 0) {
        if (walk->depth <= 1) { /* the end of the unit's own children */
            (void)sbx_dwarf_past_end(bytes);
            return STEP_END;
        }
        walk->depth--;
        return STEP_UP;
    }
    const struct abbreviation *abbreviation = find(walk->abbreviations, code);
    if (abbreviation == NULL) {
        (void)sbx_dwarf_past_end(bytes);
        return STEP_END;
    }
    entry->tag = abbreviation->tag;
    entry->has_children = abbreviation->has_children;
    bool is_read = is_wanted(entry->tag);
    if (!is_read && abbreviation->fixed_bytes != NOT_FIXED && !abbreviation->has_sibling) {
        entry->values[SBX_DWARF_SIBLING].form = 0;
        sbx_dwarf_skip(bytes, abbreviation->fixed_bytes);
    } else {
        memset(entry->values, 0, sizeof entry->values);
        for (uint32_t i = 0; i < abbreviation->count; i++) {
            const struct attribute *attribute = &walk->abbreviations->attributes[abbreviation->first + i];
            struct sbx_dwarf_value value;
            if (!read_value(walk, attribute->form, attribute->constant, &value)) {
                (void)sbx_dwarf_past_end(bytes);
                return STEP_END;
            }
            if (attribute->asked != SBX_DWARF_ASKED) {
                entry->values[attribute->asked] = value;
            }
        }
    }
    if (bytes->ended) {
        return STEP_END;
    }
    entry->depth = walk->depth;
    walk->depth += entry->has_children;
    if (walk->depth == 0) { /* a unit without children */
        bytes->end = bytes->at;
    }
    return STEP_ENTRY;
}

int sbx_dwarf_walk_next(struct sbx_dwarf_walk *walk, bool (*is_wanted)(unsigned tag), struct sbx_dwarf_entry *entry)
{
    int result = STEP_UP;
    while (result == STEP_UP) {
        result = step(walk, is_wanted, entry);
    }
    return result;
}

static bool is_none(unsigned tag)
{
    (void)tag;
    return false;
}

int sbx_dwarf_walk_skip(struct sbx_dwarf_walk *walk, const struct sbx_dwarf_entry *entry)
{
    if (!entry->has_children) {
        return 0;
    }
    const struct sbx_dwarf_value *sibling = &entry->values[SBX_DWARF_SIBLING];
    const uint8_t *unit = walk->sections->info.bytes + walk->header.begin;
    bool is_within = sibling->form >= DW_FORM_ref1 && sibling->form <= DW_FORM_ref_udata &&
                     sibling->number < (uint64_t)(walk->bytes.end - unit);
    if (is_within && unit + sibling->number > walk->bytes.at) { /* references of damaged files may point back */
        walk->bytes.at = unit + sibling->number;
        walk->depth = entry->depth;
        return 0;
    }
    struct sbx_dwarf_entry below;
    int result = STEP_UP;
    while (result > 0 && walk->depth > entry->depth) {
        result = step(walk, is_none, &below);
    }
    return result < 0 ? result : 0;
}
