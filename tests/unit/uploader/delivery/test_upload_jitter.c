/* SPDX-License-Identifier: Apache-2.0 */
/* test_upload_jitter.c - the sending of payloads is spread over the time that a policy allows, by their ids. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "deliver.h"
#include "encode.h"
#include "http_server.h"
#include "scene.h"
#include "test_folder.h"
#include "upload_jitter.h"

enum {
    HOUR_S = 3600,
    HOUR_MS = 3600000
};

static void make_id(uint64_t number, uint8_t id_out[16])
{
    for (unsigned i = 0; i < 16; i++) { /* as random as a snapshot's */
        number = number * 6364136223846793005u + 1442695040888963407u;
        id_out[i] = (uint8_t)(number >> 56);
    }
}

static void test_waits_are_spread_evenly_and_counted_from_the_writing(void **state)
{
    (void)state;
    unsigned quarters[4] = {0, 0, 0, 0};
    for (uint64_t i = 1; i <= 4000; i++) {
        uint8_t id[16];
        make_id(i, id);
        uint64_t wait_ms = sbx_upload_jitter_of(id, HOUR_S, 5000000, 5000000);
        assert_true(wait_ms < HOUR_MS);
        quarters[wait_ms * 4 / HOUR_MS]++;
        assert_int_equal(sbx_upload_jitter_of(id, HOUR_S, 5000000, 5000000 + wait_ms), 0);
        if (wait_ms > 1) {
            assert_int_equal(sbx_upload_jitter_of(id, HOUR_S, 5000000, 5000000 + wait_ms - 1), 1);
        }
    }
    for (int i = 0; i < 4; i++) {
        assert_in_range(quarters[i], 900, 1100); /* 1,000 and 3.6 times their standard deviation */
    }
}

static void test_no_jitter_and_clocks_that_went_back_hold_nothing(void **state)
{
    (void)state;
    uint8_t id[16];
    memset(id, 0xff, sizeof id);
    assert_int_equal(sbx_upload_jitter_of(id, 0, 1000, 1000), 0);
    assert_true(sbx_upload_jitter_of(id, 86400, 1000, 1000) > 86399000);
    assert_int_equal(sbx_upload_jitter_of(id, 86400, 1001, 1000), 0);
    assert_int_equal(sbx_upload_jitter_of(id, 86400, 0, UINT64_MAX), 0);
    assert_int_equal(sbx_upload_jitter_left_ms(AT_FDCWD, id, HOUR_S), 0); /* the payload does not exist */
}

static bool always(void *context, uint64_t bytes)
{
    (void)context;
    (void)bytes;
    return true;
}

static void nothing(void *context, uint64_t bytes)
{
    (void)context;
    (void)bytes;
}

static void an_hour(void *context, struct sbx_delivery_terms *terms_out)
{
    (void)context;
    *terms_out = sbx_policy_default()->delivery;
    terms_out->upload_jitter_s = HOUR_S;
}

static void test_a_payload_waits_in_the_spool_until_it_is_old_enough(void **state)
{
    (void)state;
    static const struct sbx_delivery_gate gate = {.may_send = always, .was_sent = nothing, .terms = an_hour};
    char *path = sbx_test_folder_make(), file[600];
    struct sbx_spool *spool;
    assert_int_equal(sbx_spool_open(path, NULL, &spool, NULL, 0), 0);
    struct sbx_recording_builder *builder = sbx_scene_create();
    memset(builder->header->snapshot_id, 0xf0, 16); /* 15/16 of the longest wait */
    struct sbx_snapshot *snapshot = sbx_recording_read_back(builder);
    struct sbx_redaction redaction = sbx_scene_redaction(1);
    uint8_t *envelope;
    size_t bytes;
    assert_int_equal(sbx_encode(snapshot, &redaction, &envelope, &bytes, NULL, 0), 0);
    assert_int_equal(sbx_spool_put(spool, snapshot->header.snapshot_id, envelope, bytes), 0);

    struct sbx_deliverer *deliverer = sbx_deliverer_create(spool, "http://127.0.0.1:1", NULL);
    assert_non_null(deliverer);
    sbx_deliverer_set_gate(deliverer, &gate);
    struct sbx_deliver_counts counts;
    uint64_t due_ms = sbx_deliverer_step(deliverer);
    assert_true(due_ms > HOUR_MS / 2 && due_ms <= HOUR_MS);
    sbx_deliverer_counts(deliverer, &counts);
    assert_int_equal(counts.later + counts.sent, 0); /* nothing was tried */

    uint8_t id[16];
    memcpy(id, snapshot->header.snapshot_id, sizeof id);
    int used = snprintf(file, sizeof file, "%s/", path);
    for (unsigned i = 0; i < 16; i++) {
        used += snprintf(file + used, sizeof file - (size_t)used, "%02x", id[i]);
    }
    snprintf(file + used, sizeof file - (size_t)used, ".sbx");
    struct timespec now, times[2];
    clock_gettime(CLOCK_REALTIME, &now);
    now.tv_sec -= HOUR_S;
    times[0] = times[1] = now;
    assert_int_equal(utimensat(AT_FDCWD, file, times, 0), 0);
    sbx_deliverer_step(deliverer);
    sbx_deliverer_counts(deliverer, &counts);
    assert_int_equal(counts.later, 1); /* tried, but no server listens there */

    sbx_deliverer_destroy(deliverer);
    free(envelope);
    sbx_snapshot_destroy(snapshot);
    sbx_recording_builder_destroy(builder);
    sbx_spool_close(spool);
    sbx_test_folder_remove(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_waits_are_spread_evenly_and_counted_from_the_writing),
        cmocka_unit_test(test_no_jitter_and_clocks_that_went_back_hold_nothing),
        cmocka_unit_test(test_a_payload_waits_in_the_spool_until_it_is_old_enough),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
