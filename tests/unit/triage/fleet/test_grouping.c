/* SPDX-License-Identifier: Apache-2.0 */
/* test_grouping.c - which stalls are one issue. A row is a stall; rows with equal letters are one issue. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "attribute.h"
#include "grouping.h"
#include "stall_scene.h"

struct row {
    char issue;
    const char *stack;    /* the stack of the main thread, in the notation of stall_scene.h */
    int64_t cpu_permille; /* the share of the time in which it runs */
    const char *holder;   /* not NULL: the main thread waits for a lock that a worker with this stack holds */
};

/* `function` is the function begin of every frame that has code; 0: not given. */
static void make_told(const struct row *row, uint64_t app_id, uint64_t function, struct sbx_grouping *grouping)
{
    struct sbx_stall_scene *scene = sbx_scene_create(2, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    if (row->holder != NULL) {
        sbx_scene_samples(scene, 1, SBX_RECORD_ASYNC, row->holder, -1000000, 0, 10000, 990);
        struct sbx_build_record wait = {.kind = SBX_RECORD_LOCK,
                                        .begin_us = -980000,
                                        .end_us = -1000,
                                        .stack = sbx_scene_stack(scene, row->stack),
                                        .message = 1,
                                        .object = 1,
                                        .peer = 2};
        sbx_scene_record(scene, wait);
    } else {
        sbx_scene_samples(scene, 0, SBX_RECORD_ASYNC, row->stack, -1000000, 0, 10000, row->cpu_permille);
    }
    struct sbx_report *report = (struct sbx_report *)(uintptr_t)sbx_scene_report(scene);
    report->app_id = app_id;
    for (uint32_t i = 0; i < report->stall->frame_count; i++) {
        report->stall->frames[i].function = report->stall->frames[i].kind == SBX_FRAME_CODE ? function : 0;
    }
    sbx_grouping_make(report, grouping);
    sbx_scene_destroy(scene);
}

static void make(const struct row *row, uint64_t app_id, struct sbx_grouping *grouping)
{
    make_told(row, app_id, 0, grouping);
}

static void assert_groups(const struct row *rows, size_t count)
{
    struct sbx_grouping groupings[16];
    assert_true(count <= 16);
    for (size_t i = 0; i < count; i++) {
        make(&rows[i], 1, &groupings[i]);
        for (size_t k = 0; k < i; k++) {
            bool is_one = memcmp(groupings[i].key, groupings[k].key, SBX_GROUPING_KEY_BYTES) == 0;
            if (is_one != (rows[i].issue == rows[k].issue)) {
                fail_msg("%s and %s", groupings[k].text, groupings[i].text);
            }
        }
    }
}

#define ASSERT_GROUPS(rows) assert_groups((rows), sizeof(rows) / sizeof(rows)[0])

static void test_builds_and_what_compilers_do_to_names_are_one_issue(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {'a', "db_query < open_inbox < glib:g_main_context_dispatch < main", 1000, NULL},
        {'a', "db_query.constprop.0 < open_inbox < glib:g_main_context_dispatch < main", 1000, NULL},
        {'a', "inlined:db_query < open_inbox.part.0 < glib:g_main_context_dispatch < main", 1000, NULL},
        {'a', "libc:memcpy < db_query < open_inbox < glib:g_main_context_dispatch < setup < main", 1000, NULL},
        {'a', "db_query < db_query < open_inbox < glib:g_main_context_dispatch < main", 1000, NULL},
        {'a', "db_query < open_inbox < db_query < open_inbox < glib:g_main_context_dispatch < main", 1000, NULL},
        {'b', "db_query_all < open_inbox < glib:g_main_context_dispatch < main", 1000, NULL},
    };
    ASSERT_GROUPS(rows);
}

static void test_three_handlers_of_one_slow_helper_are_three_issues(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {'a', "db_query < open_inbox < main", 1000, NULL},
        {'b', "db_query < save_settings < main", 1000, NULL},
        {'c', "db_query < sync_contacts < main", 1000, NULL},
        {'a', "db_query < open_inbox < main", 1000, NULL},
    };
    ASSERT_GROUPS(rows);
}

static void test_a_busy_machine_makes_no_other_issue(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {'a', "mix < on_click < main", 1000, NULL},
        {'a', "mix < on_click < main", 500, NULL},
        {'a', "mix < on_click < main", 100, NULL}, /* cpu_contention */
    };
    ASSERT_GROUPS(rows);
}

