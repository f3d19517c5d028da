/* SPDX-License-Identifier: Apache-2.0 */
/* eh_frame_writer.h - writes .eh_frame by hand: the test chooses every byte of the entries. */
#ifndef SBX_TEST_EH_FRAME_WRITER_H
#define SBX_TEST_EH_FRAME_WRITER_H

#include <stddef.h>
#include <stdint.h>

#include "eh_frame.h"

enum {
    WRITER_SECTION_AT = 0x8000, /* address of the section */
    WRITER_TEXT_AT = 0x1000,    /* functions of a test begin here */
};

struct eh_frame_writer {
    uint8_t bytes[16384];
    size_t count;
    size_t entry; /* where the open entry's length is */
};

/* A program as bytes: WRITER_BYTES(DW_CFA_nop, ...) */
#define WRITER_BYTES(...) (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})

void writer_put(struct eh_frame_writer *writer, const uint8_t *bytes, size_t count);
void writer_put_number(struct eh_frame_writer *writer, uint64_t value, unsigned bytes);

/* All bytes that are put between these two calls belong to one entry. */
void writer_open_entry(struct eh_frame_writer *writer);
void writer_close_entry(struct eh_frame_writer *writer);

/* A CIE as gcc writes it ("zR", pcrel sdata4, data alignment -8, return address in column 16) with CFA = rsp + 8 and
 * the return address at CFA - 8, followed by `program`. Returns its position. */
uint32_t writer_put_cie(struct eh_frame_writer *writer, const uint8_t *program, size_t program_bytes);

/* A CIE with another augmentation string and data. */
uint32_t writer_put_cie_with(struct eh_frame_writer *writer, uint8_t version, const char *augmentation,
                             const uint8_t *data, size_t data_bytes);

/* An FDE of that CIE for [begin, begin + bytes). Returns its position. */
uint32_t writer_put_fde(struct eh_frame_writer *writer, uint32_t cie, uint64_t begin, uint32_t bytes,
                        const uint8_t *program, size_t program_bytes);

void writer_put_terminator(struct eh_frame_writer *writer);
struct sbx_eh_section writer_section(const struct eh_frame_writer *writer);

#endif
