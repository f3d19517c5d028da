/* SPDX-License-Identifier: Apache-2.0 */
/* test_stall_sampling.c - a snapshot is counted once, whatever is interrupted, and the payloads' weights add up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "envelope.h"
#include "pack.h"
#include "scene.h"
#include "spool_folders.h"
#include "stall_sampling.h"
#include "test_folder.h"

#include "stallbox/v1/payload.pb-c.h"

struct place {
    char *path;
    struct sbx_spool *spool;
    uint32_t spool_files;     /* how many may wait; 0: the default */
    uint32_t asked, may_most; /* of the gate: how often it was asked, and how often it says yes */
};

static int make_place(void **state)
{
    struct place *place = calloc(1, sizeof *place);
    place->path = sbx_test_folder_make();
    place->may_most = UINT32_MAX;
    *state = place;
    return sbx_spool_open(place->path, NULL, &place->spool, NULL, 0);
}

static int remove_place(void **state)
{
    struct place *place = *state;
    sbx_spool_close(place->spool);
    sbx_test_folder_remove(place->path);
    free(place);
    return 0;
}

static bool may_pack(void *context, uint32_t trigger_kind)
{
    struct place *place = context;
    (void)trigger_kind;
    return place->asked++ < place->may_most;
}

static void say_terms(void *context, struct sbx_delivery_terms *terms_out)
{
    struct place *place = context;
    *terms_out = sbx_policy_default()->delivery;
    terms_out->sampling = (struct sbx_sampling_terms){.first = 3};
    if (place->spool_files != 0) {
        terms_out->spool_files = place->spool_files;
    }
}

static struct sbx_delivery_gate gate_of(struct place *place)
{
    return (struct sbx_delivery_gate){.context = place, .may_pack = may_pack, .terms = say_terms};
}

/* Leave a raw snapshot of the scene's stall with number `number`. */
static void leave_raw(const struct place *place, uint32_t number)
{
    struct sbx_recording_builder *builder = sbx_scene_create();
    memcpy(builder->header->snapshot_id, &number, sizeof number);
    char name[40];
    snprintf(name, sizeof name, "raw/%08x.raw", number);
    sbx_recording_save(builder, sbx_test_path(place->path, name));
    sbx_recording_builder_destroy(builder);
}

static struct sbx_pack_counts pack(struct place *place)
{
    struct sbx_redaction redaction = sbx_scene_redaction(1);
    struct sbx_delivery_gate gate = gate_of(place);
    struct sbx_pack_counts counts;
    assert_int_equal(sbx_pack_raw_folder(place->spool, &redaction, &gate, NULL, &counts), 0);
    return counts;
}

static int add_weight(void *context, const char *path, const uint8_t id[16])
{
    (void)id;
    size_t bytes, payload_bytes;
    struct sbx_envelope envelope;
    char why[200] = "";
    uint8_t *read = sbx_test_read(path, &bytes), *payload;
    assert_int_equal(sbx_envelope_read(read, bytes, &envelope, why, sizeof why), 0);
    assert_int_equal(sbx_envelope_payload(&envelope, &payload, &payload_bytes, why, sizeof why), 0);
    Stallbox__V1__Payload *message = stallbox__v1__payload__unpack(NULL, payload_bytes, payload);
    assert_non_null(message);
    assert_non_null(message->sampling);
    *(uint64_t *)context += message->sampling->weight;
    stallbox__v1__payload__free_unpacked(message, NULL);
    free(payload);
    free(read);
    return 0;
}

static uint64_t told_weight(struct place *place)
{
    uint64_t sum = 0;
    assert_int_equal(sbx_spool_each(place->spool, add_weight, &sum), 0);
    return sum;
}

static struct sbx_stall_counts *read_counts(const struct place *place)
{
    size_t bytes;
    struct sbx_stall_counts *counts = calloc(1, sizeof *counts);
    uint8_t *read = sbx_test_read(sbx_test_path(place->path, "stalls"), &bytes);
    assert_non_null(counts);
    assert_true(sbx_stall_counts_parse(read, bytes, counts));
    free(read);
    return counts;
}

enum {
    FULL = 31
}; /* 3 + 2 x (2 + 4 + 8): full blocks, so the weights give the exact count */

static void test_of_one_stall_again_and_again_few_are_told_and_their_weights_are_the_count(void **state)
{
    struct place *place = *state;
    uint32_t packed = 0;
    for (uint32_t i = 1; i <= FULL; i++) {
        leave_raw(place, i);
        packed += pack(place).packed;
    }
    assert_int_equal(packed, 3 + 2 * 3);
    assert_int_equal(told_weight(place), FULL);
    assert_int_equal(sbx_test_count(sbx_test_path(place->path, "raw"), ""), 0);
    assert_int_equal(place->asked, packed); /* the budget is asked only for selected stalls */
}

static void test_what_a_days_budget_withholds_is_told_by_the_next(void **state)
{
    struct place *place = *state;
    place->may_most = 4;
    for (uint32_t i = 1; i <= FULL; i++) {
        leave_raw(place, i);
        pack(place);
    }
    struct sbx_stall_counts *counts = read_counts(place);
    assert_int_equal(told_weight(place) + counts->kinds[0].carried, FULL);
    assert_true(counts->kinds[0].carried > 0);
    free(counts);
    place->may_most = UINT32_MAX; /* the next day */
    uint32_t packed = 0;
    for (uint32_t i = FULL + 1; packed == 0; i++) {
        leave_raw(place, i);
        packed = pack(place).packed;
    }
    counts = read_counts(place);
    assert_int_equal(counts->kinds[0].carried, 0);
    free(counts);
    assert_true(told_weight(place) >= FULL);
}

