/* SPDX-License-Identifier: Apache-2.0 */
/* test_logical_splice.c - logical frames are put where the frames of their interpreter are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "logical_splice.h"

enum {
    APP,
    LUA,
    LIBC,
    MODULES,
    DEPTH = 32
};

/* Three modules of 64 KiB. The code of provider 0 is the whole module LUA, that of provider 1 a function of APP;
 * provider 2 named no code. */
static struct sbx_module_entry modules[MODULES] = {
    [APP] = {.start = 0x10000, .end = 0x20000, .bias = 0x10000},
    [LUA] = {.start = 0x30000, .end = 0x40000, .bias = 0x30000},
    [LIBC] = {.start = 0x50000, .end = 0x60000, .bias = 0x50000},
};
static const struct sbx_snapshot snapshot = {
    .header = {.provider_count = 3,
               .providers = {{.code_begin = 0x30500}, {.code_begin = 0x11000, .code_end = 0x11100}, {.code_begin = 0}}},
    .modules = modules,
    .module_count = MODULES,
};

#define NATIVE(module, offset) sbx_frame_word((module), (offset), 0)
#define SCRIPT(provider, line) sbx_logical_word((provider), 7, (line), 0)
#define ASKED(provider, line) \
    sbx_logical_word((provider), 7, (line), 1) /* the outermost frame in a sample at a safepoint */
#define BORDER(provider, line) (SCRIPT(provider, line) | SBX_FRAME_BORDER)
#define GENERATED(provider)    sbx_generated_word(provider)
#define CUT                    sbx_frame_word(SBX_MODULE_CUT, 0, 0)

static void expect(const uint64_t *recorded, size_t count, const uint64_t *expected, size_t expected_count)
{
    uint64_t words[DEPTH], room[DEPTH];
    memcpy(words, recorded, count * sizeof *words);
    assert_int_equal(sbx_logical_splice(&snapshot, words, count, room), expected_count);
    for (size_t i = 0; i < expected_count; i++) {
        assert_int_equal(words[i], expected[i]);
    }
}

#define EXPECT(recorded, expected) \
    expect(recorded, sizeof recorded / sizeof *recorded, expected, sizeof expected / sizeof *expected)

static void test_frames_stand_on_the_innermost_frame_of_the_interpreter(void **state)
{
    (void)state;
    const uint64_t recorded[] = {SCRIPT(0, 2),      SCRIPT(0, 1),      NATIVE(LIBC, 0x10), NATIVE(APP, 0x20),
                                 NATIVE(LUA, 0x30), NATIVE(LUA, 0x40), NATIVE(APP, 0x50)};
    const uint64_t expected[] = {NATIVE(LIBC, 0x10), NATIVE(APP, 0x20), SCRIPT(0, 2),     SCRIPT(0, 1),
                                 NATIVE(LUA, 0x30),  NATIVE(LUA, 0x40), NATIVE(APP, 0x50)};
    EXPECT(recorded, expected);
}

static void test_an_interpreter_in_an_interpreter_has_all_frames_on_the_inner_one(void **state)
{
    (void)state;
    const uint64_t recorded[] = {SCRIPT(0, 2), SCRIPT(0, 1), NATIVE(LUA, 0x30), NATIVE(APP, 0x20), NATIVE(LUA, 0x40)};
    const uint64_t expected[] = {SCRIPT(0, 2), SCRIPT(0, 1), NATIVE(LUA, 0x30), NATIVE(APP, 0x20), NATIVE(LUA, 0x40)};
    EXPECT(recorded, expected);
}

static void test_runs_stand_each_on_its_own_entry(void **state)
{
    (void)state;
    const uint64_t recorded[] = {SCRIPT(1, 4),      BORDER(1, 3),        SCRIPT(1, 2),
                                 BORDER(1, 1),      NATIVE(LIBC, 0x10),  NATIVE(APP, 0x1010),
                                 NATIVE(APP, 0x20), NATIVE(APP, 0x1020), NATIVE(APP, 0x9000)};
    const uint64_t expected[] = {NATIVE(LIBC, 0x10),  SCRIPT(1, 4),        SCRIPT(1, 3),
                                 NATIVE(APP, 0x1010), NATIVE(APP, 0x20),   SCRIPT(1, 2),
                                 SCRIPT(1, 1),        NATIVE(APP, 0x1020), NATIVE(APP, 0x9000)};
    EXPECT(recorded, expected);
    const uint64_t neighbours[] = {BORDER(1, 3), BORDER(1, 1), NATIVE(APP, 0x1010), NATIVE(APP, 0x1020)};
    const uint64_t parted[] = {SCRIPT(1, 3), NATIVE(APP, 0x1010), SCRIPT(1, 1), NATIVE(APP, 0x1020)};
    EXPECT(neighbours, parted); /* code is a function: each native frame is an entry */
    const uint64_t of_module[] = {BORDER(0, 3),      BORDER(0, 1),      NATIVE(LUA, 0x10),
                                  NATIVE(LUA, 0x20), NATIVE(APP, 0x10), NATIVE(LUA, 0x30)};
    const uint64_t by_pieces[] = {SCRIPT(0, 3),      NATIVE(LUA, 0x10), NATIVE(LUA, 0x20),
                                  NATIVE(APP, 0x10), SCRIPT(0, 1),      NATIVE(LUA, 0x30)};
    EXPECT(of_module, by_pieces); /* code is a module: adjacent frames are one entry */
}

