/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz.c - any bytes as .eh_frame_hdr and .eh_frame: the rows are valid, or there are none.
 *
 * Input: two bytes with the size of .eh_frame_hdr, then the image that begins with it; .eh_frame is where the header
 * says. Built a second time without the header. The seeds are these two sections of small programs, and entries made by
 * hand. */
#include <stdint.h>
#include <stdlib.h>

#include "fuzz_target.h"
#include "unwind_rows.h"
#include "unwind_rule.h"

enum {
    IMAGE_AT = 0x20000,
    TEXT_END = 0x40000
}; /* the code of the seeds is before their sections */

static void require(int holds)
{
    if (!holds) {
        abort();
    }
}

/* The rows must be sorted, end in a gap, and be found at their begin and at their end. */
static void check_rows(const struct sbx_unwind_rows *rows)
{
    require(rows->count >= 2);
    require(rows->rules[rows->count - 1] == SBX_RULE_NONE);
    for (uint32_t i = 0; i < rows->count; i++) {
        uint64_t address = rows->base + rows->offsets[i];
        require(i == 0 || rows->offsets[i] > rows->offsets[i - 1]);
        require(i == 0 || rows->rules[i] != rows->rules[i - 1]);
        require(sbx_unwind_rows_find(rows, address) == rows->rules[i]);
        require(sbx_unwind_rows_find(rows, address - 1) == (i == 0 ? SBX_RULE_NONE : rows->rules[i - 1]));
    }
}

static void build(const struct sbx_unwind_source *source)
{
    struct sbx_unwind_rows rows;
    uint32_t skipped;
    if (sbx_unwind_rows_build(source, &rows, &skipped) == 0) {
        check_rows(&rows);
    } else {
        require(rows.pages == NULL);
    }
    sbx_unwind_rows_release(&rows);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    if (bytes < 2) {
        return 0;
    }
    size_t header_bytes = data[0] | (size_t)data[1] << 8;
    data += 2;
    bytes -= 2;
    header_bytes = header_bytes < bytes ? header_bytes : bytes;
    struct sbx_unwind_source source = {
        .eh_frame_hdr = data,
        .eh_frame_hdr_bytes = header_bytes,
        .eh_frame_hdr_address = IMAGE_AT,
        .image = data,
        .image_bytes = bytes,
        .image_address = IMAGE_AT,
        .text_begin = 0,
        .text_end = TEXT_END,
    };
    build(&source);
    struct sbx_unwind_source linear = {
        .eh_frame = data + header_bytes,
        .eh_frame_bytes = bytes - header_bytes,
        .eh_frame_address = IMAGE_AT + header_bytes,
        .text_begin = 0,
        .text_end = TEXT_END,
    };
    build(&linear);
    return 0;
}
