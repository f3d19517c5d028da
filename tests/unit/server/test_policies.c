/* SPDX-License-Identifier: Apache-2.0 */
/* test_policies.c - PUT and GET of signed policies over real sockets: tags, tokens, sizes, and files that were placed
 * by hand. */
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

#include "policy_shelf.h"
#include "started_server.h"

#define APP  "0123456789abcdef0123456789abcdef"
#define PATH "/v1/policy/" APP

static const char document[] = "SBXP and what follows: the server does not look into it";

static long put(const char *path, const void *bytes, size_t count, const char *header)
{
    struct answer answer =
        ask(fixture.port,
            &(struct question){.method = "PUT", .path = path, .body = bytes, .body_bytes = count, .header = header});
    long status = answer.status;
    answer_finish(&answer);
    return status;
}

/* The value of the ETag header, without the line's end. */
static void tag_of(const struct answer *answer, char *line_out, size_t bytes)
{
    const char *found = strstr(answer->headers.data, "ETag: ");
    assert_non_null(found);
    snprintf(line_out, bytes, "If-None-Match: %.*s", (int)strcspn(found + 6, "\r\n"), found + 6);
}

static void test_what_was_put_is_given_with_a_tag(void **state)
{
    (void)state;
    char tag[80], other_tag[80];
    struct answer missing = get(fixture.port, PATH);
    assert_int_equal(missing.status, 404);
    answer_finish(&missing);
    assert_int_equal(put(PATH, document, sizeof document, NULL), 200);
    struct answer answer = get(fixture.port, PATH);
    assert_int_equal(answer.status, 200);
    assert_int_equal(answer.body.used, sizeof document);
    assert_memory_equal(answer.body.data, document, sizeof document);
    tag_of(&answer, tag, sizeof tag);
    answer_finish(&answer);

    answer = ask(fixture.port, &(struct question){.path = PATH, .header = tag});
    assert_int_equal(answer.status, 304);
    assert_int_equal(answer.body.used, 0);
    answer_finish(&answer);

    assert_int_equal(put(PATH, document, sizeof document - 1, NULL), 200);
    answer = ask(fixture.port, &(struct question){.path = PATH, .header = tag});
    assert_int_equal(answer.status, 200);
    tag_of(&answer, other_tag, sizeof other_tag);
    assert_string_not_equal(tag, other_tag);
    answer_finish(&answer);
}

static void test_what_is_no_policy_is_refused(void **state)
{
    (void)state;
    static char large[SBX_POLICY_FILE_MAX + 1] = "SBXP";
    assert_int_equal(put(PATH, "something else altogether", 25, NULL), 400);
    assert_int_equal(put(PATH, large, sizeof large, NULL), 413);
    assert_int_equal(put(PATH, large, sizeof large - 1, NULL), 200);
    assert_int_equal(put("/v1/policy/..%2f..%2fescaped", document, sizeof document, NULL), 404);
    assert_int_equal(put("/v1/policy/" APP "00", document, sizeof document, NULL), 404);
    assert_int_equal(put("/v1/policy/0123456789ABCDEF0123456789ABCDEF", document, sizeof document, NULL), 404);
    struct answer answer = ask(fixture.port, &(struct question){.method = "DELETE", .path = PATH});
    assert_int_equal(answer.status, 405);
    answer_finish(&answer);
}

static void test_a_file_put_by_hand_is_given_and_a_link_is_not(void **state)
{
    (void)state;
    char path[256];
    snprintf(path, sizeof path, "%s/policy/" APP, fixture.data_dir);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fputs("SBXP by hand", file) >= 0 && fclose(file) == 0, 1);
    struct answer answer = get(fixture.port, PATH);
    if (fixture.options.database) { /* there a policy belongs to all servers, but a file to one */
        assert_int_equal(answer.status, 404);
        answer_finish(&answer);
        return;
    }
    assert_int_equal(answer.status, 200);
    assert_true(answer_has(&answer, "by hand"));
    answer_finish(&answer);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    answer = get(fixture.port, PATH);
    assert_int_equal(answer.status, 503);
    answer_finish(&answer);
}

static void test_writing_needs_the_token_and_reading_does_not(void **state)
{
    (void)state;
    assert_int_equal(put(PATH, document, sizeof document, NULL), 401);
    assert_int_equal(put(PATH, document, sizeof document, "Authorization: Bearer wrong"), 401);
    assert_int_equal(put(PATH, document, sizeof document, "Authorization: Bearer correct-horse"), 200);
    assert_int_equal(put(PATH, document, sizeof document, "Origin: https://example.org"), 403);
    struct answer answer = get(fixture.port, PATH);
    assert_int_equal(answer.status, 200);
    answer_finish(&answer);
}

int main(void)
{
    static char token[] = "correct-horse";
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_what_was_put_is_given_with_a_tag, start_server, remove_server),
        cmocka_unit_test_setup_teardown(test_what_is_no_policy_is_refused, start_server, remove_server),
        cmocka_unit_test_setup_teardown(test_a_file_put_by_hand_is_given_and_a_link_is_not, start_server,
                                        remove_server),
        cmocka_unit_test_prestate_setup_teardown(test_writing_needs_the_token_and_reading_does_not, start_server,
                                                 remove_server, token),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
