/* SPDX-License-Identifier: Apache-2.0 */
/* test_backup.c - docs/OPERATIONS.md: a copy made while the server works, and a server on that copy. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "started_server.h"

/* What `sqlite3 FROM ".backup TO"` does. */
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
    assert_true(wait_for_triage(fixture.port, envelopes[0].id)); /* the others may wait still */
    snprintf(restored, sizeof(restored), "%.40s/restored", fixture.data_dir);
    snprintf(from, sizeof(from), "%s/store.db", fixture.data_dir);
    snprintf(to, sizeof(to), "%s/store.db", restored);
    assert_int_equal(mkdir(restored, 0700), 0);
    back_up(from, to);

    struct envelope late = envelope_of(SBX_SCENARIO_IO, 99); /* behind the copy */
    post_stored(fixture.port, &late);
    fixture_stop(&fixture);

    struct server_fixture other = fixture;
    snprintf(other.data_dir, sizeof(other.data_dir), "%s", restored);
    other.options.data_dir = other.data_dir;
    fixture_start(&other);
    for (size_t i = 0; i < COUNT; i++) {
        assert_true(wait_for_triage(other.port, envelopes[i].id)); /* those that waited are judged here */
        assert_int_equal(status_of(other.port, "/v1/snapshots/", envelopes[i].id, ".json"), 200);
        post_stored(other.port, &envelopes[i]); /* and known: nothing comes twice */
    }
    assert_true(metric(other.port, "stallbox_store_snapshots") == COUNT);
    assert_int_equal(status_of(other.port, "/v1/snapshots/", late.id, ""), 404);
    post_stored(other.port, &late);
    fixture_stop(&other);
    for (size_t i = 0; i < COUNT; i++)
        envelope_finish(&envelopes[i]);
    envelope_finish(&late);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_copy_made_while_the_server_works_is_a_server_of_its_own, prepare_server,
                                        remove_server),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
