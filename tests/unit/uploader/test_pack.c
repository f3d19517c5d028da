/* SPDX-License-Identifier: Apache-2.0 */
/* test_pack.c - raw snapshots become payloads, whatever is interrupted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "envelope.h"
#include "hpke_sender.h"
#include "identity.h"
#include "pack.h"
#include "payload_verify.h"
#include "scene.h"
#include "spool_place.h"
#include "test_folder.h"

/* Leave a raw snapshot whose id begins with `number`, as the agent does. */
static void leave_raw(const struct place *place, uint8_t number)
{
    struct sbx_recording_builder *builder = sbx_scene_create();
    builder->header->snapshot_id[0] = number;
    char name[40];
    snprintf(name, sizeof name, "raw/%02x.raw", number);
    sbx_recording_save(builder, sbx_test_path(place->path, name));
    sbx_recording_builder_destroy(builder);
}

/* Leave the snapshot that reports the end of that stall, under a name that sorts before or behind it. */
static void leave_end(const struct place *place, uint8_t number, uint8_t of)
{
    struct sbx_recording_builder *builder = sbx_scene_create();
    struct sbx_trigger_entry *trigger = &builder->header->trigger;
    memcpy(trigger->first_id, builder->header->snapshot_id, sizeof trigger->first_id);
    trigger->first_id[0] = of;
    trigger->kind = SBX_TRIGGER_END;
    trigger->ended = SBX_END_ANSWERED;
    trigger->begin_ns = trigger->end_ns - UINT64_C(9000000000);
    builder->header->snapshot_id[0] = number;
    char name[40];
    snprintf(name, sizeof name, "raw/%02x.raw", number);
    sbx_recording_save(builder, sbx_test_path(place->path, name));
    sbx_recording_builder_destroy(builder);
}

static struct sbx_pack_counts pack(struct place *place, uint32_t detail_level)
{
    struct sbx_redaction redaction = sbx_scene_redaction(detail_level);
    struct sbx_pack_counts counts;
    assert_int_equal(sbx_pack_raw_folder(place->spool, &redaction, NULL, NULL, &counts), 0);
    return counts;
}

static void test_raw_snapshots_become_payloads_and_go(void **state)
{
    struct place *place = *state;
    leave_raw(place, 1);
    leave_raw(place, 2);
    struct sbx_pack_counts counts = pack(place, 1);
    assert_int_equal(counts.packed, 2);
    assert_int_equal(counts.unreadable + counts.later, 0);
    assert_string_equal(counts.why, "");
    assert_int_equal(sbx_test_count(sbx_test_path(place->path, "raw"), ""), 0);
    assert_int_equal(sbx_test_count(place->path, ".sbx"), 2);
    assert_true(sbx_test_exists(sbx_test_path(place->path, "01fdfcfbfaf9f8f7f6f5f4f3f2f1f0ef.sbx")));
    counts = pack(place, 1);
    assert_int_equal(counts.packed, 0);
}

