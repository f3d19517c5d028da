/* SPDX-License-Identifier: Apache-2.0 */
/* test_symbols.c - how the server names code: from its store, and the same from files. */
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

/* Parse `path` into the store at `folder`, as `stallbox symbols add --store` does. */
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
    fixture.options.symbol_store = fixture.data_dir; /* another, with nothing in it */
    fixture_start(&fixture);
    struct answer filed = report_of(3);
    const char *of_store = strstr(stored.body.data, "\"app\":"), *of_files = strstr(filed.body.data, "\"app\":");
    assert_non_null(of_store);
    assert_non_null(of_files);
    assert_string_equal(of_store, of_files); /* behind the payload's id all is equal */
    answer_finish(&without);
    answer_finish(&stored);
    answer_finish(&filed);
}

int main(void)
{
#define PREPARED(name) cmocka_unit_test_setup_teardown(name, prepare_server, remove_server)
    const struct CMUnitTest tests[] = {
        PREPARED(test_the_store_and_the_files_give_one_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
