/* SPDX-License-Identifier: Apache-2.0 */
/* test_stall_counts.c - counting, deciding, carrying over and remembering of stalls; and the stored bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "stall_counts.h"

static const struct sbx_sampling_terms three = {.first = 3};

static void make_id(uint64_t number, uint8_t id_out[16])
{
    memset(id_out, 0, 16);
    memcpy(id_out, &number, sizeof number);
}

/* One stall of the place; `may`: whether the day's budget allows it. Returns the weight that is sent, 0 for none. */
static uint64_t stall(struct sbx_stall_counts *counts, uint64_t place, uint64_t number, bool may,
                      const struct sbx_sampling_terms *terms)
{
    uint8_t id[16];
    uint32_t one_in;
    struct sbx_sampled sampled;
    make_id(number, id);
    enum sbx_stall_fate fate = SBX_FATE_THINNED;
    if (sbx_stall_counts_see(counts, place, SBX_TRIGGER_ANR, terms, &one_in)) {
        fate = may ? SBX_FATE_TOLD : SBX_FATE_WITHHELD;
    }
    sbx_stall_counts_decide(counts, place, id, fate, one_in, &sampled);
    return fate == SBX_FATE_TOLD ? sampled.weight : 0;
}

static struct sbx_stall_counts *make_counts(uint64_t seed)
{
    struct sbx_stall_counts *counts = calloc(1, sizeof *counts);
    assert_non_null(counts);
    counts->seed = seed;
    return counts;
}

static void test_the_first_of_each_place_are_told_for_themselves(void **state)
{
    (void)state;
    struct sbx_stall_counts *counts = make_counts(1);
    for (uint64_t place = 1; place <= 100; place++) {
        for (uint64_t n = 0; n < 3; n++) {
            assert_int_equal(stall(counts, place, place * 10 + n, true, &three), 1);
        }
    }
    free(counts);
}

static void test_when_blocks_are_full_the_weights_are_the_count(void **state)
{
    (void)state;
    struct sbx_stall_counts *counts = make_counts(99);
    uint64_t sum = 0, told = 0;
    for (uint64_t n = 1; n <= 2047; n++) { /* 3 + 2 x (2 + 4 + ... + 512) */
        uint64_t weight = stall(counts, 7, n, true, &three);
        sum += weight;
        told += weight != 0;
    }
    assert_int_equal(sum, 2047);
    assert_int_equal(told, 3 + 2 * 9);
    free(counts);
}

static void test_what_the_budget_withheld_is_carried_by_the_next(void **state)
{
    (void)state;
    struct sbx_stall_counts *counts = make_counts(5);
    uint64_t sum = 0, random = 3;
    for (uint64_t n = 1; n <= 2047; n++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        sum += stall(counts, 7, n, random >> 62 == 0, &three); /* on three of four days the budget is spent */
    }
    assert_int_equal(sum + counts->kinds[0].carried, 2047);
    assert_true(sum < 2047 && sum > 0);
    free(counts);
}

/* With any mixture of places, budgets and forgetting, no stall's weight is lost without being counted. */
static void test_told_carried_and_lost_add_up_to_what_was_picked(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct sbx_stall_counts *counts = make_counts(seed);
        uint64_t random = seed, told = 0, picked = 0, carried = 0;
        for (uint64_t n = 1; n <= 20000; n++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            uint64_t place = 1 + (random >> 40) % 1500; /* three times as many as fit */
            uint32_t one_in;
            uint8_t id[16];
            struct sbx_sampled sampled;
            make_id(n, id);
            enum sbx_stall_fate fate = SBX_FATE_THINNED;
            if (sbx_stall_counts_see(counts, place, SBX_TRIGGER_ANR, &three, &one_in)) {
                picked += one_in;
                fate = (random >> 33) % 3 == 0 ? SBX_FATE_TOLD : SBX_FATE_WITHHELD;
            }
            sbx_stall_counts_decide(counts, place, id, fate, one_in, &sampled);
            told += fate == SBX_FATE_TOLD ? sampled.weight : 0;
        }
        for (size_t i = 0; i < SBX_STALL_KINDS_KEPT; i++) {
            carried += counts->kinds[i].carried;
        }
        assert_int_equal(told + carried + counts->lost, picked);
        assert_true(counts->forgotten > 0);
        free(counts);
    }
}

