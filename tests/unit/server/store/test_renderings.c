/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "renderings.h"
#include "started_server.h"
#include "store.h"

static struct sbx_renderings *open_cache(const char *version, uint64_t bytes_max)
{
    struct sbx_renderings *renderings = NULL;
    char why[200] = "";
    assert_int_equal(sbx_renderings_open(fixture.data_dir, version, bytes_max, &renderings, why, sizeof(why)), 0);
    return renderings;
}

/* Store a JSON report of `bytes` bytes for snapshot `name`. */
static void put(struct sbx_renderings *renderings, uint8_t name, size_t bytes)
{
    struct sbx_byte_buffer body = {0};
    const uint8_t id[SBX_ID_BYTES] = {name};
    for (size_t i = 0; i < bytes; i++)
        sbx_byte_buffer_append(&body, &"abcdefgh"[(name + SBX_RENDERING_JSON) % 8], 1);
    assert_int_equal(sbx_renderings_put(renderings, id, SBX_RENDERING_JSON, &body), 0);
    sbx_byte_buffer_finish(&body);
}

static int has(struct sbx_renderings *renderings, uint8_t name)
{
    struct sbx_byte_buffer body = {0};
    const uint8_t id[SBX_ID_BYTES] = {name};
    int result = sbx_renderings_get(renderings, id, SBX_RENDERING_JSON, &body);
    if (result == 0)
        assert_int_equal(body.data[0], "abcdefgh"[(name + SBX_RENDERING_JSON) % 8]);
    sbx_byte_buffer_finish(&body);
    assert_true(result == 0 || result == -ENOENT);
    return result == 0;
}

static void test_renderings_come_back_after_a_restart(void **state)
{
    (void)state;
    struct sbx_renderings *renderings = open_cache("1", 1 << 20);
    assert_false(has(renderings, 1));
    put(renderings, 1, 500);
    sbx_renderings_close(renderings);
    renderings = open_cache("1", 1 << 20);
    assert_true(has(renderings, 1));
    assert_int_equal(sbx_renderings_bytes(renderings), 500);
    sbx_renderings_close(renderings);
}

static void test_another_version_starts_anew(void **state)
{
    (void)state;
    struct sbx_renderings *renderings = open_cache("1", 1 << 20);
    put(renderings, 1, 10);
    sbx_renderings_close(renderings);
    renderings = open_cache("2", 1 << 20);
    assert_false(has(renderings, 1));
    assert_int_equal(sbx_renderings_bytes(renderings), 0);
    sbx_renderings_close(renderings);
}

static void test_the_oldest_go_when_it_is_full_and_renewed_ones_are_young(void **state)
{
    (void)state;
    struct sbx_renderings *renderings = open_cache("1", 1600); /* room for three of 500 bytes */
    put(renderings, 1, 500);
    put(renderings, 2, 500);
    put(renderings, 3, 500);
    put(renderings, 1, 500);
    assert_int_equal(sbx_renderings_bytes(renderings), 1500);
    put(renderings, 4, 500);
    assert_true(has(renderings, 1));
    assert_false(has(renderings, 2));
    assert_true(has(renderings, 3));
    assert_true(has(renderings, 4));
    sbx_renderings_close(renderings);
}

static void test_one_that_is_larger_than_the_bound_is_not_kept_and_drives_nobody_out(void **state)
{
    (void)state;
    struct sbx_renderings *renderings = open_cache("1", 1000);
    put(renderings, 1, 500);
    put(renderings, 2, 1001);
    assert_true(has(renderings, 1));
    assert_false(has(renderings, 2));
    put(renderings, 3, 1000);
    assert_false(has(renderings, 1));
    assert_true(has(renderings, 3));
    sbx_renderings_close(renderings);
}

static void test_with_a_bound_of_nothing_nothing_is_kept(void **state)
{
    (void)state;
    struct sbx_renderings *renderings = open_cache("1", 0);
    put(renderings, 1, 1);
    assert_false(has(renderings, 1));
    assert_int_equal(sbx_renderings_bytes(renderings), 0);
    sbx_renderings_close(renderings);
}

static void test_kinds_come_and_go_one_by_one_and_are_dropped_together(void **state)
{
    (void)state;
    struct sbx_renderings *renderings = open_cache("1", 1000);
    struct sbx_byte_buffer page = {0}, body = {0};
    const uint8_t id[SBX_ID_BYTES] = {9};
    put(renderings, 9, 10);
    sbx_byte_buffer_text(&page, "half");
    page.failed = true;
    assert_int_equal(sbx_renderings_put(renderings, id, SBX_RENDERING_PAGE, &page), 0);
    assert_int_equal(sbx_renderings_get(renderings, id, SBX_RENDERING_PAGE, &body), -ENOENT);
    page.failed = false;
    assert_int_equal(sbx_renderings_put(renderings, id, SBX_RENDERING_PAGE, &page), 0);
    assert_int_equal(sbx_renderings_get(renderings, id, SBX_RENDERING_PAGE, &body), 0);
    assert_string_equal(body.data, "half");
    assert_true(has(renderings, 9));
    assert_int_equal(sbx_renderings_drop(renderings, id), 0);
    assert_false(has(renderings, 9));
    assert_int_equal(sbx_renderings_get(renderings, id, SBX_RENDERING_PAGE, &body), -ENOENT);
    sbx_byte_buffer_finish(&body);
    sbx_byte_buffer_finish(&page);
    sbx_renderings_close(renderings);
}

