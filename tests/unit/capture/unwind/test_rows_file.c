/* SPDX-License-Identifier: Apache-2.0 */
/* test_rows_file.c - the file format of rows: a written file is read back, and any other bytes are refused. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "guarded_bytes.h"
#include "rows_file.h"
#include "rows_sample.h"
#include "unwind_rule.h"

enum {
    ROWS = 40,
    FILE_MAX = 4096
};

/* A whole file in memory. */
struct file {
    _Alignas(8) uint8_t bytes[FILE_MAX];
    size_t size;
    struct sbx_rows_key key;
    uint32_t *buckets, *offsets, *rules;
    uint32_t bucket_count;
};

static struct sbx_rows_file_header *header_of(struct file *file)
{
    return (struct sbx_rows_file_header *)(void *)file->bytes;
}

static void make_file(struct file *file)
{
    struct sbx_unwind_rows rows = sample_rows(1, ROWS);
    file->key = sample_key(1);
    assert_int_equal(sbx_rows_file_describe(&file->key, &rows, header_of(file)), 0);
    file->size = header_of(file)->file_bytes;
    assert_int_equal(file->size, sizeof(struct sbx_rows_file_header) + rows.pages_bytes);
    assert_true(file->size <= FILE_MAX);
    memcpy(file->bytes + sizeof(struct sbx_rows_file_header), rows.pages, rows.pages_bytes);
    file->buckets = (uint32_t *)(void *)(file->bytes + sizeof(struct sbx_rows_file_header));
    file->bucket_count = rows.bucket_count;
    file->offsets = file->buckets + rows.bucket_count + 1;
    file->rules = file->offsets + ROWS;
    sbx_unwind_rows_release(&rows);
}

static int check(struct file *file)
{
    struct sbx_unwind_rows rows;
    int result = sbx_rows_file_check(file->bytes, file->size, &file->key, &rows);
    if (result != 0) {
        assert_null(rows.offsets);
    }
    return result;
}

/* Give the file a correct checksum, as a writer would that believed its content. Then only the content is wrong. */
static int check_with_true_checksum(struct file *file)
{
    header_of(file)->checksum = sbx_rows_file_checksum(file->bytes, file->size);
    return check(file);
}

static void test_checksum_is_xxh64(void **state)
{
    (void)state;
    /* Values from the specification and from xxhsum's own sanity checks. */
    assert_true(sbx_xxh64((const uint8_t *)"", 0, 0) == UINT64_C(0xef46db3751d8e999));
    assert_true(sbx_xxh64((const uint8_t *)"a", 1, 0) == UINT64_C(0xd24ec4f1a98c6e5b));
    assert_true(sbx_xxh64((const uint8_t *)"abc", 3, 0) == UINT64_C(0x44bc2cf5ad770999));
    const char *long_text = "Nobody inspects the spammish repetition";
    assert_true(sbx_xxh64((const uint8_t *)long_text, strlen(long_text), 0) == UINT64_C(0xfbcea83c8a378bf1));
}

static void test_what_was_described_is_read_back(void **state)
{
    (void)state;
    struct file file;
    struct sbx_unwind_rows read_back, rows = sample_rows(1, ROWS);
    make_file(&file);
    assert_int_equal(sbx_rows_file_check(file.bytes, file.size, &file.key, &read_back), 0);
    assert_rows_equal(&rows, &read_back);
    assert_null(read_back.pages);
    sbx_unwind_rows_release(&rows);
}

static void test_every_flipped_bit_is_noticed(void **state)
{
    (void)state;
    struct file file;
    make_file(&file);
    for (size_t at = 0; at < file.size; at++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            file.bytes[at] ^= (uint8_t)(1u << bit);
            assert_int_not_equal(check(&file), 0);
            file.bytes[at] ^= (uint8_t)(1u << bit);
        }
    }
    assert_int_equal(check(&file), 0);
}

static void test_every_shorter_file_is_refused_and_nothing_beyond_it_read(void **state)
{
    (void)state;
    struct file file;
    struct guarded_bytes guarded;
    struct sbx_unwind_rows rows;
    make_file(&file);
    guarded_bytes_init(&guarded, file.size);
    for (size_t size = 0; size < file.size; size++) {
        guarded_bytes_set(&guarded, file.bytes, size);
        assert_int_equal(sbx_rows_file_check(guarded.at, size, &file.key, &rows), -EINVAL);
        if (size >= sizeof(struct sbx_rows_file_header)) { /* truncated, with a size that was corrected */
            struct sbx_rows_file_header header = *header_of(&file);
            header.file_bytes = size;
            memcpy(guarded.at, &header, sizeof header);
            header.checksum = sbx_rows_file_checksum(guarded.at, size);
            memcpy(guarded.at, &header, sizeof header);
            assert_int_equal(sbx_rows_file_check(guarded.at, size, &file.key, &rows), -EINVAL);
        }
    }
    guarded_bytes_set(&guarded, file.bytes, file.size);
    assert_int_equal(sbx_rows_file_check(guarded.at, file.size, &file.key, &rows), 0);
    guarded_bytes_finish(&guarded);
}

