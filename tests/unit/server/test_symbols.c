/* SPDX-License-Identifier: Apache-2.0 */
/* test_symbols.c - how the server names code: from its store, and in the same way from files. */
#include <fcntl.h>
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

#include "sample_stall.h"
#include "started_server.h"
#include "symbol_store.h"
#include "symbol_worker.h"

static void assert_has(const struct answer *answer, const char *text)
{
    if (!answer_has(answer, text))
        fail_msg("\"%s\" is missing in status %ld: %.3000s", text, answer->status,
                 answer->body.data ? answer->body.data : "");
}

/* Add `path` to the store at `folder`, as `stallbox symbols add --store` does. */
static void add_to_store(const char *folder, const char *path, const char *name)
{
    struct sbx_symbol_store *store;
    struct sbx_store_draft draft;
    enum sbx_store_outcome outcome;
    uint8_t build_id[SBX_BUILD_ID_BYTES_MAX];
    char why[240] = "";
    int out, fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t bytes = sbx_build_id_read(fd, build_id);
    assert_true(bytes > 0);
    assert_int_equal(sbx_symbol_store_open(folder, "default", true, &store), 0);
    assert_int_equal(sbx_symbol_store_begin(store, &draft, &out), 0);
    const struct sbx_making making = {.descriptors = &fd,
                                      .descriptor_count = 1,
                                      .alternate = -1,
                                      .build_id = build_id,
                                      .build_id_bytes = bytes,
                                      .name = name,
                                      .now_s = (uint64_t)time(NULL),
                                      .out = out};
    assert_int_equal(sbx_symbol_worker_make(&making, 0, why, sizeof(why)), 0);
    close(out);
    assert_int_equal(sbx_symbol_store_commit(store, &draft, build_id, bytes, &outcome, NULL), 0);
    sbx_symbol_store_close(store);
}

/* The JSON report of a stall in the sample. */
static struct answer report_of(uint64_t seed)
{
    struct envelope envelope = sample_stall(seed);
    post_stored(fixture.port, &envelope);
    assert_true(wait_for_triage(fixture.port, envelope.id));
    struct answer answer = get_of(fixture.port, "/v1/snapshots/", envelope.id, ".json");
    assert_int_equal(answer.status, 200);
    envelope_finish(&envelope);
    return answer;
}

static void test_the_store_and_the_files_give_one_answer(void **state)
{
    (void)state;
    char folder[100], file[140], store[100];
    const char *const folders[] = {folder};
    snprintf(folder, sizeof(folder), "%s/files", fixture.data_dir);
    snprintf(file, sizeof(file), "%s/sample.so", folder);
    snprintf(store, sizeof(store), "%s/symbols", fixture.data_dir);
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_int_equal(symlink(SAMPLE_FULL, file), 0);

    fixture_start(&fixture);
    struct answer without = report_of(1);
    assert_false(answer_has(&without, "sample_middle"));
    fixture_stop(&fixture);

    add_to_store(store, SAMPLE_DEBUG, "sample.so");
    fixture.options.request_deadline_ms = 0;
    fixture_start(&fixture);
    struct answer stored = report_of(2);
    assert_has(&stored, "\"function\":\"sample_middle\"");
    assert_has(&stored, "symbol_sample.c\",\"line\":");
    fixture_stop(&fixture);

    fixture.options.symbol_dirs = folders;
    fixture.options.symbol_dir_count = 1;
    fixture.options.symbol_store = fixture.data_dir; /* another store, which is empty */
    fixture_start(&fixture);
    struct answer filed = report_of(3);
    const char *of_store = strstr(stored.body.data, "\"app\":"), *of_files = strstr(filed.body.data, "\"app\":");
    assert_non_null(of_store);
    assert_non_null(of_files);
    assert_string_equal(of_store, of_files); /* after the payload's id both must be equal */
    answer_finish(&without);
    answer_finish(&stored);
    answer_finish(&filed);
}

