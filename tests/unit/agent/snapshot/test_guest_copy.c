/* SPDX-License-Identifier: Apache-2.0 */
/* test_guest_copy.c - which recordings of other processes are appended to a snapshot, and which are not. */
#include <fcntl.h>
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

#include "answering_keeper.h"
#include "guest_copy.h"
#include "guest_look.h"
#include "recording_builder.h"
#include "recording_file.h"
#include "recording_name.h"
#include "order.h"
#include "snapshot_copy.h"

enum {
    HOST = 1
};
#define KEY UINT64_C(0x1234)

static char folder[64], path[192];
static int folder_fd;
static struct sbx_recording_builder *host, *keeper; /* the keeper's recording names this process */
static uint64_t scratch[SBX_GUEST_SCRATCH_MIN / sizeof(uint64_t)];
static const struct sbx_trigger_entry trigger = {
    .kind = SBX_TRIGGER_ANR, .begin_ns = 90000000, .end_ns = 910000000, .threshold_ms = 500};

static struct sbx_recording_builder *build(uint32_t pid, const char *file)
{
    struct sbx_recording_builder *builder = sbx_recording_builder_create(SBX_RECORDING_SHAPE_SMALL, file);
    builder->header->pid = pid;
    builder->header->family.role = SBX_ROLE_WORKER;
    memset(builder->header->family.id, 5, sizeof builder->header->family.id);
    strcpy(builder->header->spool_path, "/spool");
    builder->control->handover.key = KEY;
    sbx_recording_add_module(builder, "/usr/bin/application", 0x550000000000, 0x10000, SBX_MODULE_MAIN);
    sbx_recording_add_thread(builder, pid, "application", SBX_THREAD_FLAG_MAIN);
    return builder;
}

static int begin(void **state)
{
    (void)state;
    struct sbx_recording_name name = {.pid = (uint32_t)getpid(), .session_id = {9}};
    char text[SBX_RECORDING_NAME_BYTES];
    strcpy(folder, "/tmp/test-guest-copy-XXXXXX");
    assert_non_null(mkdtemp(folder));
    folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    sbx_recording_name_print(&name, text);
    snprintf(path, sizeof path, "%s/%s", folder, text);
    host = build(HOST, NULL);
    keeper = build((uint32_t)getpid(), path);
    keeper->header->process_start_ticks = sbx_process_start_ticks((uint32_t)getpid());
    const struct sbx_built_frame frame = {0, 0x1100, 0};
    uint32_t stack = sbx_recording_add_stack(keeper, &frame, 1, SBX_WALK_COMPLETE);
    for (uint64_t i = 0; i < 100; i++) {
        sbx_recording_put(keeper, &(struct sbx_record){.kind = SBX_RECORD_SLEEP,
                                                       .op = SBX_OP_NANOSLEEP,
                                                       .stack = stack,
                                                       .begin_ns = 100000000 + i * 1000000,
                                                       .end_ns = 100500000 + i * 1000000});
    }
    host->header->holders[0] = (struct sbx_holder_entry){
        .pid = (uint32_t)getpid(), .kind = SBX_HOLDER_FILE_LOCK, .begin_ns = 100000000, .seen_ns = 900000000};
    return 0;
}

static int finish(void **state)
{
    (void)state;
    sbx_recording_builder_destroy(host);
    sbx_recording_builder_destroy(keeper);
    close(folder_fd);
    unlink(path);
    rmdir(folder);
    return 0;
}

