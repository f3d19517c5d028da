/* SPDX-License-Identifier: Apache-2.0 */
/* test_backup.c - docs/OPERATIONS.md: a copy that is made while the server works, and a server that runs on the
 * copy. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "started_server.h"
#include "token_book.h"

/* Do what `sqlite3 FROM ".backup TO"` does. */
static void back_up(const char *from, const char *to)
{
    sqlite3 *source, *copy;
    assert_int_equal(sqlite3_open_v2(from, &source, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_open(to, &copy), SQLITE_OK);
    sqlite3_busy_timeout(source, 30000);
    sqlite3_backup *backup = sqlite3_backup_init(copy, "main", source, "main");
    assert_non_null(backup);
    assert_int_equal(sqlite3_backup_step(backup, -1), SQLITE_DONE);
    assert_int_equal(sqlite3_backup_finish(backup), SQLITE_OK);
    assert_int_equal(sqlite3_exec(copy, "PRAGMA integrity_check", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(copy);
    sqlite3_close(source);
}

static void test_a_copy_made_while_the_server_works_is_a_server_of_its_own(void **state)
{
    (void)state;
    enum {
        COUNT = 6
    };
    char from[100], to[120], restored[64];
    struct envelope envelopes[COUNT];
    fixture_start(&fixture);
    for (uint64_t i = 0; i < COUNT; i++) {
        envelopes[i] = envelope_of(SBX_SCENARIO_LOCK, 1 + i);
        post_stored(fixture.port, &envelopes[i]);
    }
    assert_true(wait_for_triage(fixture.port, envelopes[0].id)); /* the others may still wait */
    snprintf(restored, sizeof(restored), "%.40s/restored", fixture.data_dir);
    snprintf(from, sizeof(from), "%s/store.db", fixture.data_dir);
    snprintf(to, sizeof(to), "%s/store.db", restored);
    assert_int_equal(mkdir(restored, 0700), 0);
    back_up(from, to);

    struct envelope late = envelope_of(SBX_SCENARIO_IO, 99); /* sent after the copy was made */
    post_stored(fixture.port, &late);
    fixture_stop(&fixture);

    struct server_fixture other = fixture;
    snprintf(other.data_dir, sizeof(other.data_dir), "%s", restored);
    other.options.data_dir = other.data_dir;
    fixture_start(&other);
    for (size_t i = 0; i < COUNT; i++) {
        assert_true(wait_for_triage(other.port, envelopes[i].id)); /* those that waited are judged here */
        assert_int_equal(status_of(other.port, "/v1/snapshots/", envelopes[i].id, ".json"), 200);
        post_stored(other.port, &envelopes[i]); /* they are known, so nothing is stored twice */
    }
    assert_true(metric(other.port, "stallbox_store_snapshots") == COUNT);
    assert_int_equal(status_of(other.port, "/v1/snapshots/", late.id, ""), 404);
    post_stored(other.port, &late);
    fixture_stop(&other);
    for (size_t i = 0; i < COUNT; i++)
        envelope_finish(&envelopes[i]);
    envelope_finish(&late);
}

/* Replace a path of the document by the path in this test. */
static void replace(char *text, size_t room, const char *from, const char *to)
{
    char *at, rest[1000];
    while ((at = strstr(text, from))) {
        snprintf(rest, sizeof(rest), "%s", at + strlen(from));
        snprintf(at, room - (size_t)(at - text), "%s%s", to, rest);
    }
}

/* Run the commands under "Backup and restore" in docs/OPERATIONS.md. Returns how many there are. */
static int run_documented_backup(const char *data_dir, const char *copy)
{
    char line[1000];
    int commands = 0;
    bool is_there = false;
    FILE *document = fopen(OPERATIONS_MD, "r");
    assert_non_null(document);
    while (fgets(line, sizeof(line), document)) {
        is_there = strncmp(line, "## ", 3) == 0 ? strcmp(line, "## Backup and restore\n") == 0 : is_there;
        if (!is_there || strncmp(line, "    ", 4) != 0)
            continue;
        replace(line, sizeof(line), "/var/lib/stallbox", data_dir);
        replace(line, sizeof(line), "/backup", copy);
        if (system(line) != 0)
            fail_msg("%s", line);
        commands++;
    }
    fclose(document);
    return commands;
}

static long status_with(uint16_t port, const char *path, const char *header)
{
    struct answer answer = ask(port, &(struct question){.path = path, .header = header});
    long status = answer.status;
    answer_finish(&answer);
    return status;
}

/* Symptom: the copy made by the documented commands had no tokens, so that a restored server behind a proxy refused to
 * start. */
static void test_the_documented_copy_of_a_server_behind_a_proxy_starts_and_knows_who_may_read(void **state)
{
    (void)state;
    static const char *const proxies[] = {"127.0.0.1"};
    char book[100], copy[64], why[300] = "", secret[SBX_TOKEN_SECRET_BYTES], bearer[120], path[100];
    struct sbx_token token = {.rights = SBX_RIGHT_ALL};
    struct envelope envelope = envelope_of(SBX_SCENARIO_LOCK, 1);
    snprintf(book, sizeof(book), "%s/tokens", fixture.data_dir);
    snprintf(copy, sizeof(copy), "%.40s.copy", fixture.data_dir);
    assert_int_equal(mkdir(copy, 0700), 0);
    assert_int_equal(sbx_token_book_add(book, &token, secret, why, sizeof(why)), 0);
    snprintf(bearer, sizeof(bearer), "Authorization: Bearer %s", secret);
    fixture.options.proxies = proxies;
    fixture.options.proxy_count = 1;
    fixture_start(&fixture);
    struct answer answer =
        ask(fixture.port,
            &(struct question){
                .path = "/v1/snapshots", .body = envelope.bytes, .body_bytes = envelope.count, .header = bearer});
    assert_int_equal(answer.status, 200);
    answer_finish(&answer);
    assert_true(run_documented_backup(fixture.data_dir, copy) >= 3);
    fixture_stop(&fixture);

    struct server_fixture other = fixture;
    snprintf(other.data_dir, sizeof(other.data_dir), "%s", copy);
    other.options.data_dir = other.data_dir;
    fixture_start(&other);
    snprintf(path, sizeof(path), "/v1/snapshots/%s", envelope.id);
    assert_int_equal(status_with(other.port, path, bearer), 200);
    assert_int_equal(status_with(other.port, path, "Authorization: Bearer sbt_no"), 401);
    fixture_finish(&other);
    envelope_finish(&envelope);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_copy_made_while_the_server_works_is_a_server_of_its_own, prepare_server,
                                        remove_server),
        cmocka_unit_test_setup_teardown(
            test_the_documented_copy_of_a_server_behind_a_proxy_starts_and_knows_who_may_read, prepare_server,
            remove_server),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
