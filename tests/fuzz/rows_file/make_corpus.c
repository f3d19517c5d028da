/* SPDX-License-Identifier: Apache-2.0 */
/* make_corpus.c - writes the seeds of this target: make_rows_corpus FOLDER. Rows made by hand, complete and damaged;
 * each after the byte of mode that makes the fuzz target set their encoding and checksum right. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rows_file.h"
#include "unwind_rule.h"

static void write_seed(const char *folder, const char *name, uint8_t mode, const struct sbx_rows_file_header *header,
                       const uint32_t *words, size_t count)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(&mode, 1, 1, file) != 1 || fwrite(header, sizeof *header, 1, file) != 1 ||
        fwrite(words, sizeof *words, count, file) != count || fclose(file) != 0) {
        perror(path);
        exit(1);
    }
}

static struct sbx_rows_file_header make_rows(uint32_t *words, uint32_t row_count, uint32_t distance, size_t *count_out)
{
    struct sbx_rows_key key = {.build_id_bytes = 20, .text_begin = 0x1000, .text_end = 0x1000 + row_count * distance};
    uint32_t bucket_count = ((row_count - 1) * distance >> SBX_ROWS_BUCKET_SHIFT) + 1;
    uint32_t *offsets = words + bucket_count + 1, *rules = offsets + row_count;
    for (uint32_t i = 0; i < row_count; i++) {
        offsets[i] = i * distance;
        rules[i] = i + 1 == row_count ? SBX_RULE_NONE : (1 + i % 9) << SBX_RULE_VALUE_SHIFT | SBX_RULE_FROM_SP;
    }
    for (uint32_t i = 0, row = 0; i < bucket_count; i++) {
        while (row < row_count && offsets[row] >> SBX_ROWS_BUCKET_SHIFT < i) {
            row++;
        }
        words[i] = row;
    }
    words[bucket_count] = row_count;
    struct sbx_unwind_rows rows = {
        .buckets = words, .offsets = offsets, .rules = rules, .count = row_count, .bucket_count = bucket_count};
    struct sbx_rows_file_header header;
    if (sbx_rows_file_describe(&key, &rows, &header) != 0) {
        exit(1);
    }
    *count_out = bucket_count + 1 + 2 * (size_t)row_count;
    return header;
}

int main(int count, char **arguments)
{
    static uint32_t words[4096];
    static const struct {
        const char *name;
        uint32_t rows, distance;
    } shapes[] = {{"two", 2, 16}, {"dense", 40, 24}, {"sparse", 12, 0x2345}, {"many", 300, 0x77}};
    if (count != 2) {
        fprintf(stderr, "usage: make_rows_corpus FOLDER\n");
        return 2;
    }
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        size_t used;
        struct sbx_rows_file_header header = make_rows(words, shapes[i].rows, shapes[i].distance, &used);
        write_seed(arguments[1], shapes[i].name, 1, &header, words, used);
    }
    size_t used;
    struct sbx_rows_file_header header = make_rows(words, 40, 0x345, &used);
    write_seed(arguments[1], "as_is", 0, &header, words, used);
    header.row_count = UINT32_MAX;
    write_seed(arguments[1], "too_many_rows", 1, &header, words, used);
    header = make_rows(words, 40, 0x345, &used);
    words[3] = UINT32_MAX;
    write_seed(arguments[1], "bad_bucket", 1, &header, words, used);
    header = make_rows(words, 40, 0x345, &used);
    write_seed(arguments[1], "short", 1, &header, words, used / 2);
    return 0;
}
