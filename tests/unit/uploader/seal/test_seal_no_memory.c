/* SPDX-License-Identifier: Apache-2.0 */
/* test_seal_no_memory.c - sealing with a finished context allocates nothing. Deriving a context without memory leaves
 * nothing secret behind. Replaces calloc and free in this program, also for the library behind hpke_sender.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hpke_sender.h"

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void __libc_free(void *memory);

static long allocations, fail_at, living;
static int is_counting;

/* Whether this allocation is to fail. */
static int is_failing(void)
{
    if (!is_counting) {
        return 0;
    }
    int fails = ++allocations == fail_at;
    living += !fails;
    return fails;
}

__attribute__((visibility("default"))) void *malloc(size_t size)
{
    return is_failing() ? NULL : __libc_malloc(size);
}

__attribute__((visibility("default"))) void *calloc(size_t count, size_t size)
{
    return is_failing() ? NULL : __libc_calloc(count, size);
}

__attribute__((visibility("default"))) void free(void *memory)
{
    if (is_counting && memory != NULL) {
        living--;
    }
    __libc_free(memory);
}

/* Derive with the k-th allocation failing; 0: none. */
static int derive(long k, const uint8_t key[32], struct sbx_hpke_seal *seal)
{
    allocations = living = 0;
    fail_at = k;
    is_counting = 1;
    int result = sbx_hpke_seal_derive(key, "info", 4, "message", 7, seal);
    is_counting = 0;
    assert_int_equal(living, 0);
    return result;
}

static void test_sealing_with_what_was_derived_allocates_nothing(void **state)
{
    (void)state;
    static uint8_t plain[65536], out[65536 + 16];
    uint8_t secret[32], key[32];
    struct sbx_hpke_seal seal;
    assert_int_equal(sbx_x25519_make(secret, key), 0);
    assert_int_equal(derive(0, key, &seal), 0);
    assert_true(allocations > 1000);
    allocations = living = fail_at = 0;
    is_counting = 1;
    int result = sbx_hpke_seal_message(&seal, "aad", 3, plain, sizeof plain, out);
    is_counting = 0;
    assert_int_equal(result, 0);
    assert_int_equal(allocations, 0);
}

static void test_without_memory_deriving_fails_and_leaves_nothing_secret(void **state)
{
    (void)state;
    static const struct sbx_hpke_seal wiped;
    uint8_t secret[32], key[32];
    struct sbx_hpke_seal seal;
    assert_int_equal(sbx_x25519_make(secret, key), 0);
    assert_int_equal(derive(0, key, &seal), 0);
    long whole = allocations - 50; /* blinding is random, so the number differs a little each time */
    for (long k = 1; k <= whole; k += k < 200 || whole - k < 100 ? 1 : 37) {
        memset(&seal, 0xaa, sizeof seal);
        int result = derive(k, key, &seal);
        if (allocations >= k) {
            if (result != -ENOMEM) {
                fail_msg("allocation %ld: %d", k, result);
            }
            assert_memory_equal(&seal, &wiped, sizeof wiped);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sealing_with_what_was_derived_allocates_nothing),
        cmocka_unit_test(test_without_memory_deriving_fails_and_leaves_nothing_secret),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
