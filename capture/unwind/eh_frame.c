/* SPDX-License-Identifier: Apache-2.0 */
/* eh_frame.c - entries of .eh_frame and the search table before them.
 *
 * This is apart from the program interpreter because the two fail in different ways: a bad length ends the walk through
 * the section, but a bad program costs one function only. */
#include "eh_frame.h"

#include <errno.h>

/* Pointer encodings (LSB Core, "DWARF Exception Header Encoding"): the low four bits are the format. The next three say
 * what the number is relative to. The top bit means "the address of the address". */
enum {
    PE_ABSPTR = 0x00,
    PE_ULEB128 = 0x01,
    PE_UDATA2 = 0x02,
    PE_UDATA4 = 0x03,
    PE_UDATA8 = 0x04,
    PE_SLEB128 = 0x09,
    PE_SDATA2 = 0x0a,
    PE_SDATA4 = 0x0b,
    PE_SDATA8 = 0x0c,
    PE_FORMAT = 0x0f,
    PE_PCREL = 0x10,
    PE_DATAREL = 0x30,
    PE_ALIGNED = 0x50,
    PE_RELATIVE_TO = 0x70,
    PE_INDIRECT = 0x80,
    PE_OMIT = 0xff,
};

enum {
    AUGMENTATION_MAX = 16
}; /* letters; compilers write up to six */

/* A number in the format of `encoding`, relative to nothing. */
static uint64_t read_encoded_number(struct sbx_byte_reader *reader, uint8_t encoding)
{
    switch (encoding & PE_FORMAT) {
    case PE_ABSPTR:
    case PE_UDATA8:
    case PE_SDATA8:
        return sbx_read_u64(reader);
    case PE_ULEB128:
        return sbx_read_uleb(reader);
    case PE_SLEB128:
        return (uint64_t)sbx_read_sleb(reader);
    case PE_UDATA2:
        return sbx_read_bytes(reader, 2);
    case PE_SDATA2:
        return (uint64_t)(int64_t)(int16_t)sbx_read_bytes(reader, 2);
    case PE_UDATA4:
        return sbx_read_u32(reader);
    case PE_SDATA4:
        return (uint64_t)(int64_t)(int32_t)sbx_read_u32(reader);
    default:
        reader->damaged = true;
        return 0;
    }
}

/* An address: absolute, relative to its own place, or to `data_base` where there is one. */
static uint64_t read_encoded_address(struct sbx_byte_reader *reader, uint8_t encoding,
                                     const struct sbx_eh_section *section, const uint64_t *data_base)
{
    uint8_t relative_to = encoding & (PE_RELATIVE_TO | PE_INDIRECT);
    uint64_t base = 0;
    if (relative_to == PE_PCREL) {
        base = section->address + (uint64_t)(reader->at - section->bytes);
    } else if (relative_to == PE_DATAREL && data_base != NULL) {
        base = *data_base;
    } else if (relative_to != PE_ABSPTR) { /* other bases, aligned, indirect: never used for code addresses */
        reader->damaged = true;
        return 0;
    }
    return base + read_encoded_number(reader, encoding);
}

uint64_t sbx_eh_read_address(struct sbx_byte_reader *reader, uint8_t encoding, const struct sbx_eh_section *section)
{
    return read_encoded_address(reader, encoding, section, NULL);
}

