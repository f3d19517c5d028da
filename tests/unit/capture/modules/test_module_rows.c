/* SPDX-License-Identifier: Apache-2.0 */
/* test_module_rows.c - unwind rows of real modules: kept on disk, built in memory, released. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recorded_process.h"
#include "stallbox/stallbox.h"

static void child_takes_a_snapshot_with_rows(void)
{
    child_start_with(60000, 60000);
    child_sleep_ms(500);
    child_expect(stallbox_snapshot(5000) == STALLBOX_OK, "a snapshot is made");
    stallbox_stop(5000);
}

/* Bytes of anonymous memory and of memory files. Rows are built in the first, and are stored in the second where memory
 * files are allowed. */
static size_t memory_of_rows(void)
{
    char line[600];
    size_t bytes = 0;
    FILE *maps = fopen("/proc/self/maps", "re");
    child_expect(maps != NULL, "the maps can be read");
    while (fgets(line, sizeof line, maps) != NULL) {
        unsigned long begin, end;
        char access[5], name[8] = "";
        int words = sscanf(line, "%lx-%lx %4s %*x %*s %*s %7s", &begin, &end, access, name);
        bool may_hold_rows = words == 3 || (words == 4 && strcmp(name, "/memfd:") == 0);
        bytes += may_hold_rows && strcmp(access, "---p") != 0 ? end - begin : 0;
    }
    fclose(maps);
    return bytes;
}

enum {
    LARGE_ROWS = 4 << 20
};

/* Wait until large rows are in memory, or are not. Meanwhile modules are loaded and unloaded, so that the module thread
 * keeps looking and releases what it has parked. */
static bool wait_for_large_rows(size_t before, bool is_wanted)
{
    for (int turn = 0; turn < 400; turn++) {
        if ((memory_of_rows() > before + LARGE_ROWS) == is_wanted) {
            return true;
        }
        void *module = dlopen(LATE_MODULE, RTLD_NOW);
        child_expect(module != NULL, "the module loads");
        child_sleep_ms(20);
        child_expect(dlclose(module) == 0, "the module unloads");
        child_sleep_ms(20);
    }
    return false;
}

static void child_unloads_a_large_module(void)
{
    child_start_with(60000, 60000);
    child_sleep_ms(500); /* wait until all rows are built and the memory for building is released */
    size_t before = memory_of_rows();
    for (int turn = 0; turn < 3; turn++) {
        void *module = dlopen(LARGE_MODULE, RTLD_NOW);
        child_expect(module != NULL, "the large module loads");
        child_expect(wait_for_large_rows(before, true), "its rows are there");
        child_expect(dlclose(module) == 0, "the large module unloads");
        child_expect(wait_for_large_rows(before, false), "its rows are given back");
    }
    child_expect(stallbox_snapshot(5000) == STALLBOX_OK, "a snapshot is made");
    stallbox_stop(5000);
}

static void remove_snapshots(void)
{
    char command[160];
    snprintf(command, sizeof command, "rm -rf '%s'", recorded_process_spool());
    assert_int_equal(system(command), 0);
}

/* Identifies the files of rows: a file that is written again has a new inode. */
static uint64_t sum_of_inodes(void)
{
    uint64_t sum = 0;
    DIR *listing = opendir(recorded_process_rows());
    assert_non_null(listing);
    for (struct dirent *entry = readdir(listing); entry != NULL; entry = readdir(listing)) {
        sum += entry->d_name[0] == '.' ? 0 : entry->d_ino;
    }
    closedir(listing);
    return sum;
}

/* musl's libc has no unwind data, which these tests look for, and it never unloads a module. */
static void skip_with_musl(void)
{
#ifndef __GLIBC__
    skip();
#endif
}

static void test_rows_are_kept_and_found_by_the_next_start(void **state)
{
    (void)state;
    skip_with_musl();
    uint64_t inodes = 0;
    for (int start_number = 0; start_number < 3; start_number++) {
        uint32_t flags = 0;
        assert_int_equal(recorded_process_run(child_takes_a_snapshot_with_rows), 0);
        struct sbx_snapshot *snapshot = recorded_process_snapshot();
        assert_int_equal(find_modules(snapshot, "/test_module_rows", &flags), 1);
        assert_true(flags & SBX_MODULE_ROWS_CACHED);
        assert_int_equal(find_modules(snapshot, "/libc.so.6", &flags), 1);
        assert_true(flags & SBX_MODULE_ROWS_CACHED);
        assert_true(count_files(recorded_process_rows(), ".rows") >= 3);
        assert_true(start_number == 0 || sum_of_inodes() == inodes);
        inodes = sum_of_inodes();
        sbx_snapshot_destroy(snapshot);
        remove_snapshots();
    }
}

static void test_without_a_place_for_rows_they_are_built_in_memory(void **state)
{
    (void)state;
    skip_with_musl();
    static const char *const places[] = {"", "/proc/none/rows", "relative"};
    for (size_t i = 0; i < SBX_COUNT_OF(places); i++) {
        uint32_t flags = 0;
        setenv("STALLBOX_ROWS", places[i], 1);
        assert_int_equal(recorded_process_run(child_takes_a_snapshot_with_rows), 0);
        struct sbx_snapshot *snapshot = recorded_process_snapshot();
        assert_int_equal(find_modules(snapshot, "/libc.so.6", &flags), 1);
        assert_int_equal(flags & (SBX_MODULE_ROWS_CACHED | SBX_MODULE_NO_ROWS), 0);
        uint64_t frames[600];
        bool is_whole = false;
        for (size_t r = 0; r < snapshot->record_count; r++) {
            size_t count = sbx_snapshot_stack(snapshot, snapshot->records[r].stack, frames, 600);
            is_whole |= count > 2 && frames[count - 1] >> SBX_FRAME_MODULE_SHIFT != SBX_MODULE_END;
        }
        assert_true(is_whole); /* the walk reached the end, through libc and the executable */
        sbx_snapshot_destroy(snapshot);
        remove_snapshots();
    }
}

static void test_rows_of_a_large_module_that_went_are_given_back(void **state)
{
    (void)state;
    skip_with_musl();
    uint32_t flags = 0;
    assert_int_equal(recorded_process_run(child_unloads_a_large_module), 0);
    struct sbx_snapshot *snapshot = recorded_process_snapshot();
    assert_int_equal(find_modules(snapshot, "large_module", &flags), 1); /* the same entry, three times */
    assert_true(flags & SBX_MODULE_UNLOADED);
    sbx_snapshot_destroy(snapshot);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, recorded_process_set_up, recorded_process_tear_down)
    const struct CMUnitTest tests[] = {
        CASE(test_rows_are_kept_and_found_by_the_next_start),
        CASE(test_without_a_place_for_rows_they_are_built_in_memory),
        CASE(test_rows_of_a_large_module_that_went_are_given_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
