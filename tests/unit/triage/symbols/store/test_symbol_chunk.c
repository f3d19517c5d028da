/* SPDX-License-Identifier: Apache-2.0 */
/* test_symbol_chunk.c - a chunk gives back its spans, and damaged chunks are refused before any lookup. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "symbol_chunk.h"

enum {
    BEGIN = 0x5000
};

static struct sbx_places *places;
static uint32_t outer, inner;
static struct sbx_chunk_writer *writer;

static int set_up(void **state)
{
    (void)state;
    places = sbx_places_create();
    uint32_t main_name = sbx_places_add_text(places, "main"), inlined_name = sbx_places_add_text(places, "_Z7inlinedv");
    uint32_t main_function = sbx_places_add_function(places, (struct sbx_function){main_name, SBX_SYMBOLS_DWARF, true});
    uint32_t inlined = sbx_places_add_function(places, (struct sbx_function){inlined_name, SBX_SYMBOLS_DWARF, false});
    uint32_t file = sbx_places_add_text(places, "/src/main.c");
    outer = sbx_places_add(places, (struct sbx_place){main_function, file, 10, 0});
    uint32_t call = sbx_places_add(places, (struct sbx_place){main_function, file, 12, 0});
    inner = sbx_places_add(places, (struct sbx_place){inlined, file, 3, call});
    writer = sbx_chunk_writer_create(places);
    return places == NULL || writer == NULL || sbx_places_failed(places);
}

static int tear_down(void **state)
{
    (void)state;
    sbx_chunk_writer_destroy(writer);
    sbx_places_destroy(places);
    return 0;
}

/* The chunk of `spans` in memory of its exact size, so that a sanitizer sees every read past the end. */
static uint8_t *encode(const struct sbx_span *spans, size_t count, size_t *bytes_out)
{
    const uint8_t *bytes;
    assert_int_equal(sbx_chunk_writer_encode(writer, BEGIN, spans, count, &bytes, bytes_out), 0);
    uint8_t *copy = malloc(*bytes_out);
    memcpy(copy, bytes, *bytes_out);
    return copy;
}

static void test_every_offset_gets_its_place_and_gaps_get_none(void **state)
{
    (void)state;
    const struct sbx_span spans[] = {
        {BEGIN + 0x10, BEGIN + 0x20, outer}, {BEGIN + 0x20, BEGIN + 0x28, inner}, {BEGIN + 0x40, BEGIN + 0x50, outer}};
    size_t bytes;
    uint8_t *copy = encode(spans, 3, &bytes);
    struct sbx_symbol_chunk chunk;
    struct sbx_code_frame frames[4];
    assert_int_equal(sbx_symbol_chunk_open(copy, bytes, &chunk), 0);
    for (uint32_t at = 0; at < SBX_CHUNK_CODE_BYTES; at++) {
        size_t expected = (at >= 0x10 && at < 0x20) || (at >= 0x40 && at < 0x50) ? 1 : at >= 0x20 && at < 0x28 ? 2 : 0;
        assert_int_equal(sbx_symbol_chunk_find(&chunk, at, frames, 4), expected);
        if (expected == 1) {
            assert_string_equal(frames[0].name, "main");
            assert_true(frames[0].is_readable && !frames[0].inlined);
            assert_int_equal(frames[0].line, 10);
        } else if (expected == 2) {
            assert_string_equal(frames[0].name, "_Z7inlinedv");
            assert_string_equal(frames[1].file, "/src/main.c");
            assert_true(frames[0].inlined && !frames[0].is_readable && frames[1].line == 12);
            assert_int_equal(frames[1].source, SBX_SYMBOLS_DWARF);
        }
    }
    assert_int_equal(sbx_symbol_chunk_find(&chunk, 0x20, frames, 1), 1);
    free(copy);
}

static void test_a_range_that_spans_chunks_is_in_each(void **state)
{
    (void)state;
    const struct sbx_span spans[] = {{BEGIN - 100, BEGIN + 3 * SBX_CHUNK_CODE_BYTES, inner}};
    struct sbx_code_frame frames[4];
    for (uint64_t begin = BEGIN - SBX_CHUNK_CODE_BYTES; begin < BEGIN + 3 * SBX_CHUNK_CODE_BYTES;
         begin += SBX_CHUNK_CODE_BYTES) {
        const uint8_t *bytes;
        size_t count;
        struct sbx_symbol_chunk chunk;
        assert_int_equal(sbx_chunk_writer_encode(writer, begin, spans, 1, &bytes, &count), 0);
        assert_int_equal(sbx_symbol_chunk_open(bytes, count, &chunk), 0);
        assert_int_equal(sbx_symbol_chunk_find(&chunk, SBX_CHUNK_CODE_BYTES - 1, frames, 4), 2);
        assert_int_equal(sbx_symbol_chunk_find(&chunk, 0, frames, 4), begin < BEGIN ? 0 : 2);
    }
}

static void test_equal_spans_give_equal_bytes(void **state)
{
    (void)state;
    const struct sbx_span spans[] = {{BEGIN, BEGIN + 7, outer}, {BEGIN + 9, BEGIN + 12, inner}};
    size_t first_bytes, other_bytes, second_bytes;
    uint8_t *first = encode(spans, 2, &first_bytes), *other = encode(spans + 1, 1, &other_bytes);
    uint8_t *second = encode(spans, 2, &second_bytes);
    assert_int_equal(first_bytes, second_bytes);
    assert_memory_equal(first, second, first_bytes);
    assert_true(other_bytes < first_bytes);
    free(first);
    free(other);
    free(second);
}

/* Every byte is changed to several values: the chunk is refused, or every lookup stays inside of its bytes. */
static void test_a_damaged_chunk_is_refused_or_harmless(void **state)
{
    (void)state;
    const struct sbx_span spans[] = {{BEGIN, BEGIN + 7, outer}, {BEGIN + 9, BEGIN + 12, inner}};
    static const uint8_t values[] = {0, 1, 2, 0x7f, 0x80, 0xff};
    size_t bytes, refused = 0;
    uint8_t *copy = encode(spans, 2, &bytes);
    struct sbx_symbol_chunk chunk;
    struct sbx_code_frame frames[SBX_INLINES_MAX];
    for (size_t i = 0; i < bytes; i++) {
        uint8_t kept = copy[i];
        for (size_t v = 0; v < sizeof values; v++) {
            copy[i] = values[v];
            if (sbx_symbol_chunk_open(copy, bytes, &chunk) != 0) {
                refused++;
                continue;
            }
            for (uint32_t at = 0; at < 16; at++) {
                size_t count = sbx_symbol_chunk_find(&chunk, at, frames, SBX_INLINES_MAX);
                for (size_t f = 0; f < count; f++) {
                    assert_true(strlen(frames[f].name) < bytes);
                    assert_true(frames[f].file == NULL || strlen(frames[f].file) < bytes);
                }
            }
        }
        copy[i] = kept;
    }
    assert_true(refused > 100);
    for (size_t cut = 0; cut < bytes; cut++) {
        uint8_t *shorter = malloc(cut + 1);
        memcpy(shorter, copy, cut);
        assert_int_not_equal(sbx_symbol_chunk_open(shorter, cut, &chunk), 0);
        free(shorter);
    }
    free(copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_offset_gets_its_place_and_gaps_get_none),
        cmocka_unit_test(test_a_range_that_spans_chunks_is_in_each),
        cmocka_unit_test(test_equal_spans_give_equal_bytes),
        cmocka_unit_test(test_a_damaged_chunk_is_refused_or_harmless),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