static void test_an_entry_that_has_just_begun_has_no_run_yet(void **state)
{
    (void)state;
    const uint64_t recorded[] = {BORDER(1, 3),        BORDER(1, 1),       NATIVE(APP, 0x1010), NATIVE(LIBC, 0x10),
                                 NATIVE(APP, 0x1020), NATIVE(LIBC, 0x10), NATIVE(APP, 0x1030)};
    const uint64_t expected[] = {NATIVE(APP, 0x1010), NATIVE(LIBC, 0x10), SCRIPT(1, 3),       NATIVE(APP, 0x1020),
                                 NATIVE(LIBC, 0x10),  SCRIPT(1, 1),       NATIVE(APP, 0x1030)};
    EXPECT(recorded, expected);
    const uint64_t end = sbx_frame_word(SBX_MODULE_END, 1, 0); /* a walk that ended before the root proves nothing */
    const uint64_t cut_off[] = {BORDER(1, 3), NATIVE(APP, 0x1010), NATIVE(APP, 0x1020), end};
    const uint64_t inner[] = {SCRIPT(1, 3), NATIVE(APP, 0x1010), NATIVE(APP, 0x1020), end};
    EXPECT(cut_off, inner);
}

static void test_runs_without_an_entry_follow_the_one_inside_of_them(void **state)
{
    (void)state;
    const uint64_t recorded[] = {BORDER(1, 3),       BORDER(1, 2),        SCRIPT(1, 1),
                                 NATIVE(LIBC, 0x10), NATIVE(APP, 0x1010), NATIVE(APP, 0x20)};
    const uint64_t expected[] = {NATIVE(LIBC, 0x10), SCRIPT(1, 3),        SCRIPT(1, 2),
                                 SCRIPT(1, 1),       NATIVE(APP, 0x1010), NATIVE(APP, 0x20)};
    EXPECT(recorded, expected);
}

static void test_what_is_left_out_parts_runs_from_the_leaf_and_from_the_root(void **state)
{
    (void)state;
    const uint64_t recorded[] = {BORDER(1, 9),       CUT,
                                 BORDER(1, 1),       NATIVE(APP, 0x1010),
                                 NATIVE(LIBC, 0x10), NATIVE(APP, 0x1020),
                                 NATIVE(LIBC, 0x20), NATIVE(APP, 0x1030)};
    const uint64_t expected[] = {SCRIPT(1, 9),        NATIVE(APP, 0x1010), NATIVE(LIBC, 0x10),
                                 NATIVE(APP, 0x1020), NATIVE(LIBC, 0x20),  CUT,
                                 SCRIPT(1, 1),        NATIVE(APP, 0x1030)};
    EXPECT(recorded, expected);
}

static void test_frames_of_generated_code_give_way_to_the_logical_ones(void **state)
{
    (void)state;
    const uint64_t recorded[] = {SCRIPT(2, 4), BORDER(2, 3),      BORDER(2, 1), NATIVE(LIBC, 0x10), GENERATED(2),
                                 GENERATED(2), NATIVE(APP, 0x20), GENERATED(2), GENERATED(1),       NATIVE(APP, 0x30)};
    const uint64_t expected[] = {NATIVE(LIBC, 0x10), SCRIPT(2, 4), SCRIPT(2, 3),     NATIVE(APP, 0x20),
                                 SCRIPT(2, 1),       GENERATED(1), NATIVE(APP, 0x30)};
    EXPECT(recorded, expected); /* GENERATED frames of another runtime stay */
}

static void test_without_the_interpreter_on_the_stack_frames_stay_at_the_leaf(void **state)
{
    (void)state;
    const uint64_t recorded[] = {SCRIPT(0, 1), NATIVE(LIBC, 0x10), NATIVE(APP, 0x20)};
    EXPECT(recorded, recorded);
    const uint64_t no_code[] = {SCRIPT(2, 1), NATIVE(LUA, 0x10), NATIVE(APP, 0x20)};
    EXPECT(no_code, no_code);
}

static void test_a_range_of_code_is_told_by_the_call_before_the_return_address(void **state)
{
    (void)state;
    const uint64_t recorded[] = {SCRIPT(1, 1), NATIVE(LIBC, 0x10), NATIVE(APP, 0x1000), NATIVE(APP, 0x1100)};
    const uint64_t expected[] = {NATIVE(LIBC, 0x10), NATIVE(APP, 0x1000), SCRIPT(1, 1), NATIVE(APP, 0x1100)};
    EXPECT(recorded, expected); /* the first address is the function's begin, so the call was before the function */
}