int sbx_eh_search_table_read(const struct sbx_eh_section *header, struct sbx_eh_search_table *table_out)
{
    struct sbx_byte_reader reader = {header->bytes, header->bytes + header->size, false};
    uint8_t version = sbx_read_u8(&reader);
    uint8_t frame_encoding = sbx_read_u8(&reader);
    uint8_t count_encoding = sbx_read_u8(&reader);
    uint8_t table_encoding = sbx_read_u8(&reader);
    if (reader.damaged || version != 1) {
        return -EINVAL;
    }
    *table_out = (struct sbx_eh_search_table){.address = header->address};
    if (frame_encoding != PE_OMIT) {
        table_out->eh_frame_address = read_encoded_address(&reader, frame_encoding, header, &header->address);
        if (reader.damaged) {
            return -EINVAL;
        }
    }
    if (count_encoding == PE_OMIT || table_encoding != (PE_DATAREL | PE_SDATA4)) {
        return 0; /* no table, or not in the form that every linker writes: the caller walks the section instead */
    }
    uint64_t count = read_encoded_address(&reader, count_encoding, header, &header->address);
    if (reader.damaged || count > sbx_bytes_left(&reader) / 8 || count > UINT32_MAX) {
        return -EINVAL;
    }
    table_out->count = (uint32_t)count;
    table_out->entries = reader.at;
    return 0;
}

void sbx_eh_search_table_entry(const struct sbx_eh_search_table *table, uint32_t index, uint64_t *begin_out,
                               uint64_t *fde_address_out)
{
    const uint8_t *entry = table->entries + (size_t)index * 8;
    struct sbx_byte_reader reader = {entry, entry + 8, false};
    *begin_out = table->address + (uint64_t)(int64_t)(int32_t)sbx_read_u32(&reader);
    *fde_address_out = table->address + (uint64_t)(int64_t)(int32_t)sbx_read_u32(&reader);
}

/* Narrow `reader` to the body of the entry at `position`: the bytes after its length. Returns 0; -EINVAL; -ENOTSUP for
 * a 64-bit entry (`reader` is narrowed too); or -ENOENT for a terminator. */
static int open_entry(const struct sbx_eh_section *section, uint32_t position, struct sbx_byte_reader *reader)
{
    if (position > section->size) {
        return -EINVAL;
    }
    *reader = (struct sbx_byte_reader){section->bytes + position, section->bytes + section->size, false};
    uint64_t length = sbx_read_u32(reader);
    if (reader->damaged) {
        return -EINVAL;
    }
    if (length == 0) {
        return -ENOENT;
    }
    bool is_64_bit = length == UINT32_MAX;
    if (is_64_bit) {
        length = sbx_read_u64(reader);
    }
    if (reader->damaged || length > sbx_bytes_left(reader) || length < 4) {
        return -EINVAL;
    }
    reader->end = reader->at + length;
    return is_64_bit ? -ENOTSUP : 0;
}

int sbx_eh_frame_next(const struct sbx_eh_section *section, uint32_t *position, struct sbx_eh_entry *entry_out)
{
    if (*position >= section->size) {
        return 0;
    }
    struct sbx_byte_reader reader;
    int result = open_entry(section, *position, &reader);
    if (result == -ENOENT) {
        return 0;
    }
    if (result == -EINVAL) {
        return result;
    }
    entry_out->position = *position;
    *position = (uint32_t)(reader.end - section->bytes);
    if (result == -ENOTSUP) {
        return result;
    }
    entry_out->is_fde = sbx_read_u32(&reader) != 0;
    return 1;
}

int sbx_eh_fde_cie(const struct sbx_eh_section *section, uint32_t position, uint32_t *cie_position_out)
{
    struct sbx_byte_reader reader;
    if (open_entry(section, position, &reader) != 0) {
        return -EINVAL;
    }
    uint64_t id_position = (uint64_t)(reader.at - section->bytes);
    uint32_t distance = sbx_read_u32(&reader); /* an offset back from this field to the CIE */
    if (reader.damaged || distance == 0 || distance > id_position) {
        return -EINVAL;
    }
    *cie_position_out = (uint32_t)(id_position - distance);
    return 0;
}

