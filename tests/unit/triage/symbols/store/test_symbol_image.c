/* SPDX-License-Identifier: Apache-2.0 */
/* test_symbol_image.c - an image gives answers from every chunk; a damaged file is refused or gives no answers. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "symbol_chunk.h"
#include "symbol_image.h"

enum {
    FUNCTIONS = 2000,
    FUNCTION_BYTES = 100,
    FIRST = 0x1010
};

/* Functions one after another; function i is called "f<i>" and is on line i + 1. */
static int write_image(void)
{
    struct sbx_places *places = sbx_places_create();
    struct sbx_spans spans = {0};
    struct sbx_image_facts facts = {.build_id = {1, 2, 3},
                                    .build_id_bytes = 20,
                                    .kind = SBX_IMAGE_DSYM,
                                    .base = UINT64_C(0x100000000),
                                    .best = SBX_SYMBOLS_DWARF};
    strcpy(facts.name, "sample");
    for (uint32_t i = 0; i < FUNCTIONS; i++) {
        char name[16];
        snprintf(name, sizeof name, "f%u", i);
        uint32_t function = sbx_places_add_function(
            places, (struct sbx_function){sbx_places_add_text(places, name), SBX_SYMBOLS_DWARF, false});
        uint32_t place = sbx_places_add(places, (struct sbx_place){.function = function, .line = i + 1});
        uint64_t begin = FIRST + (uint64_t)i * FUNCTION_BYTES;
        assert_int_equal(sbx_spans_add(&spans, (struct sbx_span){begin, begin + FUNCTION_BYTES, place}), 0);
    }
    /* Far away, in the highest possible chunk, where the addresses of kernels are. */
    assert_int_equal(sbx_spans_add(&spans, (struct sbx_span){UINT64_MAX - 20, UINT64_MAX - 1, 1}), 0);
    int fd = memfd_create("image", MFD_CLOEXEC);
    assert_int_equal(sbx_symbol_image_write(fd, &facts, places, spans.spans, spans.count), 0);
    assert_int_equal(facts.function_count, FUNCTIONS);
    assert_int_equal(facts.code_bytes, FUNCTIONS * FUNCTION_BYTES + 19);
    sbx_spans_finish(&spans);
    sbx_places_destroy(places);
    return fd;
}

static void test_every_address_is_answered_however_small_the_cache(void **state)
{
    (void)state;
    for (size_t cache = 0; cache <= 1 << 20; cache = cache == 0 ? 4000 : cache * 16) {
        struct sbx_symbol_image *image;
        struct sbx_code_frame frame;
        uint64_t random = 1;
        assert_int_equal(sbx_symbol_image_open(write_image(), cache, &image), 0);
        assert_string_equal(sbx_symbol_image_facts(image)->name, "sample");
        assert_int_equal(sbx_symbol_image_facts(image)->kind, SBX_IMAGE_DSYM);
        assert_int_equal(sbx_symbol_image_facts(image)->base, UINT64_C(0x100000000));
        assert_int_equal(sbx_symbol_image_facts(image)->best, SBX_SYMBOLS_DWARF);
        for (int round = 0; round < 2000; round++) {
            random = random * UINT64_C(6364136223846793005) + 1;
            uint32_t offset = (uint32_t)((random >> 20) % (FUNCTIONS * FUNCTION_BYTES));
            assert_int_equal(sbx_symbol_image_find(image, FIRST + offset, &frame, 1), 1);
            assert_int_equal(frame.line, offset / FUNCTION_BYTES + 1);
            assert_int_equal(strtoul(frame.name + 1, NULL, 10), offset / FUNCTION_BYTES);
        }
        assert_int_equal(sbx_symbol_image_find(image, FIRST - 1, &frame, 1), 0);
        assert_int_equal(sbx_symbol_image_find(image, FIRST + FUNCTIONS * FUNCTION_BYTES, &frame, 1), 0);
        assert_int_equal(sbx_symbol_image_find(image, 0, &frame, 1), 0);
        assert_int_equal(sbx_symbol_image_find(image, UINT64_MAX - 10, &frame, 1), 1);
        assert_int_equal(sbx_symbol_image_find(image, UINT64_MAX, &frame, 1), 0);
        assert_int_equal(sbx_symbol_image_verify(image), 0);
        sbx_symbol_image_close(image);
    }
}

static void test_a_cut_or_changed_file_is_refused_or_does_not_verify(void **state)
{
    (void)state;
    int whole = write_image();
    struct stat status;
    assert_int_equal(fstat(whole, &status), 0);
    size_t bytes = (size_t)status.st_size;
    uint8_t *content = malloc(bytes);
    assert_int_equal(pread(whole, content, bytes, 0), bytes);
    uint64_t random = 9;
    for (int round = 0; round < 600; round++) {
        struct sbx_symbol_image *image;
        struct sbx_code_frame frame;
        random = random * UINT64_C(6364136223846793005) + 1;
        size_t at = (random >> 20) % (round % 2 == 0 ? 4000 : bytes), kept = round % 5 == 4 ? at : bytes;
        int fd = memfd_create("damaged", MFD_CLOEXEC);
        content[at] ^= 0x41;
        assert_int_equal(write(fd, content, kept), kept);
        content[at] ^= 0x41;
        if (sbx_symbol_image_open(fd, 0, &image) != 0) {
            continue;
        }
        assert_int_not_equal(sbx_symbol_image_verify(image), 0);
        for (uint64_t address = FIRST; address < FIRST + FUNCTIONS * FUNCTION_BYTES; address += 4096) {
            size_t count = sbx_symbol_image_find(image, address, &frame, 1); /* the right answer, or none */
            assert_true(count == 0 || frame.line == (address - FIRST) / FUNCTION_BYTES + 1);
        }
        sbx_symbol_image_close(image);
    }
    free(content);
    close(whole);
}

static void test_another_version_is_told_from_damage(void **state)
{
    (void)state;
    struct sbx_symbol_image *image;
    int fd = write_image();
    assert_int_equal(pwrite(fd, "\xff", 1, 8), 1);
    assert_int_equal(sbx_symbol_image_open(fd, 0, &image), -EPROTONOSUPPORT);
    fd = memfd_create("empty", MFD_CLOEXEC);
    assert_int_equal(sbx_symbol_image_open(fd, 0, &image), -EBADMSG);
}

static void test_more_than_four_gigabytes_of_code_are_refused(void **state)
{
    (void)state;
    struct sbx_places *places = sbx_places_create();
    struct sbx_image_facts facts = {.build_id_bytes = 20};
    const struct sbx_span span = {0, (uint64_t)SBX_IMAGE_CHUNKS_MAX * SBX_CHUNK_CODE_BYTES + 1, 1};
    int fd = memfd_create("image", MFD_CLOEXEC);
    (void)sbx_places_add(places, (struct sbx_place){.line = 1});
    assert_int_equal(sbx_symbol_image_write(fd, &facts, places, &span, 1), -EFBIG);
    close(fd);
    sbx_places_destroy(places);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_address_is_answered_however_small_the_cache),
        cmocka_unit_test(test_a_cut_or_changed_file_is_refused_or_does_not_verify),
        cmocka_unit_test(test_another_version_is_told_from_damage),
        cmocka_unit_test(test_more_than_four_gigabytes_of_code_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