/* A stall in this test program, which runs on this machine. */
static struct envelope stall_of_this_program(uint64_t seed)
{
    struct sbx_payload_builder *builder = sbx_payload_builder_create(seed);
    int32_t module = sbx_builder_module_file(builder, 1, "/proc/self/exe", NULL);
    const struct sbx_build_frame frames[] = {{module, sbx_build_symbol("/proc/self/exe", "fixture_start") + 2, true},
                                             {module, sbx_build_symbol("/proc/self/exe", "main") + 2, true},
                                             {SBX_BUILD_END, SBX_WALK_COMPLETE, false}};
    assert_true(module >= 0);
    sbx_builder_sleep(builder, frames, 3);
    return envelope_of_builder(builder);
}

static void expect_of_this_program(uint64_t seed, bool is_named)
{
    struct envelope envelope = stall_of_this_program(seed);
    fixture_start(&fixture);
    post_stored(fixture.port, &envelope);
    assert_true(wait_for_triage(fixture.port, envelope.id));
    struct answer answer = get_of(fixture.port, "/v1/snapshots/", envelope.id, ".json");
    assert_int_equal(answer_has(&answer, "\"function\":\"fixture_start\""), is_named);
    answer_finish(&answer);
    envelope_finish(&envelope);
    fixture_stop(&fixture);
}

static void test_what_this_machine_runs_has_names_unless_local_files_are_skipped(void **state)
{
    (void)state;
    expect_of_this_program(1, false);
    fixture.options.skips_local_files = false;
    expect_of_this_program(2, true);
}

/* ---- what stalls lack ---- */

static int is_missing(const char *build_id)
{
    struct answer answer = get(fixture.port, "/v1/symbols/missing");
    assert_int_equal(answer.status, 200);
    int is_there = answer_has(&answer, build_id);
    answer_finish(&answer);
    return is_there;
}

/* Post a stall in the sample and wait for its verdict. */
static void post_triaged(uint64_t seed, char id[33])
{
    struct envelope envelope = sample_stall(seed);
    post_stored(fixture.port, &envelope);
    assert_true(wait_for_triage(fixture.port, envelope.id));
    memcpy(id, envelope.id, 33);
    envelope_finish(&envelope);
}

static void expect_named(const char *id)
{
    struct answer answer = get_of(fixture.port, "/v1/snapshots/", id, ".json");
    assert_has(&answer, "\"function\":\"sample_middle\"");
    answer_finish(&answer);
}

static const char *store_folder(void)
{
    static char folder[100];
    snprintf(folder, sizeof(folder), "%s/symbols", fixture.data_dir);
    return folder;
}

static void test_symbols_that_came_while_no_server_ran_name_the_stalls_at_its_next_start(void **state)
{
    (void)state;
    char id[33];
    fixture_start(&fixture);
    post_triaged(1, id);
    assert_true(is_missing(sample_build_id()));
    fixture_stop(&fixture);
    add_to_store(store_folder(), SAMPLE_DEBUG, "sample.so");
    fixture_start(&fixture);
    expect_metric("stallbox_triaged_anew_total", 1);
    assert_false(is_missing(sample_build_id()));
    expect_named(id);
    fixture_stop(&fixture);
    fixture_start(&fixture); /* once is enough */
    struct envelope envelope = sample_stall(2);
    post_stored(fixture.port, &envelope);
    assert_true(wait_for_triage(fixture.port, envelope.id));
    expect_metric("stallbox_triaged_anew_total", 0);
    envelope_finish(&envelope);
}

/* How many stalls wait for a second triage, in the stopped server's store. */
static long waiting(void)
{
    return fixture_count(&fixture,
                         "SELECT COUNT(*) FROM gap g JOIN module m ON m.id = g.module WHERE g.seq < m.next_seq");
}

