/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz.c - any bytes as a file of rows: the walker uses it only when no lookup can leave it.
 *
 * Input: one byte of mode, then the file. Bit 0 of the mode sets right what no mutation finds (magic, version,
 * encoding, size, checksum), so that the checks behind them are reached. Without it the file is used unchanged. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"
#include "rows_file.h"
#include "unwind_rule.h"

static void require(int holds)
{
    if (!holds) {
        abort();
    }
}

static void look_up(const struct sbx_unwind_rows *rows, uint64_t address)
{
    uint32_t rule = sbx_unwind_rows_find(rows, address); /* the sanitizer checks what it reads */
    uint64_t offset = address - rows->base;
    uint32_t expected = SBX_RULE_NONE;
    for (uint32_t i = 0; i < rows->count && rows->offsets[i] <= offset; i++) {
        expected = rows->rules[i];
    }
    require(rule == expected);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct sbx_rows_file_header header;
    struct sbx_unwind_rows rows;
    if (bytes < 1 + sizeof header || bytes > 1 << 16) {
        return 0;
    }
    uint8_t mode = *data++;
    bytes--;
    uint8_t *file = malloc(bytes); /* exact size, so that a read past the end is found */
    require(file != NULL);
    memcpy(file, data, bytes);
    memcpy(&header, file, sizeof header);
    if ((mode & 1) != 0) {
        struct sbx_rows_file_header right;
        struct sbx_rows_key none = {0};
        static const uint32_t words[4];
        struct sbx_unwind_rows empty = {.buckets = words, .count = 1, .bucket_count = 1};
        require(sbx_rows_file_describe(&none, &empty, &right) == 0);
        memcpy(header.magic, right.magic, sizeof header.magic);
        header.version = right.version;
        header.encoding = right.encoding;
        header.machine = right.machine;
        header.file_bytes = bytes;
        memcpy(file, &header, sizeof header);
        header.checksum = sbx_rows_file_checksum(file, bytes);
        memcpy(file, &header, sizeof header);
    }
    struct sbx_rows_key key = {.build_id_bytes = header.build_id_bytes,
                               .text_begin = header.text_begin,
                               .text_end = header.text_end,
                               .eh_frame_hdr_address = header.eh_frame_hdr_address,
                               .eh_frame_hdr_bytes = header.eh_frame_hdr_bytes};
    memcpy(key.build_id, header.build_id, sizeof key.build_id);
    if (sbx_rows_file_check(file, bytes, &key, &rows) == 0) {
        for (uint32_t i = 0; i < rows.count; i += 1 + rows.count / 64) {
            look_up(&rows, rows.base + rows.offsets[i]);
            look_up(&rows, rows.base + rows.offsets[i] - 1);
        }
        look_up(&rows, 0);
        look_up(&rows, rows.base - 1);
        look_up(&rows, rows.base + rows.offsets[rows.count - 1] + 4096);
        look_up(&rows, UINT64_MAX);
    } else {
        require(rows.buckets == NULL && rows.count == 0);
    }
    free(file);
    return 0;
}
