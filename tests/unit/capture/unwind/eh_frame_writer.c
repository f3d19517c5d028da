/* SPDX-License-Identifier: Apache-2.0 */
/* eh_frame_writer.c - writes .eh_frame, which the product only reads. */
#include "eh_frame_writer.h"

#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

void writer_put(struct eh_frame_writer *writer, const uint8_t *bytes, size_t count)
{
    assert_true(count <= sizeof writer->bytes - writer->count);
    for (size_t i = 0; i < count; i++) { /* not memcpy, because the source of no bytes may be NULL */
        writer->bytes[writer->count++] = bytes[i];
    }
}

void writer_put_number(struct eh_frame_writer *writer, uint64_t value, unsigned bytes)
{
    uint8_t number[8];
    for (unsigned i = 0; i < bytes; i++) {
        number[i] = (uint8_t)(value >> (8 * i));
    }
    writer_put(writer, number, bytes);
}

void writer_open_entry(struct eh_frame_writer *writer)
{
    writer->entry = writer->count;
    writer_put_number(writer, 0, 4);
}

void writer_close_entry(struct eh_frame_writer *writer)
{
    uint32_t length = (uint32_t)(writer->count - writer->entry - 4);
    for (unsigned i = 0; i < 4; i++) {
        writer->bytes[writer->entry + i] = (uint8_t)(length >> (8 * i));
    }
}

uint32_t writer_put_cie_with(struct eh_frame_writer *writer, uint8_t version, const char *augmentation,
                             const uint8_t *data, size_t data_bytes)
{
    writer_open_entry(writer);
    writer_put_number(writer, 0, 4);
    writer_put_number(writer, version, 1);
    writer_put(writer, (const uint8_t *)augmentation, strlen(augmentation) + 1);
    writer_put(writer, WRITER_BYTES(0x01, 0x78, 0x10)); /* code 1, data -8, return address in column 16 */
    if (augmentation[0] == 'z') {
        writer_put_number(writer, data_bytes, 1);
        writer_put(writer, data, data_bytes);
    }
    writer_put(writer, WRITER_BYTES(0x0c, 7, 8, 0x90, 1)); /* def_cfa rsp + 8, offset r16 at CFA - 8 */
    writer_close_entry(writer);
    return (uint32_t)writer->entry;
}

uint32_t writer_put_cie(struct eh_frame_writer *writer, const uint8_t *program, size_t program_bytes)
{
    uint32_t position = writer_put_cie_with(writer, 1, "zR", WRITER_BYTES(0x1b));
    writer_put(writer, program, program_bytes);
    writer_close_entry(writer);
    return position;
}

uint32_t writer_put_fde(struct eh_frame_writer *writer, uint32_t cie, uint64_t begin, uint32_t bytes,
                        const uint8_t *program, size_t program_bytes)
{
    writer_open_entry(writer);
    writer_put_number(writer, writer->count - cie, 4);
    writer_put_number(writer, begin - (WRITER_SECTION_AT + writer->count), 4);
    writer_put_number(writer, bytes, 4);
    writer_put_number(writer, 0, 1); /* no augmentation bytes */
    writer_put(writer, program, program_bytes);
    writer_close_entry(writer);
    return (uint32_t)writer->entry;
}

void writer_put_terminator(struct eh_frame_writer *writer)
{
    writer_put_number(writer, 0, 4);
}

struct sbx_eh_section writer_section(const struct eh_frame_writer *writer)
{
    return (struct sbx_eh_section){writer->bytes, writer->count, WRITER_SECTION_AT};
}
