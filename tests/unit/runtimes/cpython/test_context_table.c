/* SPDX-License-Identifier: Apache-2.0 */
/* test_context_table.c - which item a context has, and when it has none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/wait.h>
#include <unistd.h>

#include "context_table.h"

enum {
    OBJECT = 0x7f0000001000, /* addresses of contexts: multiples of 16 */
    OTHER = 0x7f0000001040,
    TASK = 0x7f0000002000
};

static int prepare(void **state)
{
    (void)state;
    return context_table_prepare() ? 0 : -1;
}

static void test_what_is_put_in_is_taken_out_once(void **state)
{
    (void)state;
    assert_int_equal(context_table_put(OBJECT, 7, TASK).id, 0);
    assert_true(context_table_has(OBJECT));
    assert_int_equal(context_table_task(OBJECT), TASK);
    assert_int_equal(context_table_take(OTHER), 0);
    assert_int_equal(context_table_take(OBJECT), 7);
    assert_false(context_table_has(OBJECT));
    assert_int_equal(context_table_take(OBJECT), 0);
}

static void test_a_newer_item_of_a_context_replaces_the_former(void **state)
{
    (void)state;
    assert_int_equal(context_table_put(OBJECT, 7, TASK).id, 0);
    assert_int_equal(context_table_put(OBJECT, 8, TASK + 16).id, 7);
    assert_int_equal(context_table_task(OBJECT), TASK + 16);
    assert_int_equal(context_table_take(OBJECT), 8);
}

static void test_what_finds_no_place_of_its_own_replaces_what_was_there(void **state)
{
    (void)state;
    enum {
        MANY = 4 * CONTEXT_TABLE_PLACES
    };
    uint64_t replaced = 0, found = 0;
    for (uint64_t i = 0; i < MANY; i++) {
        uint64_t former = context_table_put(OBJECT + 64 * i, i + 1, 0).id;
        assert_true(former <= i); /* never an item that was not stored before */
        replaced += former != 0;
    }
    for (uint64_t i = 0; i < MANY; i++) {
        uint64_t id = context_table_take(OBJECT + 64 * i);
        assert_true(id == 0 || id == i + 1); /* its own item, or none */
        found += id != 0;
    }
    assert_int_equal(replaced + found, MANY);
    assert_true(found > CONTEXT_TABLE_PLACES / 2 && found <= CONTEXT_TABLE_PLACES);
}

static void test_a_forked_child_knows_nothing_of_its_parents(void **state)
{
    (void)state;
    int status;
    assert_int_equal(context_table_put(OBJECT, 7, 0).id, 0);
    pid_t child = fork();
    if (child == 0) {
        _exit(context_table_has(OBJECT) ? 1 : 0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(context_table_take(OBJECT), 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_put_in_is_taken_out_once),
        cmocka_unit_test(test_a_newer_item_of_a_context_replaces_the_former),
        cmocka_unit_test(test_what_finds_no_place_of_its_own_replaces_what_was_there),
        cmocka_unit_test(test_a_forked_child_knows_nothing_of_its_parents),
    };
    return cmocka_run_group_tests_name("context_table", tests, prepare, NULL);
}
