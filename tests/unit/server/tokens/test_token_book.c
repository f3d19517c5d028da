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
#include <unistd.h>

#include <cmocka.h>

#include "token_book.h"

static char folder[64], path[100], why[300];

static int set_up(void **state)
{
    (void)state;
    snprintf(folder, sizeof(folder), "/tmp/sbx_token_book.XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/tokens", folder);
    return 0;
}

static int tear_down(void **state)
{
    char lock[120];
    (void)state;
    snprintf(lock, sizeof(lock), "%s.lock", path);
    unlink(path);
    unlink(lock);
    return rmdir(folder);
}

static void test_what_is_added_is_there_without_its_secret_until_it_is_removed(void **state)
{
    (void)state;
    struct sbx_token first = {.rights = SBX_RIGHT_READ, .note = "on call"}, second = {.rights = SBX_RIGHT_SEND},
                     *tokens;
    char secret[SBX_TOKEN_SECRET_BYTES], other[SBX_TOKEN_SECRET_BYTES], text[4096];
    uint8_t digest[SBX_TOKEN_DIGEST];
    size_t count;
    struct stat status;
    assert_int_equal(sbx_token_book_read(path, &tokens, &count, why, sizeof(why)), -ENOENT);
    assert_int_equal(sbx_token_book_add(path, &first, secret, why, sizeof(why)), 0);
    assert_int_equal(sbx_token_book_add(path, &second, other, why, sizeof(why)), 0);
    assert_string_not_equal(secret, other);
    assert_int_equal(strlen(secret), 52);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    FILE *file = fopen(path, "r");
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    assert_null(strstr(text, secret));
    assert_null(strstr(text, secret + 4));
    assert_int_equal(sbx_token_book_read(path, &tokens, &count, why, sizeof(why)), 0);
    assert_int_equal(count, 2);
    assert_int_equal(sbx_token_digest(secret, strlen(secret), digest), 0);
    assert_memory_equal(tokens[0].digest, digest, sizeof(digest));
    assert_string_equal(tokens[0].note, "on call");
    free(tokens);
    assert_int_equal(sbx_token_book_remove(path, first.id, why, sizeof(why)), 0);
    assert_int_equal(sbx_token_book_remove(path, first.id, why, sizeof(why)), -ENOENT);
    assert_non_null(strstr(why, first.id));
    assert_int_equal(sbx_token_book_read(path, &tokens, &count, why, sizeof(why)), 0);
    assert_int_equal(count, 1);
    assert_string_equal(tokens[0].id, second.id);
    free(tokens);
}

static void test_loc_18_a_book_that_others_may_read_or_that_has_a_bad_line_is_refused(void **state)
{
    (void)state;
    struct sbx_token token = {.rights = SBX_RIGHT_READ}, *tokens;
    char secret[SBX_TOKEN_SECRET_BYTES];
    size_t count;
    assert_int_equal(sbx_token_book_add(path, &token, secret, why, sizeof(why)), 0);
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(sbx_token_book_read(path, &tokens, &count, why, sizeof(why)), -EPERM);
    assert_non_null(strstr(why, "chmod 600"));
    assert_int_equal(chmod(path, 0600), 0);
    FILE *file = fopen(path, "a");
    fputs("roles=admin\n", file);
    fclose(file);
    assert_int_equal(sbx_token_book_read(path, &tokens, &count, why, sizeof(why)), -EINVAL);
    assert_non_null(strstr(why, "line 3"));
    assert_int_equal(sbx_token_book_add(path, &token, secret, why, sizeof(why)), -EINVAL); /* and does not change */
}

static void test_loc_18_a_book_that_is_a_link_or_no_file_is_refused_at_once(void **state)
{
    (void)state;
    struct sbx_token token = {.rights = SBX_RIGHT_READ}, *tokens;
    char secret[SBX_TOKEN_SECRET_BYTES], moved[120];
    size_t count;
    assert_int_equal(sbx_token_book_add(path, &token, secret, why, sizeof(why)), 0);
    snprintf(moved, sizeof(moved), "%s.moved", path);
    assert_int_equal(rename(path, moved), 0);
    assert_int_equal(symlink(moved, path), 0);
    assert_int_equal(sbx_token_book_read(path, &tokens, &count, why, sizeof(why)), -ELOOP);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0); /* an ordinary open() would wait for ever */
    alarm(60);
    assert_int_equal(sbx_token_book_read(path, &tokens, &count, why, sizeof(why)), -EPERM);
    alarm(0);
    assert_int_equal(unlink(moved), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_what_is_added_is_there_without_its_secret_until_it_is_removed, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_loc_18_a_book_that_others_may_read_or_that_has_a_bad_line_is_refused,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_loc_18_a_book_that_is_a_link_or_no_file_is_refused_at_once, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