static void test_what_the_holder_did_tells_waits_for_a_lock_apart(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {'a', "libc:pthread_mutex_lock < save < on_click < main", 0, "compress < flush_log"},
        {'a', "libc:pthread_mutex_lock < save < on_click < main", 0, "libc:memcpy < compress < flush_log"},
        {'b', "libc:pthread_mutex_lock < save < on_click < main", 0, "reindex < scan_all"},
    };
    ASSERT_GROUPS(rows);
}

static void test_of_a_deep_path_the_handler_and_the_end_count(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {'a', "f9 < f8 < f7 < f6 < f5 < f4 < f3 < on_click < main", 1000, NULL},
        {'a', "f9 < f8 < f7 < f6 < f5 < new_layer < f3 < on_click < main", 1000, NULL},
        {'b', "f9 < f8 < f7 < f6 < f5 < f4 < f3 < on_key < main", 1000, NULL},
        {'c', "f9 < g8 < f7 < f6 < f5 < f4 < f3 < on_click < main", 1000, NULL},
    };
    ASSERT_GROUPS(rows);
}

static void test_the_path_is_told_from_the_loop_inwards(void **state)
{
    (void)state;
    struct sbx_grouping grouping;
    make(&(struct row){'a', "libc:memcpy < db_query < open_inbox < main", 1000, NULL}, 1, &grouping);
    assert_string_equal(grouping.text, "open_inbox > db_query");
    assert_true(grouping.is_named);
    make(&(struct row){'a', "libc:pthread_mutex_lock < save < main", 0, "compress < flush_log"}, 1, &grouping);
    assert_string_equal(grouping.text, "save, held by compress");
}

static void test_an_application_has_issues_of_its_own(void **state)
{
    (void)state;
    struct sbx_grouping one, other, again;
    const struct row row = {'a', "mix < on_click < main", 1000, NULL};
    make(&row, 1, &one);
    make(&row, 2, &other);
    make(&row, 1, &again);
    assert_memory_equal(one.key, again.key, sizeof one.key);
    assert_memory_not_equal(one.key, other.key, sizeof one.key);
}

/* Links to issues outlive servers. As long as the rules have this version, this value must not change. */
static void test_the_key_of_an_issue_is_the_same_for_ever(void **state)
{
    (void)state;
    struct sbx_grouping grouping;
    char text[2 * SBX_GROUPING_KEY_BYTES + 1];
    make(&(struct row){'a', "db_query < open_inbox < main", 1000, NULL}, 7, &grouping);
    for (size_t i = 0; i < SBX_GROUPING_KEY_BYTES; i++) {
        snprintf(text + 2 * i, 3, "%02x", grouping.key[i]);
    }
    assert_int_equal(SBX_GROUPING_RULES, 2);
    assert_string_equal(text, "f9158b584c9cd718934aab1e307193fc");
}

static void test_without_names_a_place_is_its_build_and_address(void **state)
{
    (void)state;
    struct sbx_grouping grouping;
    make(&(struct row){'a', "?one < ?two", 1000, NULL}, 1, &grouping);
    assert_false(grouping.is_named);
    assert_int_equal(grouping.text[0], '#');
    assert_non_null(strstr(grouping.text, "+10"));
}

static void test_without_names_all_places_of_a_function_are_one_issue(void **state)
{
    (void)state;
    struct sbx_grouping first, second, other, named;
    const struct row one = {'a', "?one", 1000, NULL}, two = {'a', "?one < ?two", 1000, NULL};
    make_told(&one, 1, 8, &first);
    make_told(&two, 1, 8, &second); /* seen at two places, one of them by recursion */
    make_told(&one, 1, 9, &other);
    assert_memory_equal(first.key, second.key, sizeof first.key);
    assert_memory_not_equal(first.key, other.key, sizeof first.key);
    assert_non_null(strstr(first.text, "+8"));
    make_told(&(struct row){'a', "db_query < main", 1000, NULL}, 1, 8, &named);
    assert_string_equal(named.text, "db_query"); /* a name is preferred */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_builds_and_what_compilers_do_to_names_are_one_issue),
        cmocka_unit_test(test_three_handlers_of_one_slow_helper_are_three_issues),
        cmocka_unit_test(test_a_busy_machine_makes_no_other_issue),
        cmocka_unit_test(test_what_the_holder_did_tells_waits_for_a_lock_apart),
        cmocka_unit_test(test_of_a_deep_path_the_handler_and_the_end_count),
        cmocka_unit_test(test_the_path_is_told_from_the_loop_inwards),
        cmocka_unit_test(test_an_application_has_issues_of_its_own),
        cmocka_unit_test(test_the_key_of_an_issue_is_the_same_for_ever),
        cmocka_unit_test(test_without_names_a_place_is_its_build_and_address),
        cmocka_unit_test(test_without_names_all_places_of_a_function_are_one_issue),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
