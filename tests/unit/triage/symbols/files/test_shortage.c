/* SPDX-License-Identifier: Apache-2.0 */
/* test_shortage.c - a name that is not found because memory ran out is missing only now, not for ever, and that is
 * counted. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "shortage.h"
#include "symbol_file.h"
#include "symbol_image.h"
#include "symbol_places.h"
#include "symbol_spans.h"

enum {
    CODE = 0x1000,
    CODE_BYTES = 0x100
};

/* An image whose chunks are in another image, which returns them or fails with `failure`. */
struct failing_source {
    struct sbx_symbol_image *whole;
    int failure;
};

static int read_head(void *context, uint8_t **head_out, size_t *count_out, uint64_t *generation_out)
{
    struct failing_source *source = context;
    *generation_out = 1;
    return sbx_symbol_image_read_head(source->whole, head_out, count_out);
}

static int fetch(void *context, struct sbx_image_chunk *chunks, size_t count)
{
    struct failing_source *source = context;
    for (size_t i = 0; i < count && source->failure == 0; i++) {
        chunks[i].is_there = sbx_symbol_image_read_chunk(source->whole, chunks[i].index, chunks[i].bytes) == 0;
    }
    return source->failure;
}

static void tell_lost(void *context, size_t chunks)
{
    (void)context, (void)chunks;
}

static void close_source(void *context)
{
    struct failing_source *source = context;
    sbx_symbol_image_close(source->whole);
}

static const struct sbx_image_calls calls = {
    .read_head = read_head, .fetch = fetch, .tell_lost = tell_lost, .close = close_source};

/* The symbol file of such an image with one function, "main". */
static struct sbx_symbol_file *open_file(struct failing_source *source)
{
    struct sbx_places *places = sbx_places_create();
    struct sbx_image_facts facts = {.build_id = {1}, .build_id_bytes = 20, .best = SBX_SYMBOLS_DWARF, .made_s = 1};
    struct sbx_symbol_image *image;
    uint32_t text = sbx_places_add_text(places, "main");
    uint32_t function = sbx_places_add_function(places, (struct sbx_function){text, SBX_SYMBOLS_DWARF, false});
    const struct sbx_span span = {CODE, CODE + CODE_BYTES,
                                  sbx_places_add(places, (struct sbx_place){.function = function})};
    int fd = memfd_create("image", MFD_CLOEXEC);
    assert_int_equal(sbx_symbol_image_write(fd, &facts, places, &span, 1), 0);
    sbx_places_destroy(places);
    assert_int_equal(sbx_symbol_image_open(fd, 1 << 20, &source->whole), 0);
    assert_int_equal(
        sbx_symbol_image_open_source((struct sbx_image_source){.calls = &calls, .context = source}, 1 << 20, &image),
        0);
    struct sbx_symbol_file *file = sbx_symbol_file_of_image(image);
    assert_non_null(file);
    return file;
}

static size_t ask(struct sbx_symbol_file *file)
{
    struct sbx_symbol_frame frame;
    enum sbx_symbol_source source;
    return sbx_symbol_file_find(file, CODE + 1, &frame, 1, &source);
}

static void test_a_chunk_that_finds_no_memory_is_noted_as_a_shortage(void **state)
{
    (void)state;
    struct failing_source source = {.failure = -ENOMEM};
    struct sbx_symbol_file *file = open_file(&source);
    uint64_t before = sbx_shortage_count();
    assert_int_equal(ask(file), 0);
    assert_true(sbx_shortage_count() > before);
    assert_int_equal(sbx_shortage_newest(), ENOMEM);
    assert_true(sbx_symbol_file_is_troubled(file));
    sbx_symbol_file_close(file);
}

static void test_chunks_that_are_fetched_at_once_are_noted_too(void **state)
{
    (void)state;
    struct failing_source source = {.failure = -ENOMEM};
    struct sbx_symbol_file *file = open_file(&source);
    const uint64_t offset = CODE + 1;
    uint64_t before = sbx_shortage_count();
    sbx_symbol_file_prefetch(file, &offset, 1);
    assert_true(sbx_shortage_count() > before);
    sbx_symbol_file_close(file);
}

/* When a symbol server is away, its missing names are reported elsewhere (symbol_store.h). Names that exist are no
 * shortage. */
static void test_other_failures_and_answers_are_no_shortage(void **state)
{
    (void)state;
    static const int failures[] = {0, -EHOSTUNREACH, -ETIMEDOUT};
    for (size_t i = 0; i < sizeof failures / sizeof failures[0]; i++) {
        struct failing_source source = {.failure = failures[i]};
        struct sbx_symbol_file *file = open_file(&source);
        uint64_t before = sbx_shortage_count();
        assert_int_equal(ask(file), failures[i] == 0);
        assert_int_equal(sbx_shortage_count(), before);
        sbx_symbol_file_close(file);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_chunk_that_finds_no_memory_is_noted_as_a_shortage),
        cmocka_unit_test(test_chunks_that_are_fetched_at_once_are_noted_too),
        cmocka_unit_test(test_other_failures_and_answers_are_no_shortage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