/* The server was killed when one of three stalls had been triaged again. */
static void test_the_mark_of_symbols_that_came_survives_a_restart(void **state)
{
    (void)state;
    char id[33];
    fixture_start(&fixture);
    for (uint64_t seed = 1; seed <= 3; seed++)
        post_triaged(seed, id);
    fixture_stop(&fixture);
    fixture_run_sql(&fixture, "UPDATE module SET next_seq = 3 WHERE length(build_id) = 20");
    assert_int_equal(waiting(), 2);
    fixture_start(&fixture);
    expect_metric("stallbox_triaged_anew_total", 2);
    post_triaged(4, id); /* newer than those, so it does not wait */
    fixture_stop(&fixture);
    assert_int_equal(waiting(), 0);
}

/* The second triage crashed the worker five times, so the verdict stays as it was. */
static void test_a_stall_that_cannot_be_triaged_anew_keeps_its_verdict(void **state)
{
    (void)state;
    char id[33];
    fixture_start(&fixture);
    post_triaged(1, id);
    fixture_stop(&fixture);
    fixture_run_sql(&fixture, "UPDATE snapshot SET attempts = 5; UPDATE module SET next_seq = 9");
    fixture_start(&fixture);
    expect_metric("stallbox_triage_failed_total", 1);
    assert_true(wait_for_triage(fixture.port, id));
    fixture_stop(&fixture);
    assert_int_equal(waiting(), 0);
}

static void test_stalls_of_an_older_store_are_looked_at_for_what_they_lack(void **state)
{
    (void)state;
    char id[33];
    fixture_start(&fixture);
    post_triaged(1, id);
    fixture_stop(&fixture);
    fixture_run_sql(
        &fixture, /* as a server of schema 2 stored it */
        "DROP TABLE lack; DROP TABLE gap; DROP TABLE was_in; DROP TABLE module; DROP TABLE place; DROP TABLE alias;"
        "DROP TABLE issue; DROP TABLE build; DROP TABLE fact; DROP TABLE spread; DROP TABLE label;"
        "DROP TABLE app; DROP TABLE said; DROP TABLE word; DROP TABLE met; DROP TABLE met_day; DROP INDEX "
        "snapshot_of_place;"
        "DROP INDEX snapshot_of_place_received; DROP INDEX snapshot_of_place_duration;"
        "DROP VIEW summed; ALTER TABLE snapshot DROP COLUMN process; ALTER TABLE snapshot DROP COLUMN machine;"
        "ALTER TABLE snapshot DROP COLUMN whole; ALTER TABLE snapshot DROP COLUMN place; ALTER TABLE "
        "snapshot DROP COLUMN day;"
        "ALTER TABLE snapshot DROP COLUMN build; ALTER TABLE snapshot DROP COLUMN bucket;"
        "DROP INDEX snapshot_of_tenant; ALTER TABLE snapshot DROP COLUMN tenant; DROP TABLE symbol_sender;"
        "DROP INDEX snapshot_with_blob; DROP TABLE blob_debt; ALTER TABLE snapshot DROP COLUMN blob;"
        "ALTER TABLE snapshot DROP COLUMN digest;"
        "ALTER TABLE sealed DROP COLUMN tenant;"
        "ALTER TABLE snapshot ADD COLUMN issue BLOB; UPDATE snapshot SET issue = x'12' || randomblob(15);"
        "CREATE INDEX snapshot_of_issue ON snapshot(issue); CREATE TABLE issue(id BLOB PRIMARY KEY);"
        "PRAGMA user_version=2;");
    fixture_start(&fixture);
    expect_metric("stallbox_triaged_anew_total", 1);
    assert_true(is_missing(sample_build_id()));
    fixture_stop(&fixture);
    assert_int_equal(fixture_count(&fixture, "PRAGMA user_version"), 9);
    assert_int_equal(waiting(), 0);
}

