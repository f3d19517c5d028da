/* SPDX-License-Identifier: Apache-2.0 */
/* rows_sample.c - rows made by hand, for tests of their file and their cache. */
#include "rows_sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "pages.h"
#include "unwind_rule.h"

enum {
    TEXT_AT = 0x1000,
    DISTANCE = 0x340,
    TEXT_BYTES = 0x1000000
};

struct sbx_rows_key sample_key(uint32_t seed)
{
    struct sbx_rows_key key = {.build_id_bytes = 20,
                               .text_begin = TEXT_AT,
                               .text_end = TEXT_AT + TEXT_BYTES,
                               .eh_frame_hdr_address = 0x2000000,
                               .eh_frame_hdr_bytes = 0x400};
    for (uint32_t i = 0; i < key.build_id_bytes; i++) {
        key.build_id[i] = (uint8_t)((seed * 2654435761u) >> (8 * (i & 3)));
    }
    return key;
}

struct sbx_unwind_rows sample_rows(uint32_t seed, uint32_t count)
{
    uint32_t bucket_count = ((count - 1) * DISTANCE >> SBX_ROWS_BUCKET_SHIFT) + 1;
    size_t bytes = (bucket_count + 1 + 2 * (size_t)count) * sizeof(uint32_t);
    uint32_t *words = sbx_pages_map(bytes);
    assert_non_null(words);
    uint32_t *offsets = words + bucket_count + 1, *rules = offsets + count;
    for (uint32_t i = 0; i < count; i++) {
        offsets[i] = i * DISTANCE;
        rules[i] = (1 + (seed + i) % 100) << SBX_RULE_VALUE_SHIFT | SBX_RULE_FROM_SP;
    }
    rules[count - 1] = SBX_RULE_NONE;
    for (uint32_t i = 0; i <= bucket_count; i++) {
        uint32_t first = ((i << SBX_ROWS_BUCKET_SHIFT) + DISTANCE - 1) / DISTANCE;
        words[i] = i == bucket_count || first > count ? count : first;
    }
    return (struct sbx_unwind_rows){.offsets = offsets,
                                    .rules = rules,
                                    .count = count,
                                    .base = TEXT_AT,
                                    .buckets = words,
                                    .bucket_count = bucket_count,
                                    .pages = words,
                                    .pages_bytes = bytes};
}

void assert_rows_equal(const struct sbx_unwind_rows *left, const struct sbx_unwind_rows *right)
{
    assert_int_equal(left->count, right->count);
    assert_int_equal(left->bucket_count, right->bucket_count);
    assert_int_equal(left->base, right->base);
    assert_memory_equal(left->buckets, right->buckets, (left->bucket_count + 1) * sizeof(uint32_t));
    assert_memory_equal(left->offsets, right->offsets, left->count * sizeof(uint32_t));
    assert_memory_equal(left->rules, right->rules, left->count * sizeof(uint32_t));
    for (uint32_t i = 0; i < left->count; i += 1 + left->count / 1000) {
        uint64_t address = left->base + left->offsets[i];
        assert_int_equal(sbx_unwind_rows_find(left, address), left->rules[i]);
        assert_int_equal(sbx_unwind_rows_find(right, address), left->rules[i]);
        assert_int_equal(sbx_unwind_rows_find(right, address - 1), i == 0 ? SBX_RULE_NONE : left->rules[i - 1]);
    }
}
