/* SPDX-License-Identifier: Apache-2.0 */
/* test_store_handle.c - statements and connections are made when they are needed; a failure to make one harms no
 * other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "store.h"
#include "store_handle.h"
#include "store_inside.h"
#include "store_schema.h"

struct place {
    char folder[40], path[64];
};

static int make_place(void **state)
{
    static struct place place;
    snprintf(place.folder, sizeof(place.folder), "/tmp/sbx_store_handle.XXXXXX");
    if (!mkdtemp(place.folder))
        return -1;
    snprintf(place.path, sizeof(place.path), "%s/store.db", place.folder);
    *state = &place;
    return 0;
}

static int remove_place(void **state)
{
    struct place *place = *state;
    static const char *const suffixes[] = {"", "-wal", "-shm"};
    for (size_t i = 0; i < 3; i++) {
        char file[80];
        snprintf(file, sizeof(file), "%s%s", place->path, suffixes[i]);
        unlink(file);
    }
    return rmdir(place->folder);
}

static void open_handle(struct sbx_store_handle *handle, size_t connections, const struct place *place,
                        const char *setup, const char *const *sql, size_t count)
{
    char why[200] = "";
    if (sbx_store_handle_open_several(handle, connections, place->path, setup, sql, count, why, sizeof(why)) != 0)
        fail_msg("%s", why);
}

static void test_a_statement_is_prepared_when_it_is_first_used(void **state)
{
    struct sbx_store_handle handle;
    static const char *const sql[] = {"INSERT INTO later(number) VALUES(?1)", "SELECT number FROM later"};
    open_handle(&handle, 1, *state, "", sql, 2); /* none of their tables exists yet */
    sbx_store_handle_lock(&handle);
    assert_int_equal(sbx_sql_execute(sbx_store_handle_db(&handle), "CREATE TABLE later(number INTEGER)"), 0);
    struct sbx_statement *statement = sbx_store_handle_use(&handle, 0);
    sbx_bind_integer(statement, 1, 7);
    assert_int_equal(sbx_store_step(statement), 0);
    statement = sbx_store_handle_use(&handle, 1);
    assert_int_equal(sbx_store_step(statement), 1);
    assert_int_equal(sbx_column_integer(statement, 0), 7);
    sbx_store_handle_unlock(&handle);
    sbx_store_handle_close(&handle);
}

static void test_what_is_not_understood_fails_when_it_is_stepped_and_is_tried_again_at_the_next_use(void **state)
{
    struct sbx_store_handle handle;
    static const char *const sql[] = {"INSERT INTO later(number) VALUES(?1)"};
    open_handle(&handle, 1, *state, "", sql, 1);
    sbx_store_handle_lock(&handle);
    for (int i = 0; i < 2; i++) {
        struct sbx_statement *statement = sbx_store_handle_use(&handle, 0);
        sbx_bind_integer(statement, 1, 7);
        sbx_bind_text(statement, 1, "seven");
        assert_int_equal(sbx_store_step(statement), -EIO);
        assert_non_null(strstr(sbx_sql_error(sbx_store_handle_db(&handle)), "later"));
    }
    assert_int_equal(sbx_sql_execute(sbx_store_handle_db(&handle), "CREATE TABLE later(number INTEGER)"), 0);
    struct sbx_statement *statement = sbx_store_handle_use(&handle, 0);
    sbx_bind_integer(statement, 1, 7);
    assert_int_equal(sbx_store_step(statement), 0);
    sbx_store_handle_unlock(&handle);
    sbx_store_handle_close(&handle);
}

static size_t count_open(const struct sbx_store_handle *handle)
{
    size_t count = 0;
    for (size_t i = 0; i < handle->connection_count; i++)
        count += handle->connections[i].db != NULL;
    return count;
}

static void *lock_once(void *handle)
{
    sbx_store_handle_lock(handle);
    struct sbx_sql *db = sbx_store_handle_db(handle);
    sbx_store_handle_unlock(handle);
    return db;
}

static void test_connections_are_opened_when_all_that_are_open_are_taken(void **state)
{
    struct sbx_store_handle handle;
    pthread_t thread;
    void *got;
    open_handle(&handle, 3, *state, "", NULL, 0);
    assert_int_equal(count_open(&handle), 1);
    for (int i = 0; i < 2; i++) { /* the second time an open one is free */
        sbx_store_handle_lock(&handle);
        assert_int_equal(pthread_create(&thread, NULL, lock_once, &handle), 0);
        assert_int_equal(pthread_join(thread, &got), 0); /* it does not wait for this thread's connection */
        assert_non_null(got);
        assert_ptr_not_equal(got, sbx_store_handle_db(&handle));
        assert_int_equal(count_open(&handle), 2);
        sbx_store_handle_unlock(&handle);
    }
    sbx_store_handle_close(&handle);
}

static void test_where_no_other_can_be_opened_the_one_that_is_open_is_waited_for(void **state)
{
    struct sbx_store_handle handle;
    pthread_t thread;
    void *got;
    open_handle(&handle, 3, *state, "CREATE TABLE once(number INTEGER)", NULL, 0); /* the second run fails */
    sbx_store_handle_lock(&handle);
    struct sbx_sql *db = sbx_store_handle_db(&handle);
    assert_int_equal(pthread_create(&thread, NULL, lock_once, &handle), 0);
    while (!sbx_store_handle_is_wanted(&handle))
        sched_yield();
    sbx_store_handle_unlock(&handle);
    assert_int_equal(pthread_join(thread, &got), 0);
    assert_ptr_equal(got, db);
    assert_int_equal(count_open(&handle), 1);
    sbx_store_handle_close(&handle);
}

static void expect_understood(sqlite3 *db, const char *const *sql, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        sqlite3_stmt *statement;
        if (sqlite3_prepare_v2(db, sql[i], -1, &statement, NULL) != SQLITE_OK)
            fail_msg("%s: %s", sql[i], sqlite3_errmsg(db));
        sqlite3_finalize(statement);
    }
}

/* Otherwise an error in a seldom used statement would be found only when it is needed. */
static void test_every_statement_of_a_store_is_understood(void **state)
{
    struct place *place = *state;
    struct sbx_store *store;
    char why[200] = "";
    sqlite3 *db;
    assert_int_equal(sbx_store_open(place->folder, "1", &store, why, sizeof(why)), 0);
    assert_int_equal(sqlite3_open_v2(place->path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sbx_store_writer_setup, NULL, NULL, NULL), SQLITE_OK);
    expect_understood(db, sbx_store_writer_sql, WRITER_STATEMENTS);
    expect_understood(db, sbx_store_reader_sql, SBX_READER_STATEMENTS);
    sqlite3_close(db);
    sbx_store_close(store);
}

#define HANDLE_TEST(test) cmocka_unit_test_setup_teardown(test, make_place, remove_place)

int main(void)
{
    const struct CMUnitTest tests[] = {
        HANDLE_TEST(test_a_statement_is_prepared_when_it_is_first_used),
        HANDLE_TEST(test_what_is_not_understood_fails_when_it_is_stepped_and_is_tried_again_at_the_next_use),
        HANDLE_TEST(test_connections_are_opened_when_all_that_are_open_are_taken),
        HANDLE_TEST(test_where_no_other_can_be_opened_the_one_that_is_open_is_waited_for),
        HANDLE_TEST(test_every_statement_of_a_store_is_understood),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