static void test_no_payload_stands_for_more_than_the_wire_allows(void **state)
{
    (void)state;
    struct sbx_stall_counts *counts = make_counts(5);
    struct sbx_sampling_terms terms = {.first = 1, .one_in = {[SBX_TRIGGER_ANR] = 1000}};
    assert_int_equal(stall(counts, 7, 1, true, &terms), 1);
    counts->kinds[0].carried = UINT64_C(3) << 20;
    uint64_t sum = 0, told = 0, n = 2;
    for (; counts->kinds[0].carried != 0 && n < 100000; n++) {
        uint64_t weight = stall(counts, 7, n, true, &terms);
        assert_true(weight <= SBX_WEIGHT_MAX);
        sum += weight;
        told += weight != 0;
    }
    assert_true(told > 3 && sum > UINT64_C(3) << 20);
    assert_int_equal(counts->kinds[0].carried, 0);
    free(counts);
}

static void test_a_decision_is_found_again_until_many_others_were_made(void **state)
{
    (void)state;
    struct sbx_stall_counts *counts = make_counts(5);
    struct sbx_sampled sampled;
    uint8_t id[16];
    make_id(1, id);
    assert_int_equal(sbx_stall_counts_find(counts, id, &sampled), SBX_FATE_UNKNOWN);
    stall(counts, 7, 1, true, &three);
    for (uint64_t n = 2; n <= SBX_STALL_DECISIONS_KEPT; n++) {
        assert_int_equal(sbx_stall_counts_find(counts, id, &sampled), SBX_FATE_TOLD);
        assert_int_equal(sampled.weight, 1);
        stall(counts, n, n, n % 2 == 0, &three);
    }
    make_id(3, id);
    assert_int_equal(sbx_stall_counts_find(counts, id, &sampled), SBX_FATE_WITHHELD);
    make_id(1, id);
    assert_int_equal(sbx_stall_counts_find(counts, id, &sampled), SBX_FATE_TOLD);
    stall(counts, 7, 1000, true, &three);
    assert_int_equal(sbx_stall_counts_find(counts, id, &sampled), SBX_FATE_UNKNOWN);
    free(counts);
}

static void test_bytes_tell_all_of_it(void **state)
{
    (void)state;
    static uint8_t bytes[SBX_STALL_COUNTS_BYTES_MAX], again[SBX_STALL_COUNTS_BYTES_MAX];
    struct sbx_stall_counts *counts = make_counts(77), *read = make_counts(0);
    for (uint64_t n = 0; n <= 1200; n += n < 5 ? 1 : 200) { /* no places, few, all in use */
        for (uint64_t i = 0; i < n; i++) {
            stall(counts, i * i + 1, n * 10000 + i, i % 3 != 0, &three);
        }
        size_t count = sbx_stall_counts_print(counts, bytes);
        assert_true(count <= sizeof bytes);
        assert_true(sbx_stall_counts_parse(bytes, count, read));
        assert_int_equal(sbx_stall_counts_print(read, again), count);
        assert_memory_equal(bytes, again, count);
        for (uint64_t i = 0; i < n && i < 100; i++) { /* it continues in the same way */
            assert_int_equal(stall(counts, i * i + 1, 1u << 30 | i, true, &three),
                             stall(read, i * i + 1, 1u << 30 | i, true, &three));
        }
    }
    free(counts);
    free(read);
}

static void test_bytes_that_are_not_whole_are_refused(void **state)
{
    (void)state;
    static uint8_t bytes[SBX_STALL_COUNTS_BYTES_MAX];
    struct sbx_stall_counts *counts = make_counts(77), *read = make_counts(0), *none = make_counts(0);
    for (uint64_t i = 1; i < 40; i++) {
        stall(counts, i, i, true, &three);
    }
    size_t count = sbx_stall_counts_print(counts, bytes);
    for (size_t cut = 0; cut < count; cut++) {
        assert_false(sbx_stall_counts_parse(bytes, cut, read));
    }
    for (size_t at = 0; at < count; at++) {
        bytes[at] ^= 0x10;
        assert_false(sbx_stall_counts_parse(bytes, count, read));
        assert_memory_equal(read, none, sizeof *none);
        bytes[at] ^= 0x10;
    }
    assert_true(sbx_stall_counts_parse(bytes, count, read));
    free(counts);
    free(read);
    free(none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_first_of_each_place_are_told_for_themselves),
        cmocka_unit_test(test_when_blocks_are_full_the_weights_are_the_count),
        cmocka_unit_test(test_what_the_budget_withheld_is_carried_by_the_next),
        cmocka_unit_test(test_told_carried_and_lost_add_up_to_what_was_picked),
        cmocka_unit_test(test_no_payload_stands_for_more_than_the_wire_allows),
        cmocka_unit_test(test_a_decision_is_found_again_until_many_others_were_made),
        cmocka_unit_test(test_bytes_tell_all_of_it),
        cmocka_unit_test(test_bytes_that_are_not_whole_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