static void test_a_safepoint_takes_the_providers_own_frames_out(void **state)
{
    (void)state;
    const uint64_t recorded[] = {SCRIPT(0, 2), ASKED(0, 1), NATIVE(APP, 0x10), NATIVE(LUA, 0x30), NATIVE(APP, 0x50)};
    const uint64_t expected[] = {SCRIPT(0, 2), SCRIPT(0, 1), NATIVE(LUA, 0x30), NATIVE(APP, 0x50)};
    EXPECT(recorded, expected);
    const uint64_t nowhere[] = {ASKED(2, 1), NATIVE(APP, 0x10),
                                NATIVE(LUA, 0x30)}; /* unknown which native frames are its own */
    const uint64_t kept[] = {SCRIPT(2, 1), NATIVE(APP, 0x10), NATIVE(LUA, 0x30)};
    EXPECT(nowhere, kept);
}

static void test_two_runtimes_find_their_own_places(void **state)
{
    (void)state;
    const uint64_t recorded[] = {SCRIPT(0, 5),        SCRIPT(1, 6),      NATIVE(LIBC, 0x10),
                                 NATIVE(APP, 0x1010), NATIVE(LUA, 0x30), NATIVE(APP, 0x50)};
    const uint64_t expected[] = {NATIVE(LIBC, 0x10), SCRIPT(1, 6),      NATIVE(APP, 0x1010),
                                 SCRIPT(0, 5),       NATIVE(LUA, 0x30), NATIVE(APP, 0x50)};
    EXPECT(recorded, expected);
}

static void test_marks_of_what_was_left_out_go_with_their_stack(void **state)
{
    (void)state;
    const uint64_t recorded[] = {SCRIPT(0, 2), CUT, SCRIPT(0, 1), CUT, NATIVE(LUA, 0x30)};
    const uint64_t expected[] = {CUT, SCRIPT(0, 2), CUT, SCRIPT(0, 1), NATIVE(LUA, 0x30)};
    EXPECT(recorded, expected); /* the second CUT belongs to the native stack */
}

static void test_whatever_the_words_are_no_frame_is_made_up(void **state)
{
    (void)state;
    srandom(1);
    for (int round = 0; round < 200000; round++) {
        uint64_t words[DEPTH], before[DEPTH], room[DEPTH];
        size_t count = (size_t)random() % (DEPTH + 1);
        for (size_t i = 0; i < count; i++) {
            uint32_t provider = (uint32_t)random() % SBX_PROVIDERS_MAX;
            const uint64_t some[] = {NATIVE((uint32_t)random() % (MODULES + 1), (uint64_t)random()),
                                     CUT,
                                     SCRIPT(provider, 1),
                                     ASKED(provider, 1),
                                     NATIVE(LUA, 0x30),
                                     BORDER(provider, 1),
                                     GENERATED(provider),
                                     NATIVE(APP, 0x1000 + random() % 16)};
            before[i] = words[i] = some[random() % 8];
        }
        size_t left = sbx_logical_splice(&snapshot, words, count, room);
        assert_true(left <= count);
        for (size_t i = 0; i < left; i++) { /* each was there; only a safepoint's mark may differ */
            bool was_there = false;
            for (size_t j = 0; j < count; j++) {
                was_there |= words[i] == before[j] || (sbx_is_logical(words[i]) &&
                                                       words[i] == (before[j] & ~(SBX_FRAME_EXACT | SBX_FRAME_BORDER)));
            }
            assert_true(was_there);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frames_stand_on_the_innermost_frame_of_the_interpreter),
        cmocka_unit_test(test_an_interpreter_in_an_interpreter_has_all_frames_on_the_inner_one),
        cmocka_unit_test(test_runs_stand_each_on_its_own_entry),
        cmocka_unit_test(test_an_entry_that_has_just_begun_has_no_run_yet),
        cmocka_unit_test(test_runs_without_an_entry_follow_the_one_inside_of_them),
        cmocka_unit_test(test_what_is_left_out_parts_runs_from_the_leaf_and_from_the_root),
        cmocka_unit_test(test_frames_of_generated_code_give_way_to_the_logical_ones),
        cmocka_unit_test(test_without_the_interpreter_on_the_stack_frames_stay_at_the_leaf),
        cmocka_unit_test(test_a_range_of_code_is_told_by_the_call_before_the_return_address),
        cmocka_unit_test(test_a_safepoint_takes_the_providers_own_frames_out),
        cmocka_unit_test(test_two_runtimes_find_their_own_places),
        cmocka_unit_test(test_marks_of_what_was_left_out_go_with_their_stack),
        cmocka_unit_test(test_whatever_the_words_are_no_frame_is_made_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