/* It is part of the stall, and contains nothing else of the process. */
static void test_the_end_of_a_stall_is_a_small_payload_and_no_stall(void **state)
{
    struct place *place = *state;
    leave_raw(place, 1);
    leave_end(place, 2, 1);
    struct sbx_pack_counts counts = pack(place, 1);
    assert_int_equal(counts.packed, 1);
    assert_int_equal(counts.ends, 1);
    assert_int_equal(counts.unreadable + counts.later, 0);
    size_t bytes, payload_bytes;
    uint8_t *payload,
        *envelope = sbx_test_read(sbx_test_path(place->path, "02fdfcfbfaf9f8f7f6f5f4f3f2f1f0ef.sbx"), &bytes);
    struct sbx_envelope header;
    struct sbx_payload_survey survey;
    char why[200] = "";
    assert_true(bytes < 400);
    assert_int_equal(sbx_envelope_read(envelope, bytes, &header, why, sizeof why), 0);
    assert_int_equal(sbx_envelope_payload(&header, &payload, &payload_bytes, why, sizeof why), 0);
    assert_int_equal(sbx_payload_verify(payload, payload_bytes, &survey, why, sizeof why), 0);
    static const struct {
        enum sbx_payload_message message;
        uint32_t number;
        int64_t value;
    } told[] = {
        {SBX_IN_TRIGGER, 1, SBX_TRIGGER_END}, {SBX_IN_TRIGGER, 3, 9000000}, {SBX_IN_TRIGGER, 14, SBX_END_ANSWERED}};
    for (size_t i = 0; i < sizeof told / sizeof told[0]; i++) {
        assert_int_equal(survey.fields[sbx_payload_field_find(told[i].message, told[i].number)].max, told[i].value);
    }
    static const enum sbx_payload_message untold[] = {SBX_IN_PLATFORM, SBX_IN_POLICY,   SBX_IN_THREADS,
                                                      SBX_IN_RECORDS,  SBX_IN_OVERHEAD, SBX_IN_WATCHES};
    for (size_t i = 0; i < sbx_payload_field_count; i++) {
        for (size_t k = 0; k < sizeof untold / sizeof untold[0]; k++) {
            assert_true(sbx_payload_fields[i].message != untold[k] || survey.fields[i].values == 0);
        }
    }
    free(payload);
    free(envelope);
}

static void test_an_end_waits_for_its_stall_to_be_packed(void **state)
{
    struct place *place = *state;
    const char *name = sbx_test_path(place->path, "raw/01fdfcfbfaf9f8f7f6f5f4f3f2f1f0ef.raw");
    leave_end(place, 2, 1);
    assert_int_equal(mkdir(name, 0700), 0); /* stands for a snapshot that cannot be packed now */
    struct sbx_pack_counts counts = pack(place, 1);
    assert_int_equal(counts.ends, 0);
    assert_int_equal(counts.later, 1);
    assert_int_equal(rmdir(sbx_test_path(place->path, "raw/01fdfcfbfaf9f8f7f6f5f4f3f2f1f0ef.raw")), 0);
    counts = pack(place, 1);
    assert_int_equal(counts.ends, 1);
    assert_int_equal(counts.later, 0);
}

static bool may_pack_none(void *context, uint32_t kind)
{
    (void)context;
    (void)kind;
    return false;
}

static void say_terms(void *context, struct sbx_delivery_terms *terms_out)
{
    (void)context;
    *terms_out = sbx_policy_default()->delivery;
}

/* The end of a withheld stall is withheld too, in whatever order the packer finds the two. */
static void test_the_end_of_a_stall_that_was_withheld_is_withheld(void **state)
{
    struct place *place = *state;
    struct sbx_redaction redaction = sbx_scene_redaction(1);
    struct sbx_pack_counts counts;
    const struct sbx_delivery_gate gate = {.context = place, .may_pack = may_pack_none, .terms = say_terms};
    leave_raw(place, 3);
    assert_int_equal(rename(sbx_test_path(place->path, "raw/03.raw"),
                            sbx_test_path(place->path, "raw/03fdfcfbfaf9f8f7f6f5f4f3f2f1f0ef.raw")),
                     0);
    leave_end(place, 1, 3);
    leave_end(place, 9, 3);
    assert_int_equal(sbx_pack_raw_folder(place->spool, &redaction, &gate, NULL, &counts), 0);
    assert_int_equal(counts.packed + counts.ends + counts.later, 0);
    assert_int_equal(counts.withheld, 3);
    assert_int_equal(sbx_test_count(place->path, ".sbx"), 0);
    assert_int_equal(sbx_test_count(sbx_test_path(place->path, "raw"), ".raw"), 0);
}