int sbx_eh_fde_read(const struct sbx_eh_section *section, uint32_t position, const struct sbx_eh_cie *cie,
                    struct sbx_eh_fde *fde_out)
{
    struct sbx_byte_reader reader;
    if (open_entry(section, position, &reader) != 0) {
        return -EINVAL;
    }
    (void)sbx_read_u32(&reader); /* the caller has found the CIE already */
    fde_out->cie_position = cie->position;
    fde_out->begin = read_encoded_address(&reader, cie->pointer_encoding, section, NULL);
    uint64_t bytes = read_encoded_number(&reader, cie->pointer_encoding);
    if (cie->has_augmentation) {
        (void)sbx_read_span(&reader, sbx_read_uleb(&reader)); /* data of the language, such as the LSDA */
    }
    if (reader.damaged || bytes == 0 || bytes > UINT64_MAX - fde_out->begin) {
        return -EINVAL;
    }
    fde_out->end = fde_out->begin + bytes;
    fde_out->program = reader.at;
    fde_out->program_bytes = sbx_bytes_left(&reader);
    return 0;
}

/* The augmentation data of a 'z' CIE, in the order of the letters after the 'z'. */
static void read_augmentation(struct sbx_byte_reader *reader, const uint8_t *letters, struct sbx_eh_cie *cie)
{
    for (; *letters != 0; letters++) {
        switch (*letters) {
        case 'R':
            cie->pointer_encoding = sbx_read_u8(reader);
            break;
        case 'P': { /* personality routine: only the size of its address matters */
            uint8_t encoding = sbx_read_u8(reader);
            reader->damaged |= encoding == PE_ALIGNED; /* its padding is not known */
            (void)read_encoded_number(reader, encoding);
            break;
        }
        case 'L':
            (void)sbx_read_u8(reader);
            break;
        case 'S':
            cie->is_signal_frame = true;
            break;
        case 'B': /* aarch64: return addresses are signed with the B key */
        case 'G': /* aarch64: memory tagging */
            break;
        default: /* the data of an unknown letter has an unknown size, so what follows it cannot be read */
            reader->damaged = true;
            return;
        }
    }
}

int sbx_eh_cie_read(const struct sbx_eh_section *section, uint32_t position, struct sbx_eh_cie *cie_out)
{
    struct sbx_byte_reader reader;
    if (open_entry(section, position, &reader) != 0 || sbx_read_u32(&reader) != 0) {
        return -EINVAL;
    }
    *cie_out = (struct sbx_eh_cie){.position = position, .pointer_encoding = PE_ABSPTR};
    uint8_t version = sbx_read_u8(&reader);
    if (version != 1 && version != 3 && version != 4) {
        return -EINVAL;
    }
    const uint8_t *letters = reader.at;
    while (!reader.damaged && sbx_read_u8(&reader) != 0) {
        reader.damaged |= reader.at - letters > AUGMENTATION_MAX;
    }
    if (version == 4 && (sbx_read_u8(&reader) != sizeof(uint64_t) || sbx_read_u8(&reader) != 0)) {
        return -EINVAL; /* other address size, or segments */
    }
    cie_out->code_align = sbx_read_uleb(&reader);
    cie_out->data_align = sbx_read_sleb(&reader);
    cie_out->return_register = version == 1 ? sbx_read_u8(&reader) : sbx_read_uleb(&reader);
    if (reader.damaged) {
        return -EINVAL;
    }
    if (*letters == 'z') {
        cie_out->has_augmentation = true;
        uint64_t bytes = sbx_read_uleb(&reader);
        const uint8_t *begin = sbx_read_span(&reader, bytes);
        if (begin == NULL) {
            return -EINVAL;
        }
        struct sbx_byte_reader augmentation = {begin, begin + bytes, reader.damaged};
        read_augmentation(&augmentation, letters + 1, cie_out);
        if (augmentation.damaged) {
            return -EINVAL;
        }
    } else if (*letters != 0) {
        return -EINVAL; /* the "eh" of gcc 2, or an augmentation newer than this code */
    }
    cie_out->program = reader.at;
    cie_out->program_bytes = sbx_bytes_left(&reader);
    return cie_out->program_bytes <= SBX_CIE_PROGRAM_MAX ? 0 : -EINVAL;
}
