/* SPDX-License-Identifier: Apache-2.0 */
/* test_sampling.c - which stalls are sent, and that their weights add up: by a table, and by simulation with fixed
 * seeds, compared with the mean and the variance of docs/SAMPLING.md. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>

#include "sampling.h"

static const struct sbx_sampling_terms three = {.first = 3};

static void test_the_first_are_told_and_later_blocks_double(void **state)
{
    (void)state;
    static const struct {
        uint64_t n, begin;
        uint32_t one_in;
    } cases[] = {
        {1, 1, 1},
        {2, 2, 1},
        {3, 3, 1}, /* the first three */
        {4, 4, 2},
        {5, 4, 2},
        {6, 6, 2},
        {7, 6, 2}, /* two blocks of 2 */
        {8, 8, 4},
        {11, 8, 4},
        {12, 12, 4},
        {15, 12, 4},
        {16, 16, 8},
        {31, 24, 8},
        {32, 32, 16},
        {UINT64_C(4096), 4096, 1024}, /* the largest block: 2 x (2 + ... + 512) + 3 = 2047 stalls before it */
        {UINT64_C(2047), 1536, 512},
        {UINT64_C(2048), 2048, 1024},
        {UINT64_C(1000000), 2048 + (1000000 - 2048) / 1024 * 1024, 1024},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sbx_sampling_block block = sbx_sampling_block_of(&three, SBX_TRIGGER_ANR, cases[i].n);
        if (block.begin != cases[i].begin || block.one_in != cases[i].one_in) {
            fail_msg("stall %llu: block of %u from %llu on", (unsigned long long)cases[i].n, block.one_in,
                     (unsigned long long)block.begin);
        }
    }
}

static void test_blocks_follow_one_another_without_a_gap(void **state)
{
    (void)state;
    for (uint32_t first = 1; first <= 100; first += 9) {
        for (uint32_t rate = 1; rate <= 1000; rate = rate * 3 + 1) {
            struct sbx_sampling_terms terms = {.first = first, .one_in = {[SBX_TRIGGER_CRASH] = rate}};
            uint64_t next = 1;
            while (next < 200000) {
                struct sbx_sampling_block block = sbx_sampling_block_of(&terms, SBX_TRIGGER_CRASH, next);
                assert_int_equal(block.begin, next);
                assert_true(block.one_in >= 1 && block.one_in <= SBX_THIN_MOST * rate);
                struct sbx_sampling_block last =
                    sbx_sampling_block_of(&terms, SBX_TRIGGER_CRASH, next + block.one_in - 1);
                assert_int_equal(last.begin, block.begin);
                assert_int_equal(last.one_in, block.one_in);
                next += block.one_in;
            }
        }
    }
}

static void test_each_block_has_exactly_one_that_is_told(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        uint64_t begin = 1;
        while (begin < 50000) {
            struct sbx_sampling_block block = sbx_sampling_block_of(&three, SBX_TRIGGER_ANR, begin);
            uint32_t told = 0;
            for (uint64_t n = begin; n < begin + block.one_in; n++) {
                told += sbx_sampling_picks(&block, n, seed, 42);
            }
            assert_int_equal(told, 1);
            begin += block.one_in;
        }
    }
}

static void test_what_a_person_asked_for_is_always_told(void **state)
{
    (void)state;
    struct sbx_sampling_terms terms = {.first = 1, .one_in = {[SBX_TRIGGER_MANUAL] = 1000}};
    for (uint64_t n = 1; n < 100000; n += 7) {
        struct sbx_sampling_block block = sbx_sampling_block_of(&terms, SBX_TRIGGER_MANUAL, n);
        assert_int_equal(block.one_in, 1);
        assert_true(sbx_sampling_picks(&block, n, n, n));
    }
}

static void test_no_terms_are_too_large_for_a_weight(void **state)
{
    (void)state;
    struct sbx_sampling_terms terms = {.first = UINT32_MAX, .one_in = {[SBX_TRIGGER_ANR] = UINT32_MAX}};
    struct sbx_sampling_block block = sbx_sampling_block_of(&terms, SBX_TRIGGER_ANR, UINT64_MAX);
    assert_true(block.one_in <= SBX_WEIGHT_MAX);
    terms = (struct sbx_sampling_terms){.first = 0};
    assert_int_equal(sbx_sampling_block_of(&terms, SBX_TRIGGER_ANR, 1).one_in, 1);
    assert_int_equal(sbx_sampling_block_of(&terms, UINT32_MAX, 5).one_in, 4);
}

/* ---- simulation ---- */

