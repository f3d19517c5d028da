/* SPDX-License-Identifier: Apache-2.0 */
/* test_spool_ages.c - files that have been in a spool for too long are deleted, whatever the clocks show meanwhile. */
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

#include "encode.h"
#include "pack.h"
#include "policy.h"
#include "scene.h"
#include "spool_ages.h"
#include "test_folder.h"

enum {
    HOUR_MS = 3600000,
    WEEK_HOURS = 168
};
#define YEAR_MS (UINT64_C(8766) * HOUR_MS)

static const char first_boot[] = "11111111-2222-3333-4444-555555555555";
static const char second_boot[] = "66666666-7777-8888-9999-000000000000";

struct place {
    char *folder;
    struct sbx_spool *spool;
    struct sbx_delivery_now now;
};

static void make_file(struct place *place, const char *name)
{
    char path[400];
    snprintf(path, sizeof path, "%s/%s", place->folder, name);
    int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(file >= 0);
    close(file);
}

static bool has_file(const struct place *place, const char *name)
{
    char path[400];
    snprintf(path, sizeof path, "%s/%s", place->folder, name);
    return access(path, F_OK) == 0;
}

static void set_time(const struct place *place, const char *name, uint64_t wall_ms)
{
    char path[400];
    const struct timespec then = {(time_t)(wall_ms / 1000), 0}, times[2] = {then, then};
    snprintf(path, sizeof path, "%s/%s", place->folder, name);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static int set_up(void **state)
{
    struct place *place = calloc(1, sizeof *place);
    char why[300];
    place->folder = sbx_test_folder_make();
    assert_int_equal(sbx_spool_open(place->folder, NULL, &place->spool, why, sizeof why), 0);
    place->now = (struct sbx_delivery_now){.boot_ms = 50000, .wall_ms = (uint64_t)time(NULL) * 1000u};
    strcpy(place->now.boot_id, first_boot);
    *state = place;
    return 0;
}

static int tear_down(void **state)
{
    struct place *place = *state;
    sbx_spool_close(place->spool);
    sbx_test_folder_remove(place->folder);
    free(place);
    return 0;
}

/* Both clocks advance by that time, and the spool is looked at. Returns how many files were deleted unsent. */
static int look_after(struct place *place, uint64_t ms)
{
    place->now.boot_ms += ms;
    place->now.wall_ms += ms;
    return sbx_spool_ages_look(place->spool, &place->now);
}

static const char payload[] = "00112233445566778899aabbccddeeff.sbx";

static void test_what_is_older_than_the_limit_goes_and_is_counted(void **state)
{
    struct place *place = *state;
    make_file(place, payload);
    make_file(place, "raw/ffeeddccbbaa99887766554433221100.raw");
    make_file(place, "sent/11112222333344445555666677778888.sbx");
    make_file(place, "bad/99990000aaaabbbbccccddddeeeeffff.sbx");
    make_file(place, "modules");
    make_file(place, "identity.0.erase");
    make_file(place, "consent");
    assert_int_equal(look_after(place, 0), 0);
    for (int hour = 0; hour < WEEK_HOURS; hour++) {
        assert_int_equal(look_after(place, HOUR_MS), 0);
    }
    assert_true(has_file(place, payload));
    assert_int_equal(look_after(place, HOUR_MS), 2); /* still to be sent; the other two are not counted */
    assert_int_equal(sbx_spool_dropped(place->spool), 2);
    assert_false(has_file(place, payload) || has_file(place, "raw/ffeeddccbbaa99887766554433221100.raw"));
    assert_false(has_file(place, "sent/11112222333344445555666677778888.sbx"));
    assert_false(has_file(place, "bad/99990000aaaabbbbccccddddeeeeffff.sbx"));
    assert_true(has_file(place, "modules") && has_file(place, "identity.0.erase") && has_file(place, "consent"));
    assert_false(has_file(place, ".ages")); /* nothing to remember */
}

static void test_a_clock_that_is_set_ages_nothing(void **state)
{
    struct place *place = *state;
    make_file(place, payload);
    assert_int_equal(look_after(place, 0), 0);
    place->now.wall_ms += 60 * YEAR_MS; /* 2086 */
    assert_int_equal(look_after(place, HOUR_MS), 0);
    make_file(place, "0000000000000000000000000000000a.sbx"); /* by its file time 60 years old, half of its time */
    assert_int_equal(look_after(place, HOUR_MS), 0);
    place->now.wall_ms = 0; /* 1970 */
    for (int hour = 0; hour < 80; hour++) {
        assert_int_equal(look_after(place, HOUR_MS), 0);
    }
    assert_true(has_file(place, payload) && has_file(place, "0000000000000000000000000000000a.sbx"));
    for (int hour = 80; hour < WEEK_HOURS; hour++) {
        assert_true(look_after(place, HOUR_MS) >= 0);
    }
    assert_false(has_file(place, payload)); /* and no file stays for ever because of it */
}

static void test_a_reboot_counts_by_the_wall_clock_and_for_half_at_most(void **state)
{
    struct place *place = *state;
    make_file(place, payload);
    assert_int_equal(look_after(place, 0), 0);
    strcpy(place->now.boot_id, second_boot);
    place->now.boot_ms = 1000;
    place->now.wall_ms += YEAR_MS; /* off for a year, or a wrong clock: both are possible */
    assert_int_equal(look_after(place, 0), 0);
    assert_true(has_file(place, payload));
    strcpy(place->now.boot_id, first_boot);
    place->now.boot_ms = 1000;
    place->now.wall_ms -= 2 * YEAR_MS; /* a clock that lost its battery */
    assert_int_equal(look_after(place, 0), 0);
    for (int hour = 0; hour < WEEK_HOURS / 2 - 1; hour++) {
        assert_int_equal(look_after(place, HOUR_MS), 0);
    }
    assert_int_equal(look_after(place, 2 * HOUR_MS), 1);
}

static void test_what_nobody_looked_at_is_as_old_as_its_file_says_within_reason(void **state)
{
    struct place *place = *state;
    make_file(place, payload);
    set_time(place, payload, place->now.wall_ms - YEAR_MS);
    make_file(place, "0000000000000000000000000000000b.sbx");
    set_time(place, "0000000000000000000000000000000b.sbx", place->now.wall_ms + YEAR_MS);
    assert_int_equal(look_after(place, 0), 0);
    assert_int_equal(look_after(place, (uint64_t)WEEK_HOURS / 2 * HOUR_MS + 2000), 1);
    assert_false(has_file(place, payload));
    assert_int_equal(look_after(place, (uint64_t)WEEK_HOURS / 2 * HOUR_MS + 2000), 1); /* and none is immortal */
}

static void test_thirty_days_are_the_most_whatever_is_asked_for(void **state)
{
    struct place *place = *state;
    char folder[400], why[300];
    const struct sbx_spool_limits limits = {.hours_max = UINT32_MAX};
    snprintf(folder, sizeof folder, "%s", place->folder);
    sbx_spool_close(place->spool);
    assert_int_equal(sbx_spool_open(folder, &limits, &place->spool, why, sizeof why), 0);
    make_file(place, payload);
    assert_int_equal(look_after(place, 0), 0);
    assert_int_equal(look_after(place, (uint64_t)719 * HOUR_MS), 0);
    assert_int_equal(look_after(place, (uint64_t)2 * HOUR_MS), 1);
}

static void test_between_looks_nothing_is_read_nor_written(void **state)
{
    struct place *place = *state;
    struct stat before, after;
    char path[400];
    make_file(place, payload);
    assert_int_equal(look_after(place, 0), 0);
    snprintf(path, sizeof path, "%s/.ages", place->folder);
    assert_int_equal(stat(path, &before), 0);
    assert_int_equal(look_after(place, HOUR_MS - 1), 0);
    assert_int_equal(stat(path, &after), 0);
    assert_true(before.st_ino == after.st_ino);
    assert_int_equal(look_after(place, 1), 0);
    assert_int_equal(stat(path, &after), 0);
    assert_false(before.st_ino == after.st_ino); /* written again as a complete file */
}

static void test_ages_that_are_lost_or_spoilt_begin_anew(void **state)
{
    static const char *const spoilt[] = {"",
                                         "\n\n",
                                         "stallbox-ages 1 x",
                                         "stallbox-ages 1 - 99999999999999999999999 0\n",
                                         ". ../../etc 5\n. 00112233445566778899aabbccddeeff.sbx -1\nnonsense\n",
                                         "stallbox-ages 1 zzz 1 1\n. 00112233445566778899aabbccddeeff.sbx 5\n"};
    struct place *place = *state;
    char path[400];
    snprintf(path, sizeof path, "%s/.ages", place->folder);
    make_file(place, payload);
    for (size_t i = 0; i < sizeof spoilt / sizeof spoilt[0]; i++) {
        int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        assert_true(file >= 0 && write(file, spoilt[i], strlen(spoilt[i])) >= 0 && close(file) == 0);
        assert_int_equal(look_after(place, HOUR_MS), 0);
        assert_true(has_file(place, payload));
    }
}

static bool pack_nothing(void *context, uint32_t kind)
{
    (void)context;
    (void)kind;
    return true;
}

static void two_hours(void *context, struct sbx_delivery_terms *terms_out)
{
    (void)context;
    *terms_out = sbx_policy_default()->delivery;
    terms_out->spool_hours = 2;
}

static void test_who_packs_looks_by_what_the_policy_says(void **state)
{
    struct place *place = *state;
    struct sbx_redaction redaction;
    struct sbx_pack_counts counts;
    char path[400], log[400] = "";
    const struct sbx_delivery_gate gate = {.may_pack = pack_nothing, .terms = two_hours};
    sbx_policy_redaction(sbx_policy_default(), &redaction);
    make_file(place, payload);
    sbx_delivery_now_read(&place->now);
    snprintf(path, sizeof path, "%s/.ages", place->folder);
    FILE *ages = fopen(path, "we");
    assert_non_null(ages);
    fprintf(ages, "stallbox-ages 1 %s 1 %llu\n. %s %d\n", second_boot, (unsigned long long)place->now.wall_ms, payload,
            2 * 3600 + 60);
    assert_int_equal(fclose(ages), 0);
    assert_int_equal(sbx_pack_raw_folder(place->spool, &redaction, &gate, NULL, &counts), 0);
    assert_int_equal(counts.expired, 1);
    assert_false(has_file(place, payload));
    snprintf(path, sizeof path, "%s/audit.log", place->folder);
    FILE *audit = fopen(path, "re");
    assert_non_null(audit);
    assert_non_null(fgets(log, sizeof log, audit));
    fclose(audit);
    assert_non_null(strstr(log, " expired files=1 hours=2"));
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(test_what_is_older_than_the_limit_goes_and_is_counted),
        CASE(test_a_clock_that_is_set_ages_nothing),
        CASE(test_a_reboot_counts_by_the_wall_clock_and_for_half_at_most),
        CASE(test_what_nobody_looked_at_is_as_old_as_its_file_says_within_reason),
        CASE(test_thirty_days_are_the_most_whatever_is_asked_for),
        CASE(test_between_looks_nothing_is_read_nor_written),
        CASE(test_ages_that_are_lost_or_spoilt_begin_anew),
        CASE(test_who_packs_looks_by_what_the_policy_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
