/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "token_book.h"
#include "token_ring.h"

static char folder[64], path[100], why[300];

static void until_it_looks_again(void)
{
    nanosleep(&(struct timespec){.tv_sec = 1, .tv_nsec = 100000000}, NULL);
}

static bool knows(struct sbx_token_ring *ring, const char *secret)
{
    struct sbx_token token;
    return sbx_token_ring_find(ring, secret, strlen(secret), &token);
}

static void test_a_ring_follows_its_book_and_a_broken_one_changes_nothing(void **state)
{
    (void)state;
    struct sbx_token_ring *ring;
    struct sbx_token first = {.rights = SBX_RIGHT_READ}, second = {.rights = SBX_RIGHT_SEND, .app = "shop"}, found;
    char secret[SBX_TOKEN_SECRET_BYTES], other[SBX_TOKEN_SECRET_BYTES], lock[120];
    snprintf(folder, sizeof(folder), "/tmp/sbx_token_ring.XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/tokens", folder);
    assert_int_equal(sbx_token_ring_create(path, NULL, &ring, why, sizeof(why)), 0);
    assert_false(sbx_token_ring_has_any(ring));
    assert_int_equal(sbx_token_ring_add(ring, "of-an-option", SBX_RIGHT_ALL), 0);
    assert_true(sbx_token_ring_has_any(ring));
    assert_true(knows(ring, "of-an-option"));
    assert_false(knows(ring, "of-an-optio"));
    assert_false(knows(ring, ""));
    assert_int_equal(sbx_token_book_add(path, &first, secret, why, sizeof(why)), 0);
    until_it_looks_again();
    assert_true(knows(ring, secret));
    assert_false(sbx_token_ring_has_apps(ring));
    assert_int_equal(sbx_token_book_add(path, &second, other, why, sizeof(why)), 0);
    until_it_looks_again();
    assert_true(sbx_token_ring_has_apps(ring));
    assert_true(sbx_token_ring_find(ring, other, strlen(other), &found));
    assert_string_equal(found.app, "shop");
    assert_int_equal(chmod(path, 0644), 0); /* a file that others may write is not trusted */
    until_it_looks_again();
    assert_true(knows(ring, secret) && knows(ring, other));
    assert_int_equal(unlink(path), 0);
    until_it_looks_again();
    assert_false(knows(ring, secret) || knows(ring, other));
    assert_true(knows(ring, "of-an-option"));
    sbx_token_ring_destroy(ring);
    snprintf(lock, sizeof(lock), "%s.lock", path);
    unlink(lock);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_ring_follows_its_book_and_a_broken_one_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