static void test_a_raw_snapshot_that_comes_back_is_counted_once(void **state)
{
    struct place *place = *state;
    for (uint32_t i = 1; i <= FULL; i++) {
        for (int again = 0; again < 3; again++) { /* as after a kill between the decision and the end of packing */
            leave_raw(place, i);
            pack(place);
        }
    }
    struct sbx_stall_counts *counts = read_counts(place);
    assert_int_equal(counts->kinds[0].seen, FULL);
    free(counts);
    assert_int_equal(told_weight(place), FULL);
}

/* kill -9 of the packer at any moment, again and again. */
static void test_kills_at_any_moment_make_no_count_wrong(void **state)
{
    struct place *place = *state;
    uint64_t random = 4711;
    for (uint32_t i = 1; i <= FULL; i++) {
        leave_raw(place, i);
        for (int tries = 0; tries < 6; tries++) {
            pid_t pid = fork();
            assert_true(pid >= 0);
            if (pid == 0) {
                struct sbx_redaction redaction = sbx_scene_redaction(1);
                struct sbx_delivery_gate gate = gate_of(place);
                struct sbx_pack_counts counts;
                (void)!sbx_pack_raw_folder(place->spool, &redaction, &gate, NULL, &counts);
                _exit(0);
            }
            random = random * 6364136223846793005u + 1442695040888963407u;
            const struct timespec pause = {0, (long)((random >> 33) % 30000000)};
            nanosleep(&pause, NULL);
            kill(pid, SIGKILL);
            assert_int_equal(waitpid(pid, NULL, 0), pid);
        }
        pack(place);
    }
    struct sbx_stall_counts *counts = read_counts(place);
    assert_int_equal(counts->kinds[0].seen, FULL);
    free(counts);
    assert_int_equal(told_weight(place), FULL);
    assert_int_equal(sbx_test_count(sbx_test_path(place->path, "raw"), ".raw"), 0);
}

static void test_two_packers_at_a_time_count_each_snapshot_once(void **state)
{
    struct place *place = *state;
    for (uint32_t i = 1; i <= FULL; i++) {
        leave_raw(place, i);
    }
    pid_t pids[4];
    for (int i = 0; i < 4; i++) {
        pids[i] = fork();
        assert_true(pids[i] >= 0);
        if (pids[i] == 0) {
            struct sbx_redaction redaction = sbx_scene_redaction(1);
            struct sbx_delivery_gate gate = gate_of(place);
            struct sbx_pack_counts counts;
            _exit(sbx_pack_raw_folder(place->spool, &redaction, &gate, NULL, &counts) != 0);
        }
    }
    for (int i = 0; i < 4; i++) {
        int status;
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_int_equal(status, 0);
    }
    pack(place);
    struct sbx_stall_counts *counts = read_counts(place);
    assert_int_equal(counts->kinds[0].seen, FULL);
    free(counts);
    assert_int_equal(told_weight(place), FULL);
}

static void test_what_may_wait_is_what_the_terms_say_from_the_next_payload_on(void **state)
{
    struct place *place = *state;
    for (uint32_t i = 1; i <= 3; i++) {
        leave_raw(place, i);
        pack(place);
    }
    assert_int_equal(sbx_test_count(place->path, ".sbx"), 3);
    place->spool_files = 2;
    for (uint32_t i = 4; i <= 7; i++) {
        leave_raw(place, i);
        pack(place);
    }
    assert_int_equal(sbx_test_count(place->path, ".sbx"), 2);
    place->spool_files = 0;
    for (uint32_t i = 8; i <= 15; i++) {
        leave_raw(place, i);
        pack(place);
    }
    assert_int_equal(sbx_test_count(place->path, ".sbx"), 2 + 2);
}

static void test_a_file_that_is_none_is_begun_anew_and_one_that_cannot_be_written_decides_nothing(void **state)
{
    struct place *place = *state;
    leave_raw(place, 1);
    sbx_test_write(sbx_test_path(place->path, "stalls"), "not a table", 11);
    assert_int_equal(pack(place).packed, 1);
    struct sbx_stall_counts *counts = read_counts(place);
    assert_int_equal(counts->kinds[0].seen, 1);
    free(counts);
    unlink(sbx_test_path(place->path, "stalls"));
    mkdir(sbx_test_path(place->path, "stalls"), 0700); /* a folder, so that no file can have that name */
    leave_raw(place, 2);
    struct sbx_pack_counts packed = pack(place);
    assert_int_equal(packed.packed + packed.withheld + packed.unreadable, 0);
    assert_int_equal(packed.later, 1);
    assert_int_equal(sbx_test_count(sbx_test_path(place->path, "raw"), ".raw"), 1);
    rmdir(sbx_test_path(place->path, "stalls"));
    assert_int_equal(pack(place).packed, 1);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, make_place, remove_place)
    const struct CMUnitTest tests[] = {
        CASE(test_of_one_stall_again_and_again_few_are_told_and_their_weights_are_the_count),
        CASE(test_what_a_days_budget_withholds_is_told_by_the_next),
        CASE(test_a_raw_snapshot_that_comes_back_is_counted_once),
        CASE(test_kills_at_any_moment_make_no_count_wrong),
        CASE(test_two_packers_at_a_time_count_each_snapshot_once),
        CASE(test_what_may_wait_is_what_the_terms_say_from_the_next_payload_on),
        CASE(test_a_file_that_is_none_is_begun_anew_and_one_that_cannot_be_written_decides_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
