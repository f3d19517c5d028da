/* SPDX-License-Identifier: Apache-2.0 */
/* test_workers.c - payloads that are too expensive for a worker, workers that die, and senders that are told to
 * wait. */
#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "started_server.h"

/* Small to send but expensive to judge: all records have the same deep stack. */
static struct envelope bomb(uint64_t seed)
{
    enum {
        RECORDS = 60000,
        DEPTH = 900
    };
    static struct sbx_build_frame frames[DEPTH];
    struct sbx_payload_builder *builder;
    assert_true(sbx_scenario_build(SBX_SCENARIO_SLEEP, false, seed, &builder));
    for (size_t i = 0; i < DEPTH; i++)
        frames[i] = (struct sbx_build_frame){.module = (int32_t)(i % 2), .offset = 0x1000 + 16 * i};
    uint32_t stack = sbx_builder_stack(builder, frames, DEPTH);
    uint32_t thread = sbx_builder_thread(builder, "busy", 0);
    for (int64_t i = 0; i < RECORDS; i++)
        sbx_builder_record(builder, (struct sbx_build_record){.thread = thread,
                                                              .kind = 1,
                                                              .begin_us = -2000000 + i * 30,
                                                              .end_us = -2000000 + i * 30 + 20,
                                                              .stack = stack});
    return envelope_of_builder(builder);
}

/* The process id of a triage worker of this test, 0: none. Workers are grandchildren of this process. */
static pid_t find_worker(void)
{
    DIR *folder = opendir("/proc");
    const struct dirent *entry;
    pid_t found = 0;
    while (folder && !found && (entry = readdir(folder)) != NULL) {
        char path[300], name[32] = "";
        int parent = 0, grandparent = 0;
        snprintf(path, sizeof(path), "/proc/%s/stat", entry->d_name);
        FILE *file = entry->d_name[0] >= '1' && entry->d_name[0] <= '9' ? fopen(path, "r") : NULL;
        if (!file)
            continue;
        int read = fscanf(file, "%*d (%31[^)]) %*c %d", name, &parent);
        fclose(file);
        snprintf(path, sizeof(path), "/proc/%d/stat", parent);
        file = read == 2 && strcmp(name, "stallbox-triage") == 0 ? fopen(path, "r") : NULL;
        if (!file)
            continue;
        if (fscanf(file, "%*d (%*[^)]) %*c %d", &grandparent) == 1 && grandparent == getpid())
            found = (pid_t)strtol(entry->d_name, NULL, 10);
        fclose(file);
    }
    if (folder)
        closedir(folder);
    return found;
}

static void test_a_payload_that_takes_too_long_is_set_aside_and_the_next_is_not(void **state)
{
    (void)state;
    char path[80];
    struct envelope first = bomb(1), second = envelope_of(SBX_SCENARIO_LOCK, 2);
    fixture.options.triage_ms = 1;
    fixture.options.skips_local_files = false; /* it takes longer than the time between two checks of its CPU time */
    fixture.options.workers = 1;
    fixture_start(&fixture);
    post_stored(fixture.port, &first);
    assert_false(wait_for_triage(fixture.port, first.id));
    snprintf(path, sizeof(path), "/stalls/%s", first.id);
    struct answer answer = get(fixture.port, path);
    assert_true(answer_has(&answer, "s of processor time"));
    answer_finish(&answer);
    expect_metric("stallbox_triage_workers_ended_total{reason=\"time\"}", 1);
    fixture_stop(&fixture);

    fixture.options.triage_ms = 0;
    fixture_start(&fixture);
    post_stored(fixture.port, &second);
    assert_true(wait_for_triage(fixture.port, second.id));
    assert_false(wait_for_triage(fixture.port, first.id)); /* it is not tried again */
    envelope_finish(&first);
    envelope_finish(&second);
}

/* The only worker has triaged the first payload and gets the signal. The second payload must be triaged all the
 * same. */
static void triage_past_a_signal(const struct envelope *first, const struct envelope *second, int signal)
{
    fixture.options.workers = 1;
    fixture_start(&fixture);
    post_stored(fixture.port, first);
    assert_true(wait_for_triage(fixture.port, first->id));
    pid_t worker = find_worker();
    assert_true(worker > 0);
    assert_int_equal(kill(worker, signal), 0);
    post_stored(fixture.port, second);
    assert_true(wait_for_triage(fixture.port, second->id));
}

