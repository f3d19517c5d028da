/* SPDX-License-Identifier: Apache-2.0 */
/* test_no_memory.c - malloc fails at the k-th allocation of a verification. The verdict is then "later", never a wrong
 * verdict about the document, and nothing leaks. Replaces calloc and free in this program, also for the library behind
 * signature.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "signed_fixture.h"

void *__libc_calloc(size_t count, size_t size);
void __libc_free(void *memory);

static long allocations, fail_at, living;
static int is_counting;

__attribute__((visibility("default"))) void *calloc(size_t count, size_t size)
{
    if (is_counting) {
        if (++allocations == fail_at) {
            return NULL;
        }
        living++;
    }
    return __libc_calloc(count, size);
}

__attribute__((visibility("default"))) void free(void *memory)
{
    if (is_counting && memory != NULL) {
        living--;
    }
    __libc_free(memory);
}

/* Verify with the k-th allocation failing; returns how many allocations there were. */
static long take_with_failure(long k, const struct fixture_document *document, enum sbx_policy_verdict *verdict_out)
{
    struct sbx_policy_trust trust = fixture_trust();
    allocations = 0;
    living = 0;
    fail_at = k;
    is_counting = 1;
    *verdict_out = fixture_take(&trust, document, FIXTURE_NOW_S);
    is_counting = 0;
    assert_int_equal(living, 0);
    return allocations;
}

static void test_pol_15_without_memory_the_word_is_later(void **state)
{
    (void)state;
    struct sbx_policy_document policy = fixture_policy(5);
    struct fixture_document document = {.count = 0}, forged;
    enum sbx_policy_verdict verdict;
    fixture_sign_policy(&policy, &document);
    long whole = take_with_failure(0, &document, &verdict);
    assert_int_equal(verdict, SBX_POLICY_ACCEPTED);
    assert_true(whole > 1000);
    for (long k = 1; k <= whole; k += k < 400 || whole - k < 100 ? 1 : 17) {
        take_with_failure(k, &document, &verdict);
        if (verdict != SBX_POLICY_LATER) {
            fail_msg("allocation %ld of %ld: %s", k, whole, sbx_policy_verdict_name(verdict));
        }
    }
    /* A document that is refused with enough memory is not accepted without memory. */
    forged = document;
    forged.bytes[forged.count - 1] ^= 1;
    for (long k = 1; k <= whole; k += 97) {
        take_with_failure(k, &forged, &verdict);
        assert_true(verdict == SBX_POLICY_LATER || verdict == SBX_POLICY_SIGNATURE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pol_15_without_memory_the_word_is_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
