/* SPDX-License-Identifier: Apache-2.0 */
/* test_compiled_leaf.c - code of both compilers, and how much of its frame a method has built at each instruction. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "compiled_leaf.h"

/* The state of the frame at each instruction of a method. */
struct at {
    uint8_t offset;
    enum sbx_leaf_frame frame;
};

static void must_be(const char *code, size_t bytes, size_t set, const struct at *places, size_t count)
{
    const uint8_t *entry = (const uint8_t *)code;
    for (size_t i = 0; i < count; i++) {
        enum sbx_leaf_frame found =
            sbx_compiled_leaf(entry, entry + bytes, entry + places[i].offset, places[i].offset < set);
        if (found != places[i].frame) {
            fail_msg("at %u: %d, not %d", places[i].offset, (int)found, (int)places[i].frame);
        }
    }
}

static void test_a_method_that_bangs_the_stack(void **state)
{
    (void)state;
    static const char code[] = "\x89\x84\x24\x00\xc0\xfe\xff" /* 0 mov [rsp-81920], eax */
                               "\x55"                         /* 7 push rbp */
                               "\x48\x83\xec\x20"             /* 8 sub rsp, 32 */
                               "\x90\x90"                     /* 12 */
                               "\x48\x83\xc4\x20"             /* 14 add rsp, 32 */
                               "\x5d"                         /* 18 pop rbp */
                               "\x49\x3b\xa7\x40\x03\x00\x00" /* 19 cmp rsp, [r15+832] */
                               "\x0f\x87\x01\x00\x00\x00"     /* 26 ja */
                               "\xc3"                         /* 32 ret */
                               "\x4c\x8d\x15\xf2\xff\xff\xff" /* 33 lea r10, [rip-14] */
                               "\x4d\x89\x97\x58\x03\x00\x00" /* 40 mov [r15+856], r10 */
                               "\xe9\x00\x00\x00\x00";        /* 47 jmp */
    static const struct at places[] = {
        {0, SBX_LEAF_NONE},   {7, SBX_LEAF_NONE},    {8, SBX_LEAF_PUSHED}, {12, SBX_LEAF_WHOLE},
        {14, SBX_LEAF_WHOLE}, {18, SBX_LEAF_PUSHED}, {19, SBX_LEAF_NONE},  {26, SBX_LEAF_NONE},
        {32, SBX_LEAF_NONE},  {33, SBX_LEAF_NONE},   {40, SBX_LEAF_NONE},  {47, SBX_LEAF_NONE},
    };
    must_be(code, sizeof code - 1, 12, places, sizeof places / sizeof *places);
}

static void test_a_method_that_does_not(void **state)
{
    (void)state;
    static const char code[] = "\x48\x83\xec\x18"     /* 0 sub rsp, 24 */
                               "\x48\x89\x6c\x24\x10" /* 4 mov [rsp+16], rbp */
                               "\x90"                 /* 9 */
                               "\x48\x83\xc4\x10"     /* 10 add rsp, 16 */
                               "\x5d"                 /* 14 */
                               "\xc3";                /* 15 */
    static const struct at places[] = {
        {0, SBX_LEAF_NONE},   {4, SBX_LEAF_UNSAVED_FP}, {9, SBX_LEAF_WHOLE},
        {10, SBX_LEAF_WHOLE}, {14, SBX_LEAF_PUSHED},    {15, SBX_LEAF_NONE},
    };
    must_be(code, sizeof code - 1, 9, places, sizeof places / sizeof *places);
}

static void test_the_wrapper_of_a_native_method(void **state)
{
    (void)state;
    static const char code[] = "\x55\x48\x8b\xec"                 /* 0 push rbp, 1 mov rbp, rsp */
                               "\x48\x81\xec\x00\x01\x00\x00"     /* 4 sub rsp, 256 */
                               "\x41\x81\x7f\x20\x01\x00\x00\x00" /* 11 the barrier's compare */
                               "\x90\xc9\xc3";                    /* 19, 20 leave, 21 ret */
    static const struct at places[] = {
        {0, SBX_LEAF_NONE},   {1, SBX_LEAF_PUSHED}, {4, SBX_LEAF_PUSHED}, {11, SBX_LEAF_WHOLE},
        {19, SBX_LEAF_WHOLE}, {20, SBX_LEAF_WHOLE}, {21, SBX_LEAF_NONE},
    };
    must_be(code, sizeof code - 1, 19, places, sizeof places / sizeof *places);
}