static void test_where_the_modules_lie_is_remembered_here(void **state)
{
    struct place *place = *state;
    leave_raw(place, 1);
    assert_int_equal(pack(place, 1).packed, 1);
    size_t bytes;
    char *text = (char *)sbx_test_read(sbx_test_path(place->path, "modules"), &bytes);
    assert_non_null(strstr(text, " /home/anna.smith/bin/payroll-server\n"));
    assert_non_null(strstr(text, " /home/anna.smith/plugins/libmedical-records.so\n"));
    assert_non_null(strstr(text, " /usr/lib/x86_64-linux-gnu/libc.so.6\n"));
    free(text);
}

static void test_what_watches_are_called_is_remembered_here(void **state)
{
    struct place *place = *state;
    leave_raw(place, 1);
    assert_int_equal(pack(place, 1).packed, 1);
    size_t bytes;
    char *text = (char *)sbx_test_read(sbx_test_path(place->path, "modules"), &bytes);
    assert_non_null(strstr(text, " send medical records\n"));
    assert_non_null(strstr(text, " anna's mailbox\n"));
    free(text);
}

static void test_a_payload_carries_the_rotating_id_of_its_spool(void **state)
{
    struct place *place = *state;
    leave_raw(place, 1);
    assert_int_equal(pack(place, 1).packed, 1);
    size_t bytes, payload_bytes;
    uint8_t *file = sbx_test_read(sbx_test_path(place->path, "01fdfcfbfaf9f8f7f6f5f4f3f2f1f0ef.sbx"), &bytes), *payload,
            id[16];
    struct sbx_envelope envelope;
    struct sbx_payload_survey survey;
    assert_int_equal(sbx_envelope_read(file, bytes, &envelope, NULL, 0), 0);
    assert_int_equal(sbx_envelope_payload(&envelope, &payload, &payload_bytes, NULL, 0), 0);
    assert_int_equal(sbx_payload_verify(payload, payload_bytes, &survey, NULL, 0), 0);
    const struct sbx_field_survey *field = &survey.fields[sbx_payload_field_find(SBX_IN_PAYLOAD, 30)];
    assert_int_equal(sbx_identity_rotating_id(place->spool, (uint32_t)(time(NULL) / 86400 / 90), id), 0);
    assert_int_equal(field->at_bytes, 16);
    assert_memory_equal(field->at, id, 16);
    free(payload);
    free(file);
}

static void test_of_a_user_who_said_no_nothing_is_packed_or_kept(void **state)
{
    struct place *place = *state;
    static const char *const refusals[] = {"denied\n", "", "granted", "granted\nand more"};
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        sbx_test_write(sbx_test_path(place->path, "consent"), refusals[i], strlen(refusals[i]));
        leave_raw(place, 1);
        assert_int_equal(pack(place, 1).packed, 0);
        assert_int_equal(sbx_test_count(sbx_test_path(place->path, "raw"), ""), 0);
    }
    sbx_test_write(sbx_test_path(place->path, "consent"), "granted\n", 8);
    leave_raw(place, 1);
    assert_int_equal(pack(place, 1).packed, 1);
}

/* The gate is asked in the middle of packing: the user says no, and everything is deleted. */
static bool say_no_meanwhile(void *context, uint32_t kind)
{
    struct place *place = context;
    (void)kind;
    sbx_test_write(sbx_test_path(place->path, "consent"), "denied\n", 7);
    return true;
}

static void test_a_no_in_the_middle_of_packing_leaves_nothing_that_waits(void **state)
{
    struct place *place = *state;
    struct sbx_redaction redaction;
    struct sbx_pack_counts counts;
    const struct sbx_delivery_gate gate = {.context = place, .may_pack = say_no_meanwhile};
    sbx_policy_redaction(sbx_policy_default(), &redaction);
    sbx_test_write(sbx_test_path(place->path, "consent"), "granted\n", 8);
    leave_raw(place, 1);
    leave_raw(place, 2);
    assert_int_equal(sbx_pack_raw_folder(place->spool, &redaction, &gate, NULL, &counts), 0);
    assert_int_equal(counts.packed, 1); /* packed after the denial */
    assert_int_equal(sbx_test_count(place->path, ".sbx"), 0);
    assert_int_equal(sbx_test_count(sbx_test_path(place->path, "raw"), ".raw"), 0);
}