/* Take a snapshot of the host with its guests; *count_out: how many guests it got. */
static struct sbx_snapshot *copy_and_read(int *count_out)
{
    static const uint8_t id[16] = {1};
    char file[96];
    struct sbx_snapshot *snapshot = NULL;
    snprintf(file, sizeof file, "%s/out", folder);
    int out = open(file, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_int_equal(sbx_snapshot_copy(host->header, out, &trigger, id, 1000000000, scratch, sizeof scratch), 0);
    *count_out = sbx_guests_copy(host->header, KEY, &trigger, folder_fd, out, scratch, sizeof scratch);
    close(out);
    assert_int_equal(sbx_snapshot_read_file(file, &snapshot, NULL, 0), 0);
    unlink(file);
    return snapshot;
}

static void expect_guests(int expected)
{
    int count = -1;
    struct sbx_snapshot *snapshot = copy_and_read(&count);
    assert_int_equal(count, expected);
    assert_int_equal(snapshot->record_count, expected == 0 ? 0 : 100);
    sbx_snapshot_destroy(snapshot);
}

static void test_the_recording_of_the_holder_is_put_behind(void **state)
{
    (void)state;
    expect_guests(1);
}

static void test_who_is_of_another_family_stays_out(void **state)
{
    (void)state;
    keeper->header->family.id[3] = 6;
    expect_guests(0);
    keeper->header->family.id[3] = 5;
    keeper->header->family.role = SBX_ROLE_NONE;
    expect_guests(0);
}

static void test_who_has_another_companion_or_spool_stays_out(void **state)
{
    (void)state;
    keeper->control->handover.key = KEY + 1;
    expect_guests(0);
    keeper->control->handover.key = KEY;
    strcpy(keeper->header->spool_path, "/other");
    expect_guests(0);
}

static void test_a_process_that_is_not_the_one_of_the_recording_stays_out(void **state)
{
    (void)state;
    keeper->header->process_start_ticks++;
    expect_guests(0);
    keeper->header->process_start_ticks--;
    keeper->header->pid++;
    expect_guests(0);
}

static void test_a_file_that_others_may_read_or_that_has_two_names_is_nobodys(void **state)
{
    (void)state;
    char other[96];
    assert_int_equal(chmod(path, 0644), 0);
    expect_guests(0);
    assert_int_equal(chmod(path, 0600), 0);
    snprintf(other, sizeof other, "%s/other", folder);
    assert_int_equal(link(path, other), 0);
    expect_guests(0);
    unlink(other);
    expect_guests(1);
}

static void test_what_its_user_has_not_agreed_to_stays_out(void **state)
{
    (void)state;
    keeper->header->consent = SBX_CONSENT_UNKNOWN;
    expect_guests(0);
    keeper->header->consent = SBX_CONSENT_GRANTED;
    keeper->header->consent_ns = UINT64_C(990000000); /* consent is younger than its chunk */
    int count = 0;
    struct sbx_snapshot *snapshot = copy_and_read(&count);
    assert_int_equal(count, 1);
    assert_int_equal(snapshot->record_count, 0);
    sbx_snapshot_destroy(snapshot);
}

static void test_a_recording_that_is_cut_short_leaves_the_snapshot_as_it_is(void **state)
{
    (void)state;
    assert_int_equal(truncate(path, (off_t)keeper->header->chunks.at), 0);
    expect_guests(0);
}

static void test_a_chunk_that_is_given_away_has_no_records(void **state)
{
    (void)state;
    int count = 0;
    keeper->chunks[0].committed = UINT32_MAX;
    struct sbx_snapshot *snapshot = copy_and_read(&count);
    assert_int_equal(count, 1);
    assert_int_equal(snapshot->record_count, 0);
    sbx_snapshot_destroy(snapshot);
}

/* The look is recorded by a thread of the recorder, so it goes into another chunk. */
static void look(struct sbx_recording_builder *builder)
{
    const struct sbx_built_frame frame = {0, 0x1200, 0};
    sbx_recording_put_observed(
        builder, 1,
        &(struct sbx_record){.kind = SBX_RECORD_BLOCKED,
                             .op = SBX_OP_NANOSLEEP,
                             .stack = sbx_recording_add_stack(builder, &frame, 1, SBX_WALK_COMPLETE),
                             .begin_ns = 910000000,
                             .end_ns = 910000000});
    sbx_store_release(&builder->control->looked_ns, trigger.end_ns);
}

static void test_what_the_holders_recorder_sees_when_it_is_asked_is_in_the_copy(void **state)
{
    (void)state;
    int count = -1;
    sbx_recording_add_thread(keeper, 2, "sbx-watch", 0);
    answering_keeper_begin(keeper, look);
    struct sbx_snapshot *snapshot = copy_and_read(&count);
    answering_keeper_end();
    assert_int_equal(count, 1);
    assert_int_equal(snapshot->record_count, 101);
    assert_int_equal(snapshot->records[100].kind, SBX_RECORD_BLOCKED);
    sbx_snapshot_destroy(snapshot);
}

static void test_who_is_named_is_asked_to_look_and_not_waited_for(void **state)
{
    (void)state;
    sbx_guests_call(host->header, KEY, &trigger, folder_fd);
    assert_int_equal(keeper->control->look_request, 1);
    assert_int_equal(keeper->control->bell, 1);
    sbx_guests_call(host->header, KEY + 1, &trigger, folder_fd);
    host->header->holders[0].pid = HOST + 1;
    sbx_guests_call(host->header, KEY, &trigger, folder_fd);
    assert_int_equal(keeper->control->look_request, 1);
}

static void test_without_a_holder_nothing_is_looked_for(void **state)
{
    (void)state;
    host->header->holders[0].seen_ns = 0;
    host->header->holders[0].begin_ns = UINT64_C(99000000000);
    expect_guests(0);
}

#define WITH_BOTH(test) cmocka_unit_test_setup_teardown(test, begin, finish)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_BOTH(test_the_recording_of_the_holder_is_put_behind),
        WITH_BOTH(test_who_is_of_another_family_stays_out),
        WITH_BOTH(test_who_has_another_companion_or_spool_stays_out),
        WITH_BOTH(test_a_process_that_is_not_the_one_of_the_recording_stays_out),
        WITH_BOTH(test_a_file_that_others_may_read_or_that_has_two_names_is_nobodys),
        WITH_BOTH(test_what_its_user_has_not_agreed_to_stays_out),
        WITH_BOTH(test_a_recording_that_is_cut_short_leaves_the_snapshot_as_it_is),
        WITH_BOTH(test_a_chunk_that_is_given_away_has_no_records),
        WITH_BOTH(test_what_the_holders_recorder_sees_when_it_is_asked_is_in_the_copy),
        WITH_BOTH(test_who_is_named_is_asked_to_look_and_not_waited_for),
        WITH_BOTH(test_without_a_holder_nothing_is_looked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