static void test_a_pop_that_nothing_leaves_by_is_no_end(void **state)
{
    (void)state;
    static const char code[] = "\x55\x48\x83\xec\x20\x90\x5d\x90\x90";
    static const struct at places[] = {{6, SBX_LEAF_WHOLE}, {8, SBX_LEAF_WHOLE}};
    must_be(code, sizeof code - 1, 5, places, 2);
}

static void test_nothing_is_read_outside_of_the_method(void **state)
{
    (void)state;
    static const char code[] = "\x90\x49\x3b\xa7\x40\x03\x00\x00\x0f\x87\x01\x00\x00\x00\xc3";
    for (size_t bytes = 1; bytes < sizeof code; bytes++) { /* cut at every length, in memory of exactly that size */
        uint8_t *copy = test_malloc(bytes);
        memcpy(copy, code, bytes);
        for (size_t at = 0; at < bytes; at++) {
            (void)sbx_compiled_leaf(copy, copy + bytes, copy + at, 0);
            (void)sbx_compiled_leaf(copy, copy + bytes, copy + at, 1);
        }
        assert_int_equal(sbx_compiled_leaf(copy, copy + bytes, copy + bytes, 0), SBX_LEAF_NONE);
        test_free(copy);
    }
}

static void test_a_stub_that_takes_a_frame_has_it_although_the_return_address_is_on_top_as_well(void **state)
{
    (void)state;
    static const uint8_t code[] = "\x48\x81\xec\x18\x00\x00\x00" /* 0 sub rsp, 24 */
                                  "\x48\x89\x6c\x24\x10"         /* 7 mov [rsp+16], rbp */
                                  "\xff\x74\x24\x18"             /* 12 push [rsp+24] */
                                  "\x8f\x04\x24"                 /* 16 pop [rsp] */
                                  "\x41\xff\xd2"                 /* 19 call r10 */
                                  "\x48\x83\xc4\x10"             /* 22 add rsp, 16 */
                                  "\x5d"                         /* 26 pop rbp */
                                  "\x5a"                         /* 27 pop rdx */
                                  "\xff\xe0";                    /* 28 jmp rax */
    static const struct at places[] = {
        {0, SBX_LEAF_NONE},   {7, SBX_LEAF_UNSAVED_FP}, {12, SBX_LEAF_WHOLE}, {19, SBX_LEAF_WHOLE},
        {22, SBX_LEAF_WHOLE}, {26, SBX_LEAF_PUSHED},    {27, SBX_LEAF_NONE},  {28, SBX_LEAF_UNKNOWN},
    };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        enum sbx_leaf_frame found = SBX_LEAF_UNKNOWN;
        assert_true(sbx_stub_leaf(code, code + sizeof code - 1, code + places[i].offset, 4, &found));
        if (found != places[i].frame) {
            fail_msg("at %u: %d, not %d", places[i].offset, (int)found, (int)places[i].frame);
        }
    }
}

static void test_a_stub_that_keeps_rbp_or_has_another_frame_is_none_of_those(void **state)
{
    (void)state;
    static const uint8_t keeps[] = "\x55\x48\x8b\xec\x48\x81\xec\x80\x00\x00\x00\x90",
                         frame[] = "\x48\x81\xec\x18\x00\x00\x00\x90";
    enum sbx_leaf_frame found = SBX_LEAF_UNKNOWN;
    assert_false(sbx_stub_leaf(keeps, keeps + sizeof keeps - 1, keeps + 4, 144, &found));
    assert_false(sbx_stub_leaf(frame, frame + sizeof frame - 1, frame + 7, 5, &found));
    assert_false(sbx_stub_leaf(frame, frame + sizeof frame - 1, frame + 7, 0, &found));
    assert_false(sbx_stub_leaf(frame, frame + 5, frame + 4, 4, &found)); /* cut off within the instruction */
    assert_true(sbx_stub_leaf(frame, frame + sizeof frame - 1, frame + 7, 4, &found));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_method_that_bangs_the_stack),
        cmocka_unit_test(test_a_method_that_does_not),
        cmocka_unit_test(test_the_wrapper_of_a_native_method),
        cmocka_unit_test(test_a_pop_that_nothing_leaves_by_is_no_end),
        cmocka_unit_test(test_a_stub_that_takes_a_frame_has_it_although_the_return_address_is_on_top_as_well),
        cmocka_unit_test(test_a_stub_that_keeps_rbp_or_has_another_frame_is_none_of_those),
        cmocka_unit_test(test_nothing_is_read_outside_of_the_method),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