static void test_what_nobody_can_read_goes_to_bad_with_a_reason(void **state)
{
    struct place *place = *state;
    leave_raw(place, 1);
    sbx_test_write(sbx_test_path(place->path, "raw/torn.raw"), "SBXREC\r\n and no more", 20);
    sbx_test_write(sbx_test_path(place->path, "raw/empty.raw"), "", 0);
    sbx_test_write(sbx_test_path(place->path, "raw/.being-written.raw"), "x", 1);
    sbx_test_write(sbx_test_path(place->path, "raw/notes.txt"), "x", 1);
    assert_int_equal(mkfifo(sbx_test_path(place->path, "raw/fifo.raw"), 0600), 0);
    struct sbx_pack_counts counts = pack(place, 1);
    assert_int_equal(counts.packed, 1);
    assert_int_equal(counts.unreadable, 2);
    assert_int_equal(counts.later, 0);
    assert_non_null(strstr(counts.why, place->path));
    assert_non_null(strstr(counts.why, ".raw: "));
    assert_true(sbx_test_exists(sbx_test_path(place->path, "bad/torn.raw")));
    assert_true(sbx_test_exists(sbx_test_path(place->path, "bad/empty.raw")));
    assert_true(sbx_test_exists(sbx_test_path(place->path, "raw/.being-written.raw")));
    assert_true(sbx_test_exists(sbx_test_path(place->path, "raw/notes.txt")));
}

static void test_when_nothing_may_leave_the_snapshot_stays_here(void **state)
{
    struct place *place = *state;
    leave_raw(place, 1);
    struct sbx_pack_counts counts = pack(place, 0);
    assert_int_equal(counts.packed, 0);
    assert_int_equal(counts.unreadable, 1);
    assert_non_null(strstr(counts.why, "nothing may leave"));
    assert_int_equal(sbx_test_count(place->path, ".sbx"), 0);
    assert_true(sbx_test_exists(sbx_test_path(place->path, "bad/01.raw")));
}

static void test_a_snapshot_sent_already_is_not_sent_again(void **state)
{
    struct place *place = *state;
    leave_raw(place, 1);
    assert_int_equal(pack(place, 1).packed, 1);
    uint8_t id[16];
    for (int i = 0; i < 16; i++) {
        id[i] = (uint8_t)((i + 1) ^ 0xff);
    }
    id[0] = 1;
    assert_int_equal(sbx_spool_mark_sent(place->spool, id), 0);
    leave_raw(place, 1); /* as if killed before the raw file was removed */
    assert_int_equal(pack(place, 1).packed, 1);
    assert_int_equal(sbx_test_count(place->path, ".sbx"), 0);
    assert_int_equal(sbx_test_count(sbx_test_path(place->path, "raw"), ""), 0);
}

static struct sbx_pack_counts pack_sealed(struct place *place, struct sbx_sealer *sealer)
{
    struct sbx_redaction redaction = sbx_scene_redaction(1);
    struct sbx_pack_counts counts;
    assert_int_equal(sbx_pack_raw_folder(place->spool, &redaction, NULL, sealer, &counts), 0);
    return counts;
}