/* The sum that a server calculates for a machine with `seed` that saw `stalls` stalls at a place. */
static uint64_t estimate(uint64_t seed, uint64_t place, uint64_t stalls, const struct sbx_sampling_terms *terms,
                         uint64_t *told_out, uint64_t *variance_out)
{
    uint64_t sum = 0;
    for (uint64_t n = 1; n <= stalls; n++) {
        struct sbx_sampling_block block = sbx_sampling_block_of(terms, SBX_TRIGGER_ANR, n);
        if (sbx_sampling_picks(&block, n, seed, place)) {
            sum += block.one_in;
            ++*told_out;
            *variance_out += (uint64_t)block.one_in * (block.one_in - 1);
        }
    }
    return sum;
}

/* m stalls of a block of s were seen: its single weight s is sent with probability m / s. */
static double variance_of(uint64_t stalls, const struct sbx_sampling_terms *terms)
{
    struct sbx_sampling_block block = sbx_sampling_block_of(terms, SBX_TRIGGER_ANR, stalls);
    double seen = (double)(stalls - block.begin + 1);
    return seen * (block.one_in - seen);
}

static void test_the_sum_of_weights_is_unbiased_with_the_variance_that_was_foretold(void **state)
{
    (void)state;
    enum {
        MACHINES = 4000
    };
    static const uint64_t stalls[] = {1, 3, 4, 5, 9, 10, 17, 100, 399, 1000, 3001};
    static const struct sbx_sampling_terms terms[] = {
        {.first = 3}, {.first = 1}, {.first = 10, .one_in = {[SBX_TRIGGER_ANR] = 7}}};
    for (size_t t = 0; t < sizeof terms / sizeof terms[0]; t++) {
        for (size_t i = 0; i < sizeof stalls / sizeof stalls[0]; i++) {
            double sum = 0, square = 0, told_variance = 0;
            uint64_t told = 0;
            for (uint64_t machine = 1; machine <= MACHINES; machine++) {
                uint64_t variance = 0;
                double found =
                    (double)estimate(machine * 7919, stalls[i] * 31 + t, stalls[i], &terms[t], &told, &variance);
                sum += found;
                square += (found - (double)stalls[i]) * (found - (double)stalls[i]);
                told_variance += (double)variance;
            }
            double truth = variance_of(stalls[i], &terms[t]), mean = sum / MACHINES, of_mean = sqrt(truth / MACHINES);
            if (fabs(mean - (double)stalls[i]) > 4 * of_mean + 1e-9) {
                fail_msg("terms %zu, %llu stalls: %.2f in the mean, which is off by more than four times %.3f", t,
                         (unsigned long long)stalls[i], mean, of_mean);
            }
            /* A variable with two values: the tolerance of the mean of squares follows from its fourth moment. */
            if (fabs(square / MACHINES - truth) > 0.1 * truth + 1e-9 + 4 * of_mean * sqrt(truth)) {
                fail_msg("terms %zu, %llu stalls: variance %.1f instead of %.1f", t, (unsigned long long)stalls[i],
                         square / MACHINES, truth);
            }
            /* On average the server's estimate of its error is not too small. */
            assert_true(told_variance / MACHINES >= truth * 0.95 - 1e-9);
        }
    }
}

/* A fleet with different places: the count of each place, and so their order, must be right. */
static void test_a_fleets_counts_come_out_right_for_every_place(void **state)
{
    (void)state;
    enum {
        MACHINES = 500,
        PLACES = 12
    };
    uint64_t random = 1, truth[PLACES] = {0}, found[PLACES] = {0}, told = 0, all = 0;
    double variance[PLACES] = {0};
    for (uint64_t machine = 1; machine <= MACHINES; machine++) {
        for (unsigned place = 0; place < PLACES; place++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            uint64_t stalls = (random >> 33) % (4u << place) / 3, ignored = 0;
            truth[place] += stalls;
            all += stalls;
            variance[place] += stalls != 0 ? variance_of(stalls, &three) : 0;
            found[place] += estimate(machine, place + 1, stalls, &three, &told, &ignored);
        }
    }
    for (unsigned place = 0; place < PLACES; place++) {
        double error = (double)found[place] - (double)truth[place];
        if (fabs(error) > 4 * sqrt(variance[place])) {
            fail_msg("place %u: %llu told, %llu were", place, (unsigned long long)found[place],
                     (unsigned long long)truth[place]);
        }
    }
    assert_true(told * 10 < all); /* only a small part was sent */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_first_are_told_and_later_blocks_double),
        cmocka_unit_test(test_blocks_follow_one_another_without_a_gap),
        cmocka_unit_test(test_each_block_has_exactly_one_that_is_told),
        cmocka_unit_test(test_what_a_person_asked_for_is_always_told),
        cmocka_unit_test(test_no_terms_are_too_large_for_a_weight),
        cmocka_unit_test(test_the_sum_of_weights_is_unbiased_with_the_variance_that_was_foretold),
        cmocka_unit_test(test_a_fleets_counts_come_out_right_for_every_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