static void test_rows_of_another_module_or_version_are_stale(void **state)
{
    (void)state;
    struct file file;
    struct sbx_unwind_rows rows;
    make_file(&file);
    struct sbx_rows_key other[6];
    for (unsigned i = 0; i < SBX_COUNT_OF(other); i++) {
        other[i] = file.key;
    }
    other[0].build_id[19] ^= 1;
    other[1].build_id_bytes--;
    other[2].text_begin += 4096;
    other[3].text_end += 4096;
    other[4].eh_frame_hdr_address += 8;
    other[5].eh_frame_hdr_bytes += 8;
    for (unsigned i = 0; i < SBX_COUNT_OF(other); i++) {
        assert_int_equal(sbx_rows_file_check(file.bytes, file.size, &other[i], &rows), -ESTALE);
    }
    struct sbx_rows_file_header *header = header_of(&file);
    header->encoding++;
    assert_int_equal(check_with_true_checksum(&file), -ESTALE);
    header->encoding--;
    header->machine++;
    assert_int_equal(check_with_true_checksum(&file), -ESTALE);
    header->machine--;
    header->version++;
    assert_int_equal(check_with_true_checksum(&file), -ESTALE);
    header->version--;
    header->magic[7] ^= 1;
    assert_int_equal(check_with_true_checksum(&file), -ESTALE);
    header->magic[7] ^= 1;
    assert_int_equal(check_with_true_checksum(&file), 0);
}

/* Everything that the walker relies on is checked, even if the checksum is correct. */
static void test_rows_that_break_an_invariant_are_refused(void **state)
{
    (void)state;
    struct file file;
    make_file(&file);
    for (uint32_t i = 0; i <= file.bucket_count; i++) {
        const uint32_t wrong[] = {file.buckets[i] + 1, file.buckets[i] - 1, UINT32_MAX, ROWS + 1};
        for (unsigned w = 0; w < SBX_COUNT_OF(wrong); w++) {
            uint32_t before = file.buckets[i];
            file.buckets[i] = wrong[w];
            assert_int_equal(check_with_true_checksum(&file), -EINVAL);
            file.buckets[i] = before;
        }
    }
    for (uint32_t i = 1; i < ROWS; i++) {
        uint32_t offset = file.offsets[i], rule = file.rules[i];
        file.offsets[i] = file.offsets[i - 1];
        assert_int_equal(check_with_true_checksum(&file), -EINVAL);
        file.offsets[i] = offset;
        file.rules[i] = file.rules[i - 1];
        assert_int_equal(check_with_true_checksum(&file), -EINVAL);
        file.rules[i] = rule;
    }
    file.rules[ROWS - 1] = SBX_RULE_END;
    assert_int_equal(check_with_true_checksum(&file), -EINVAL);
    file.rules[ROWS - 1] = SBX_RULE_NONE;
    file.key.text_end = header_of(&file)->text_end = file.key.text_begin + file.offsets[ROWS - 1] - 1;
    assert_int_equal(check_with_true_checksum(&file), -EINVAL);
    file.key.text_end = ++header_of(&file)->text_end;
    assert_int_equal(check_with_true_checksum(&file), 0);
}

static void test_counts_that_do_not_fit_the_size_are_refused(void **state)
{
    (void)state;
    struct file file;
    make_file(&file);
    struct sbx_rows_file_header *header = header_of(&file), before = *header;
    static const uint32_t counts[] = {0, 1, ROWS - 1, ROWS + 1, UINT32_MAX, UINT32_MAX / 2, 1u << 30};
    for (unsigned i = 0; i < SBX_COUNT_OF(counts); i++) {
        header->row_count = counts[i];
        assert_int_equal(check_with_true_checksum(&file), -EINVAL);
        header->bucket_count = UINT32_MAX - 2 * counts[i]; /* 32-bit arithmetic would give the right size */
        assert_int_equal(check_with_true_checksum(&file), -EINVAL);
        *header = before;
    }
    /* One row less and two buckets more need as many words. */
    header->row_count--;
    header->bucket_count += 2;
    assert_int_equal(check_with_true_checksum(&file), -EINVAL);
}

static void test_rows_too_large_to_keep_are_not_described(void **state)
{
    (void)state;
    struct sbx_rows_file_header header;
    struct sbx_rows_key key = sample_key(1);
    struct sbx_unwind_rows rows = sample_rows(1, ROWS);
    rows.count = SBX_ROWS_FILE_MAX / 8;
    assert_int_equal(sbx_rows_file_describe(&key, &rows, &header), -E2BIG);
    sbx_unwind_rows_release(&rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_checksum_is_xxh64),
        cmocka_unit_test(test_what_was_described_is_read_back),
        cmocka_unit_test(test_every_flipped_bit_is_noticed),
        cmocka_unit_test(test_every_shorter_file_is_refused_and_nothing_beyond_it_read),
        cmocka_unit_test(test_rows_of_another_module_or_version_are_stale),
        cmocka_unit_test(test_rows_that_break_an_invariant_are_refused),
        cmocka_unit_test(test_counts_that_do_not_fit_the_size_are_refused),
        cmocka_unit_test(test_rows_too_large_to_keep_are_not_described),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