static void test_where_sealing_is_demanded_nothing_is_packed_plain(void **state)
{
    struct place *place = *state;
    uint8_t secret[32];
    struct sbx_seal_key key = {.not_before_s = 1, .not_after_s = 2}; /* expired long ago */
    struct sbx_sealer *sealer = sbx_sealer_create();
    struct sbx_envelope envelope;
    assert_int_equal(sbx_x25519_make(secret, key.key), 0);
    leave_raw(place, 1);
    sbx_sealer_follow(sealer, &key, 1, 1);
    struct sbx_pack_counts counts = pack_sealed(place, sealer);
    assert_int_equal(counts.packed, 0);
    assert_int_equal(counts.unsealed, 1);
    assert_int_equal(counts.later, 1);
    assert_non_null(strstr(counts.why, "no seal key"));
    assert_int_equal(sbx_test_count(place->path, ".sbx"), 0);
    assert_int_equal(sbx_test_count(sbx_test_path(place->path, "raw"), ".raw"), 1); /* it waits */

    sbx_sealer_await(sealer); /* a KEYSET that was not read yet does not allow it either */
    assert_int_equal(pack_sealed(place, sealer).unsealed, 1);

    key.not_after_s = UINT64_MAX;
    sbx_sealer_follow(sealer, &key, 1, 1);
    assert_int_equal(pack_sealed(place, sealer).packed, 1);
    size_t bytes;
    uint8_t *sealed = sbx_test_read(sbx_test_path(place->path, "01fdfcfbfaf9f8f7f6f5f4f3f2f1f0ef.sbx"), &bytes);
    assert_int_equal(sbx_envelope_read(sealed, bytes, &envelope, NULL, 0), 0);
    assert_true(envelope.is_sealed);
    assert_true((bytes & (bytes - 1)) == 0);
    free(sealed);
    sbx_sealer_destroy(sealer);
}

static void test_killed_at_any_moment_every_snapshot_becomes_one_payload(void **state)
{
    enum {
        ROUNDS = 25,
        EACH = 4
    };
    struct place *place = *state;
    uint64_t random = 99;
    unsigned killed_early = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (uint8_t i = 0; i < EACH; i++) {
            leave_raw(place, (uint8_t)(round * EACH + i));
        }
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            struct sbx_redaction redaction = sbx_scene_redaction(1);
            struct sbx_pack_counts counts;
            _exit(sbx_pack_raw_folder(place->spool, &redaction, NULL, NULL, &counts) == 0 ? 0 : 1);
        }
        random = random * UINT64_C(6364136223846793005) + 1;
        nanosleep(&(struct timespec){.tv_nsec = (long)((random >> 33) % 15000000)}, NULL);
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, NULL, 0), child);
        killed_early += sbx_test_count(sbx_test_path(place->path, "raw"), ".raw") != 0;
        assert_int_equal(pack(place, 1).unreadable, 0);
        assert_int_equal(sbx_test_count(place->path, ".sbx"), (round + 1) * EACH);
        assert_int_equal(sbx_test_count(sbx_test_path(place->path, "raw"), ".raw"), 0);
    }
    assert_true(killed_early > 0); /* otherwise the test proved nothing */
}

int main(void)
{
#define PACK_TEST(test) cmocka_unit_test_setup_teardown(test, make_place, remove_place)
    const struct CMUnitTest tests[] = {
        PACK_TEST(test_raw_snapshots_become_payloads_and_go),
        PACK_TEST(test_the_end_of_a_stall_is_a_small_payload_and_no_stall),
        PACK_TEST(test_an_end_waits_for_its_stall_to_be_packed),
        PACK_TEST(test_the_end_of_a_stall_that_was_withheld_is_withheld),
        PACK_TEST(test_where_the_modules_lie_is_remembered_here),
        PACK_TEST(test_what_watches_are_called_is_remembered_here),
        PACK_TEST(test_a_payload_carries_the_rotating_id_of_its_spool),
        PACK_TEST(test_of_a_user_who_said_no_nothing_is_packed_or_kept),
        PACK_TEST(test_a_no_in_the_middle_of_packing_leaves_nothing_that_waits),
        PACK_TEST(test_what_nobody_can_read_goes_to_bad_with_a_reason),
        PACK_TEST(test_when_nothing_may_leave_the_snapshot_stays_here),
        PACK_TEST(test_a_snapshot_sent_already_is_not_sent_again),
        PACK_TEST(test_where_sealing_is_demanded_nothing_is_packed_plain),
        PACK_TEST(test_killed_at_any_moment_every_snapshot_becomes_one_payload),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