static void test_a_broken_file_is_thrown_away(void **state)
{
    (void)state;
    char path[100];
    snprintf(path, sizeof(path), "%s/renderings.db", fixture.data_dir);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (int i = 0; i < 10000; i++)
        fputs("this is no database ", file);
    assert_int_equal(fclose(file), 0);
    struct sbx_renderings *renderings = open_cache("1", 1000);
    put(renderings, 1, 10);
    assert_true(has(renderings, 1));
    sbx_renderings_close(renderings);
}

/* As another version may have made it, with other columns in the table. */
static void test_a_file_of_another_shape_is_thrown_away_with_its_version(void **state)
{
    (void)state;
    char path[100];
    sqlite3 *db;
    snprintf(path, sizeof(path), "%s/renderings.db", fixture.data_dir);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db,
                                  "CREATE TABLE rendering(turn INTEGER, id BLOB, bytes INTEGER, text TEXT);"
                                  "CREATE TABLE made_by(version TEXT NOT NULL); INSERT INTO made_by VALUES('0')",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(db);
    struct sbx_renderings *renderings = open_cache("1", 1000);
    put(renderings, 1, 10);
    assert_true(has(renderings, 1));
    sbx_renderings_close(renderings);
}

static struct sbx_store *store;

static int put_in_store(uint8_t name)
{
    struct sbx_stall stall = {.payload_id = {name}, .sampling = {.weight = 1, .one_in = 1}};
    enum sbx_stored stored;
    stall.has_rotating_id = true;
    stall.rotating_id[0] = name;
    return sbx_store_put(store, &stall, "x", 1, 1000, &stored);
}

static int is_in_store(void *context, const uint8_t id[SBX_ID_BYTES])
{
    (void)context;
    return sbx_store_has_payload(store, id);
}

static int does_not_answer(void *context, const uint8_t id[SBX_ID_BYTES])
{
    (void)context, (void)id;
    return -EIO;
}

/* Two servers share one store, and each has its own reports. The first server erases the stalls of one machine. */
static void test_reports_of_what_another_server_erased_are_swept(void **state)
{
    (void)state;
    enum {
        STALLS = 200
    };
    const uint8_t machine[SBX_ROTATING_ID_BYTES] = {7};
    char why[200] = "", other_dir[100];
    struct sbx_renderings *first = open_cache("1", 1 << 20), *second;
    assert_int_equal(sbx_store_open(fixture.data_dir, "1", &store, why, sizeof(why)), 0);
    snprintf(other_dir, sizeof(other_dir), "%s/symbols",
             fixture.data_dir); /* any folder that is removed with the fixture's */
    assert_true(mkdir(other_dir, 0700) == 0 || errno == EEXIST);
    assert_int_equal(sbx_renderings_open(other_dir, "1", 1 << 20, &second, why, sizeof(why)), 0);
    for (int name = 1; name <= STALLS; name++) {
        assert_int_equal(put_in_store((uint8_t)name), 0);
        put(first, (uint8_t)name, 10);
        put(second, (uint8_t)name, 10);
    }
    assert_int_equal(sbx_store_erase(store, machine, 2000, NULL, NULL), 1);
    assert_int_equal(sbx_renderings_sweep(second, does_not_answer, NULL), -EIO);
    assert_true(has(second, 7)); /* reports stay unless their stall is known to be gone */
    assert_int_equal(sbx_renderings_sweep(second, is_in_store, NULL), 1);
    for (int name = 1; name <= STALLS; name++)
        assert_int_equal(has(second, (uint8_t)name), name != 7);
    assert_int_equal(sbx_renderings_sweep(second, is_in_store, NULL), 0);
    assert_int_equal(sbx_renderings_sweep(first, is_in_store, NULL), 1);
    sbx_renderings_close(second);
    sbx_renderings_close(first);
    sbx_store_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_renderings_come_back_after_a_restart, prepare_server, remove_server),
        cmocka_unit_test_setup_teardown(test_another_version_starts_anew, prepare_server, remove_server),
        cmocka_unit_test_setup_teardown(test_the_oldest_go_when_it_is_full_and_renewed_ones_are_young, prepare_server,
                                        remove_server),
        cmocka_unit_test_setup_teardown(test_one_that_is_larger_than_the_bound_is_not_kept_and_drives_nobody_out,
                                        prepare_server, remove_server),
        cmocka_unit_test_setup_teardown(test_with_a_bound_of_nothing_nothing_is_kept, prepare_server, remove_server),
        cmocka_unit_test_setup_teardown(test_kinds_come_and_go_one_by_one_and_are_dropped_together, prepare_server,
                                        remove_server),
        cmocka_unit_test_setup_teardown(test_reports_of_what_another_server_erased_are_swept, prepare_server,
                                        remove_server),
        cmocka_unit_test_setup_teardown(test_a_broken_file_is_thrown_away, prepare_server, remove_server),
        cmocka_unit_test_setup_teardown(test_a_file_of_another_shape_is_thrown_away_with_its_version, prepare_server,
                                        remove_server),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
