/* SPDX-License-Identifier: Apache-2.0 */
/* test_call_sites.c - data that is remembered for places in compiled code is returned for the same compilation only. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <string.h>

#include "call_sites.h"
#include "order.h"

enum {
    COMPILE_ID = 64, /* offset in the made-up blob */
    BLOCK_BYTES = 16,
    BLOB = 1024,
    THREAD_COUNT = 4,
    TURNS = 200000
};

static const struct sbx_vm_layout layout = {.compile_id = COMPILE_ID, .block_used = 8, .block_bytes = BLOCK_BYTES};

static struct {
    _Alignas(64) uint8_t memory[4096];
    uint8_t segments[32];
    struct sbx_code code;
    struct sbx_call_sites sites;
} the;

static void put_compile_id(uint32_t number)
{
    memcpy(the.memory + BLOB + COMPILE_ID, &number, sizeof number);
}

static int setup(void **state)
{
    (void)state;
    memset(&the, 0, sizeof the);
    the.code = (struct sbx_code){.kind = SBX_CODE_COMPILED,
                                 .bytes = 512,
                                 .frame_words = 6,
                                 .blob = (uint64_t)(uintptr_t)the.memory + BLOB,
                                 .segment = (uint64_t)(uintptr_t)&the.segments[8]};
    the.memory[BLOB - BLOCK_BYTES + 8] = 1; /* in use */
    put_compile_id(77);
    return 0;
}

static uint64_t pc_at(uint32_t offset)
{
    return the.code.blob + 128 + offset;
}

static void put_place(uint32_t offset, uint32_t count)
{
    struct sbx_call_site site = sbx_call_site_of(&the.code, &layout, pc_at(offset));
    for (uint32_t i = 0; i < count; i++) {
        site.methods[i] =
            (struct sbx_site_method){.method = 0x1000 + i, .id = 0x2000 + i, .bci = (int32_t)i, .line = i + 10};
    }
    site.count = count;
    sbx_call_site_put(&the.sites, &site);
}

static bool is_known(uint32_t offset)
{
    struct sbx_call_site site;
    return sbx_call_site_find(&the.sites, &layout, pc_at(offset), &site);
}

static void test_a_place_is_told_with_its_methods_as_it_was_put(void **state)
{
    (void)state;
    struct sbx_call_site site;
    assert_false(is_known(5));
    put_place(5, 3);
    assert_true(sbx_call_site_find(&the.sites, &layout, pc_at(5), &site));
    assert_int_equal(site.frame_words, 6);
    assert_int_equal(site.count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(site.methods[i].method, 0x1000 + i);
        assert_int_equal(site.methods[i].id, 0x2000 + i);
        assert_int_equal(site.methods[i].bci, i);
        assert_int_equal(site.methods[i].line, i + 10);
    }
    assert_false(is_known(6));
}

static void test_another_compilation_at_the_same_address_is_not_told_as_the_one_before(void **state)
{
    (void)state;
    put_place(5, 1);
    put_compile_id(78);
    assert_false(is_known(5));
    put_place(5, 2); /* its own compilation */
    assert_true(is_known(5));
    put_compile_id(77); /* compile ids are not reused; if one were, the last entry would count */
    assert_false(is_known(5));
}

static void test_a_block_that_was_freed_has_no_places(void **state)
{
    (void)state;
    put_place(5, 1);
    the.memory[BLOB - BLOCK_BYTES + 8] = 0;
    assert_false(is_known(5));
}

static void test_a_block_that_became_part_of_another_has_no_places(void **state)
{
    (void)state;
    put_place(5, 1);
    the.segments[8] = 3; /* the larger one begins three segments before; the old header bytes are still there */
    assert_false(is_known(5));
}

static void test_a_compilation_without_a_number_is_not_kept(void **state)
{
    (void)state;
    put_compile_id(0);
    put_place(5, 1);
    assert_false(is_known(5));
}

static void test_more_methods_than_there_is_room_for_are_not_kept(void **state)
{
    (void)state;
    struct sbx_call_site site = sbx_call_site_of(&the.code, &layout, pc_at(5));
    site.count = SBX_SITE_METHODS + 1;
    sbx_call_site_put(&the.sites, &site);
    assert_false(is_known(5));
    site.count = 0;
    sbx_call_site_put(&the.sites, &site);
    assert_false(is_known(5));
}

/* The entry that holds the place. */
static struct sbx_call_entry *entry_of(uint32_t offset)
{
    for (uint32_t i = 0; i < SBX_CALL_SITES; i++) {
        if (the.sites.entries[i].pc == pc_at(offset)) {
            return &the.sites.entries[i];
        }
    }
    fail_msg("there is no entry of it");
    return NULL;
}

static void test_a_handler_that_interrupted_a_writer_finds_nothing_and_writes_nothing(void **state)
{
    (void)state;
    put_place(5, 1);
    struct sbx_call_entry *entry = entry_of(5);
    entry->sequence |= 1;
    assert_false(is_known(5));
    put_place(5, 2);
    assert_int_equal(entry->count, 1);
    entry->sequence++;
    assert_true(is_known(5));
}

static uint32_t mixed;

static void *put_and_find(void *number)
{
    uint32_t mine = (uint32_t)(uintptr_t)number;
    for (uint32_t turn = 0; turn < TURNS; turn++) {
        struct sbx_call_site site = sbx_call_site_of(&the.code, &layout, pc_at(5));
        site.frame_words = mine;
        site.count = 1 + mine % SBX_SITE_METHODS;
        for (uint32_t i = 0; i < site.count; i++) {
            site.methods[i] = (struct sbx_site_method){.method = mine, .id = mine, .bci = (int32_t)mine, .line = mine};
        }
        sbx_call_site_put(&the.sites, &site);
        if (!sbx_call_site_find(&the.sites, &layout, pc_at(5), &site)) {
            continue;
        }
        bool is_one = site.count == 1 + site.frame_words % SBX_SITE_METHODS;
        for (uint32_t i = 0; i < site.count && is_one; i++) {
            const struct sbx_site_method *it = &site.methods[i];
            is_one = it->method == site.frame_words && it->id == site.frame_words && it->line == site.frame_words &&
                     (uint32_t)it->bci == site.frame_words;
        }
        if (!is_one) {
            (void)sbx_add_relaxed(&mixed, 1);
        }
    }
    return NULL;
}

static void test_threads_that_write_and_read_at_once_never_see_a_mixture(void **state)
{
    (void)state;
    pthread_t threads[THREAD_COUNT];
    for (uint32_t i = 0; i < THREAD_COUNT; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, put_and_find, (void *)(uintptr_t)(i + 1)), 0);
    }
    for (uint32_t i = 0; i < THREAD_COUNT; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_int_equal(mixed, 0);
    assert_true(is_known(5));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_a_place_is_told_with_its_methods_as_it_was_put, setup),
        cmocka_unit_test_setup(test_another_compilation_at_the_same_address_is_not_told_as_the_one_before, setup),
        cmocka_unit_test_setup(test_a_block_that_was_freed_has_no_places, setup),
        cmocka_unit_test_setup(test_a_block_that_became_part_of_another_has_no_places, setup),
        cmocka_unit_test_setup(test_a_compilation_without_a_number_is_not_kept, setup),
        cmocka_unit_test_setup(test_more_methods_than_there_is_room_for_are_not_kept, setup),
        cmocka_unit_test_setup(test_a_handler_that_interrupted_a_writer_finds_nothing_and_writes_nothing, setup),
        cmocka_unit_test_setup(test_threads_that_write_and_read_at_once_never_see_a_mixture, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
