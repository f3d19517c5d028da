/* SPDX-License-Identifier: Apache-2.0 */
/* test_snapshot_fates.c - each snapshot of a run is found once, in whatever state it is by then; snapshots of other
 * runs are not found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "run_tool.h"
#include "snapshot_fates.h"

static char *spool;
static struct sbx_roster roster;

static int set_up(void **state)
{
    static const char *const folders[] = {"raw", "sent", "bad"};
    char path[256];
    (void)state;
    spool = make_folder();
    memset(&roster, 0, sizeof roster);
    for (unsigned i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", spool, folders[i]);
        if (mkdir(path, 0700) != 0) {
            return -1;
        }
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    remove_folder(spool);
    return 0;
}

static void note(uint8_t first)
{
    roster.ids[roster.snapshots++ % SBX_ROSTER_IDS][0] = first;
}

static void put(const char *folder, uint8_t first, const char *suffix)
{
    char name[80];
    snprintf(name, sizeof name, "%s%02x000000000000000000000000000000%s", folder, first, suffix);
    free(write_file(spool, name, "x", 1, 0600));
}

static uint32_t sum_of(const struct sbx_snapshot_fates *fates)
{
    return fates->waiting + fates->delivered + fates->raw + fates->bad + fates->gone + fates->withheld + fates->older;
}

static void test_each_is_counted_where_it_is_and_those_of_others_are_not(void **state)
{
    static const char log[] =
        "2026-01-01T00:00:00Z packed id=05000000000000000000000000000000 trigger=anr\n"
        "2026-01-01T00:00:01Z answer id=05000000000000000000000000000000 answer=stored http=200 why=\n"
        "2026-01-01T00:00:00Z packed id=06000000000000000000000000000000 trigger=anr\n"
        "2026-01-01T00:00:01Z answer id=06000000000000000000000000000000 answer=later http=0 why=\n";
    struct sbx_snapshot_fates fates;
    (void)state;
    for (uint8_t i = 1; i <= 7; i++) {
        note(i);
    }
    put("raw/", 1, ".raw");
    put("", 2, ".sbx");
    put("sent/", 3, ".sbx");
    put("bad/", 4, ".raw");
    put("", 0x81, ".sbx"); /* of another program */
    put("sent/", 0x82, ".sbx");
    free(write_file(spool, "audit.log", log, sizeof log - 1, 0600));
    sbx_snapshot_fates_find(spool, &roster, &fates);
    assert_int_equal(fates.made, 7);
    assert_int_equal(fates.raw, 1);
    assert_int_equal(fates.waiting, 1);
    assert_int_equal(fates.delivered, 2); /* 5 has been removed from sent/ since, which keeps only the newest few */
    assert_int_equal(fates.unkept, 1);
    assert_int_equal(fates.bad, 1);
    assert_int_equal(fates.gone, 1);
    assert_int_equal(fates.withheld, 1);
    assert_int_equal(sum_of(&fates), fates.made);
}

/* The roster is written by a recorded program, which may have been attacked. */
static void test_numbers_of_anybodys_choice_lead_nowhere(void **state)
{
    struct sbx_snapshot_fates fates;
    (void)state;
    memset(&roster, 0xff, sizeof roster);
    sbx_snapshot_fates_find(spool, &roster, &fates);
    assert_int_equal(fates.made, UINT32_MAX);
    assert_int_equal(sum_of(&fates), UINT32_MAX);
    memset(&roster, 0, sizeof roster);
    roster.snapshots = 3; /* and no id is stored */
    sbx_snapshot_fates_find("/no/such/spool", &roster, &fates);
    assert_int_equal(fates.withheld, 3);
    assert_int_equal(sum_of(&fates), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_each_is_counted_where_it_is_and_those_of_others_are_not, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_numbers_of_anybodys_choice_lead_nowhere, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