static void test_a_worker_that_dies_costs_a_second_try(void **state)
{
    (void)state;
    struct envelope first = envelope_of(SBX_SCENARIO_LOCK, 1), second = envelope_of(SBX_SCENARIO_IO, 2);
    triage_past_a_signal(&first, &second, SIGSEGV);
    expect_metric("stallbox_triaged_total", 2);
    assert_true(metric(fixture.port, "stallbox_triage_workers_ended_total{reason=\"crash\"}") +
                    metric(fixture.port, "stallbox_triage_workers_ended_total{reason=\"none\"}") ==
                1);
    assert_true(metric(fixture.port, "stallbox_store_failed") == 0);
    envelope_finish(&first);
    envelope_finish(&second);
}

static void test_a_worker_that_the_system_kills_is_nobodys_fault(void **state)
{
    (void)state;
    struct envelope first = envelope_of(SBX_SCENARIO_LOCK, 1), second = envelope_of(SBX_SCENARIO_IO, 2);
    triage_past_a_signal(&first, &second, SIGKILL);
    assert_true(metric(fixture.port, "stallbox_triage_workers_ended_total{reason=\"killed\"}") == 1);
    envelope_finish(&first);
    envelope_finish(&second);
}

static void test_a_payload_that_two_workers_died_of_is_set_aside(void **state)
{
    (void)state;
    struct envelope envelope = bomb(1); /* takes long enough for the kill */
    fixture.options.workers = 1;
    fixture.options.triage_ms = 600000;
    fixture_start(&fixture);
    post_stored(fixture.port, &envelope);
    for (pid_t worker = 0, before = 0, deaths = 0; deaths < 2; deaths++, before = worker) {
        for (int i = 0; i < 60000 && ((worker = find_worker()) == 0 || worker == before); i++)
            sleep_ms(1);
        assert_true(worker > 0 && worker != before);
        assert_int_equal(kill(worker, SIGABRT), 0);
    }
    assert_false(wait_for_triage(fixture.port, envelope.id));
    struct answer answer = get_of(fixture.port, "/v1/snapshots/", envelope.id, "");
    assert_true(answer_has(&answer, "its process ended by Abort"));
    answer_finish(&answer);
    assert_true(metric(fixture.port, "stallbox_triage_workers_ended_total{reason=\"crash\"}") == 2);
    envelope_finish(&envelope);
}

static void test_while_too_many_wait_senders_are_told_when_to_come_again(void **state)
{
    (void)state;
    struct envelope first = bomb(1), rest[12];
    fixture.options.workers = 1;
    fixture.options.pending_max = 2;
    fixture_start(&fixture);
    post_stored(fixture.port, &first);
    int refused = 0;
    for (uint64_t i = 0; i < 12; i++) {
        rest[i] = envelope_of(SBX_SCENARIO_LOCK, 10 + i);
        struct answer answer = post(fixture.port, rest[i].bytes, rest[i].count);
        if (answer.status == 503) {
            assert_non_null(strstr(answer.headers.data, "Retry-After: "));
            refused++;
        }
        answer_finish(&answer);
    }
    assert_true(refused > 0);
    assert_true(metric(fixture.port, "stallbox_snapshots_rejected_total{reason=\"pending\"}") == refused);
    for (uint64_t i = 0; i < 12; i++) { /* nothing is lost: a sender that retries is served */
        for (int times = 0; times < 600; times++) {
            struct answer answer = post(fixture.port, rest[i].bytes, rest[i].count);
            long status = answer.status;
            answer_finish(&answer);
            if (status == 200)
                break;
            assert_int_equal(status, 503);
            sleep_ms(100);
        }
        wait_for_triage(fixture.port, rest[i].id);
        envelope_finish(&rest[i]);
    }
    assert_true(metric(fixture.port, "stallbox_store_snapshots") == 13);
    envelope_finish(&first);
}

int main(void)
{
#define PREPARED(name) cmocka_unit_test_setup_teardown(name, prepare_server, remove_server)
    const struct CMUnitTest tests[] = {
        PREPARED(test_a_payload_that_takes_too_long_is_set_aside_and_the_next_is_not),
        PREPARED(test_a_worker_that_dies_costs_a_second_try),
        PREPARED(test_a_worker_that_the_system_kills_is_nobodys_fault),
        PREPARED(test_a_payload_that_two_workers_died_of_is_set_aside),
        PREPARED(test_while_too_many_wait_senders_are_told_when_to_come_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