static void test_what_a_stall_lacks_goes_with_it(void **state)
{
    (void)state;
    char id[33];
    fixture_start(&fixture);
    post_triaged(1, id);
    fixture_stop(&fixture);
    assert_int_equal(fixture_count(&fixture, "SELECT SUM(stalls) FROM lack"), 1);
    assert_int_equal(fixture_count(&fixture, "SELECT SUM(frames) FROM lack"), 2);
    fixture_grow_old(&fixture, 40); /* its payload is removed, so it cannot get names any more */
    fixture_start(&fixture);
    expect_metric("stallbox_payloads_aged_total", 1);
    assert_false(is_missing(sample_build_id()));
    post_triaged(2, id);
    assert_true(is_missing(sample_build_id()));
    fixture_stop(&fixture);
    fixture_run_sql(&fixture, "INSERT INTO was_in(issue, seq, at_ms) SELECT x'00112233445566778899aabbccddeeff', seq, 1"
                              " FROM snapshot");
    fixture_grow_old(&fixture, 100);
    fixture_start(&fixture);
    expect_metric("stallbox_store_snapshots", 0);
    assert_false(is_missing(sample_build_id()));
    fixture_stop(&fixture);
    assert_int_equal(fixture_count(&fixture, "SELECT (SELECT COUNT(*) FROM gap) + (SELECT COUNT(*) FROM was_in)"
                                             " + (SELECT TOTAL(stalls) + TOTAL(frames) FROM lack)"),
                     0);
}

static void test_what_few_machines_lack_is_not_shown_where_few_are_not(void **state)
{
    (void)state;
    fixture.options.min_machines = 2;
    fixture_start(&fixture);
    struct envelope envelope = sample_stall(1);
    post_stored(fixture.port, &envelope);
    expect_metric("stallbox_triaged_total", 1);
    assert_false(is_missing(sample_build_id()));
    struct answer answer = get(fixture.port, "/symbols");
    assert_int_equal(answer.status, 200);
    assert_false(answer_has(&answer, sample_build_id()));
    answer_finish(&answer);
    fixture_stop(&fixture);
    fixture.options.min_machines = 1;
    fixture_start(&fixture);
    assert_true(is_missing(sample_build_id()));
    envelope_finish(&envelope);
}

/* The symbols name nothing that the stall lacks. It is triaged again once, and stays on the list. */
static void test_symbols_that_do_not_help_are_tried_once(void **state)
{
    (void)state;
    char id[33], command[600];
    fixture_start(&fixture);
    post_triaged(1, id);
    fixture_stop(&fixture);
    snprintf(command, sizeof(command), "objcopy --strip-all %s %s/useless.so", SAMPLE_FULL, fixture.data_dir);
    assert_int_equal(system(command), 0);
    snprintf(command, sizeof(command), "%s/useless.so",
             fixture.data_dir); /* only exported functions: no sample_hidden */
    add_to_store(store_folder(), command, "sample.so");
    fixture_start(&fixture);
    expect_metric("stallbox_triaged_anew_total", 1);
    assert_true(is_missing(sample_build_id()));
    fixture_stop(&fixture);
    fixture_start(&fixture);
    post_triaged(2, id);
    expect_metric("stallbox_triaged_anew_total", 0);
}

int main(void)
{
#define PREPARED(name) cmocka_unit_test_setup_teardown(name, prepare_server, remove_server)
    const struct CMUnitTest tests[] = {
        PREPARED(test_the_store_and_the_files_give_one_answer),
        PREPARED(test_what_this_machine_runs_has_names_unless_local_files_are_skipped),
        PREPARED(test_symbols_that_came_while_no_server_ran_name_the_stalls_at_its_next_start),
        PREPARED(test_the_mark_of_symbols_that_came_survives_a_restart),
        PREPARED(test_a_stall_that_cannot_be_triaged_anew_keeps_its_verdict),
        PREPARED(test_stalls_of_an_older_store_are_looked_at_for_what_they_lack),
        PREPARED(test_what_a_stall_lacks_goes_with_it),
        PREPARED(test_what_few_machines_lack_is_not_shown_where_few_are_not),
        PREPARED(test_symbols_that_do_not_help_are_tried_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
