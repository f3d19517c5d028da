/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "store.h"

static void test_what_sqlite_allocates_is_not_counted_under_a_lock_of_all_connections(void **state)
{
    char folder[] = "/tmp/sbx_sql_sqlite.XXXXXX", path[64], why[200] = "";
    struct sbx_store *store;
    (void)state;
    assert_non_null(mkdtemp(folder));
    assert_int_equal(sbx_store_open(folder, "1", &store, why, sizeof(why)), 0);
    assert_int_equal(sqlite3_memory_used(), 0);
    sbx_store_close(store);
    snprintf(path, sizeof(path), "%s/store.db", folder);
    unlink(path);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_sqlite_allocates_is_not_counted_under_a_lock_of_all_connections),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
