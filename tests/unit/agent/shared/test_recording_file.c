/* SPDX-License-Identifier: Apache-2.0 */
/* test_recording_file.c - the mapped file is complete from the start, private, and found again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "own_folder.h"
#include "recording_file.h"

static char folder[64];

static int set_up(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/sbx-test-recording-XXXXXX");
    return mkdtemp(folder) != NULL ? 0 : -1;
}

static int tear_down(void **state)
{
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command) == 0 ? 0 : -1;
}

static void test_a_new_recording_is_whole_and_private(void **state)
{
    struct sbx_recording_file file = {0};
    struct stat status;
    (void)state;
    assert_int_equal(sbx_recording_create(folder, "/some/spool", &file), 0);
    assert_int_equal(stat(file.path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    assert_int_equal(status.st_size, file.header->file_bytes);
    assert_int_equal(file.header->pid, getpid());
    assert_int_equal(file.header->process_start_ticks, sbx_process_start_ticks((uint32_t)getpid()));
    assert_int_not_equal(file.header->process_start_ticks, 0);
    assert_string_equal(file.header->spool_path, "/some/spool");
    const struct sbx_section *last = &file.header->chunks;
    assert_true(last->at + (uint64_t)last->count * last->entry_bytes <= file.header->file_bytes);
    sbx_recording_unlink(&file);
    assert_int_equal(stat(file.path, &status), -1);
}

static void test_its_ring_is_as_large_as_was_asked_for_within_limits(void **state)
{
    static const struct {
        uint32_t kib, chunks;
    } cases[] = {{0, SBX_CHUNKS_DEFAULT}, {1024, 256}, {4096, 1024},       {9999, 2499},
                 {65536, 16384},          {1, 256},    {UINT32_MAX, 16384}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sbx_recording_file file = {0};
        assert_int_equal(sbx_recording_create_sized(folder, "/some/spool", cases[i].kib, &file), 0);
        assert_int_equal(file.header->chunks.count, cases[i].chunks);
        uint64_t end = file.header->chunks.at + (uint64_t)cases[i].chunks * SBX_CHUNK_BYTES;
        assert_true(end <= file.header->file_bytes && file.header->file_bytes - end < 4096);
        sbx_recording_unlink(&file);
        munmap(file.header, file.header->file_bytes);
    }
}

/* The worker may have changed its root directory meanwhile, so it must not create folders that are missing there. */
static void test_a_worker_makes_no_folder_for_its_recording(void **state)
{
    struct sbx_recording_file file = {0};
    char missing[128], path[160];
    (void)state;
    snprintf(missing, sizeof missing, "%s/dev", folder);
    snprintf(path, sizeof path, "%s/shm", missing);
    assert_int_equal(sbx_recording_create_for_worker(path, "/some/spool", 10, &file), -ENOENT);
    assert_int_equal(access(missing, F_OK), -1);
}

#ifndef ADVICE_IS_NOT_TAKEN
static uint64_t blocks_of(const char *path)
{
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    return (uint64_t)status.st_blocks;
}

static void test_what_a_recording_gives_back_is_zero_and_can_be_reserved_again(void **state)
{
    struct sbx_recording_file file = {0};
    (void)state;
    assert_int_equal(sbx_recording_create_for_worker(folder, "/some/spool", 10, &file), 0);
    assert_int_equal(sbx_recording_reserve(&file), 0);
    const struct sbx_recording_header *header = file.header;
    uint64_t *ring = (uint64_t *)(void *)((uint8_t *)file.header + header->chunks.at);
    uint64_t *frames = (uint64_t *)(void *)((uint8_t *)file.header + header->frames.at);
    uint64_t *ids = (uint64_t *)(void *)((uint8_t *)file.header + header->ids.at);
    uint64_t whole = blocks_of(file.path);
    *ring = *frames = *ids = 77;
    assert_true(sbx_recording_release(&file));
    assert_true(blocks_of(file.path) <= whole / 2);
    assert_int_equal(sbx_recording_reserve_again(&file), 0);
    assert_true(blocks_of(file.path) >= whole);
    assert_int_equal(*ring, 0);
    assert_int_equal(*frames, 0);
    assert_int_equal(*ids, 77); /* a reader that saw an id may keep it */
    sbx_recording_unlink(&file);
    munmap(file.header, file.bytes);
}

#ifdef MADV_POPULATE_WRITE
static void test_a_worker_without_rights_in_its_folder_gives_back_and_reserves_all_the_same(void **state)
{
    struct sbx_recording_file file = {0}, elsewhere;
    (void)state;
    assert_int_equal(sbx_recording_create_for_worker(folder, "/some/spool", 10, &file), 0);
    assert_int_equal(sbx_recording_reserve(&file), 0);
    if (madvise(file.header, 4096, MADV_POPULATE_WRITE) != 0) {
        skip(); /* before Linux 5.14 */
    }
    uint64_t whole = blocks_of(file.path);
    elsewhere = file;
    snprintf(elsewhere.path, sizeof elsewhere.path, "%s/somewhere/it/may/not/look", folder);
    assert_true(sbx_recording_release(&elsewhere));
    assert_true(blocks_of(file.path) <= whole / 2);
    assert_int_not_equal(sbx_recording_reserve(&elsewhere), 0);
    assert_int_equal(sbx_recording_reserve_again(&elsewhere), 0);
    assert_true(blocks_of(file.path) >= whole);
    sbx_recording_unlink(&file);
    munmap(file.header, file.bytes);
}
#endif
#endif

static uint64_t bytes_on_disk(const char *path)
{
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    return (uint64_t)status.st_blocks * 512;
}

static void test_the_ring_of_a_worker_begins_short_and_grows_to_what_the_file_has_room_for(void **state)
{
    struct sbx_recording_file file = {0};
    (void)state;
    assert_int_equal(sbx_recording_create_for_worker(folder, "/some/spool", 10, &file), 0);
    uint32_t first = file.header->chunks.count;
    uint64_t first_end = file.header->chunks.at + (uint64_t)first * sizeof(struct sbx_chunk);
    assert_int_equal(sbx_recording_reserve(&file), 0);
    assert_true(first * 4 <= (file.bytes - file.header->chunks.at) / sizeof(struct sbx_chunk));
    assert_true(bytes_on_disk(file.path) >= first_end && bytes_on_disk(file.path) < file.bytes);
    assert_true(sbx_recording_may_grow(&file));
    assert_int_equal(sbx_recording_grow(&file), 0);
    assert_int_equal(file.header->chunks.at + (uint64_t)file.header->chunks.count * sizeof(struct sbx_chunk),
                     file.bytes);
    assert_true(bytes_on_disk(file.path) >= file.bytes);
    assert_false(sbx_recording_may_grow(&file));
    sbx_recording_unlink(&file);
    munmap(file.header, file.bytes);
}

static void test_a_folder_that_others_may_write_is_refused(void **state)
{
    struct sbx_recording_file file = {0};
    (void)state;
    assert_int_equal(chmod(folder, 0777), 0);
    assert_int_equal(sbx_recording_create(folder, "/some/spool", &file), -EPERM);
}

static void test_a_file_size_limit_is_an_error_and_no_signal(void **state)
{
    struct sbx_recording_file file = {0};
    struct rlimit before, small;
    (void)state;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = (struct rlimit){65536, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    int result = sbx_recording_create(folder, "/some/spool", &file);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(result, -EFBIG);
}

static void test_memory_is_reserved_in_two_steps_and_then_whole(void **state)
{
    struct sbx_recording_file file = {0};
    (void)state;
    assert_int_equal(sbx_recording_create(folder, "/some/spool", &file), 0);
    assert_true(bytes_on_disk(file.path) >= file.header->frames.at);
    assert_true(bytes_on_disk(file.path) < file.bytes);
    assert_int_equal(sbx_recording_reserve(&file), 0);
    assert_true(bytes_on_disk(file.path) >= file.bytes);
    assert_int_equal(unlink(file.path), 0);
    assert_int_equal(sbx_recording_reserve(&file), -ENOENT);
}

/* Mount a memory file system for this test, with room for `bytes`. Where mounting is not allowed, the test is
 * skipped. */
static void make_small_memory(char *path, uint64_t bytes)
{
    char options[64];
    snprintf(path, 128, "%s/small", folder);
    snprintf(options, sizeof options, "mode=0700,size=%llu", (unsigned long long)bytes);
    assert_int_equal(mkdir(path, 0700), 0);
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("small", path, "tmpfs", 0, options) != 0) {
        print_message("no file system may be mounted here\n");
        rmdir(path);
        skip();
    }
}

static void test_a_full_memory_file_system_is_an_error_before_anything_is_recorded(void **state)
{
    char path[128];
    struct sbx_recording_file file = {0};
    (void)state;
    assert_int_equal(sbx_recording_create(folder, "/some/spool", &file), 0);
    uint64_t whole = file.bytes, head = file.header->frames.at;
    sbx_recording_unlink(&file);
    make_small_memory(path, head / 2);
    assert_int_equal(sbx_recording_create(path, "/some/spool", &file), -ENOSPC);
    assert_int_equal(umount(path), 0);
    assert_int_equal(mount("small", path, "tmpfs", 0, "mode=0700,size=4m"), 0);
    assert_true(head < 4 << 20 && whole > 4 << 20);
    assert_int_equal(sbx_recording_create(path, "/some/spool", &file), -ENOSPC); /* the header alone would have fit */
    assert_int_equal(umount(path), 0);
    assert_int_equal(rmdir(path), 0);
}

static void test_a_recording_tells_the_architecture_of_its_code(void **state)
{
    struct sbx_recording_file file = {0};
    struct utsname system;
    (void)state;
    assert_int_equal(sbx_recording_create(folder, "/some/spool", &file), 0);
    assert_int_equal(uname(&system), 0);
    assert_int_equal(file.header->architecture, strcmp(system.machine, "x86_64") == 0    ? SBX_ARCHITECTURE_X86_64
                                                : strcmp(system.machine, "aarch64") == 0 ? SBX_ARCHITECTURE_AARCH64
                                                                                         : SBX_ARCHITECTURE_OTHER);
}

static void test_what_the_same_process_recorded_before_exec_is_taken_away(void **state)
{
    struct sbx_recording_file before = {0}, after = {0};
    struct stat status;
    (void)state;
    assert_int_equal(sbx_recording_create(folder, "/some/spool", &before), 0);
    assert_int_equal(sbx_recording_create(folder, "/some/spool", &after), 0);
    assert_int_equal(stat(before.path, &status), -1);
    assert_int_equal(stat(after.path, &status), 0);
}

static void test_what_another_process_of_that_pid_left_stays(void **state)
{
    struct sbx_recording_file before = {0}, after = {0};
    struct stat status;
    (void)state;
    assert_int_equal(sbx_recording_create(folder, "/some/spool", &before), 0);
    before.header->process_start_ticks++; /* the pid was given to another process */
    assert_int_equal(sbx_recording_create(folder, "/some/spool", &after), 0);
    assert_int_equal(stat(before.path, &status), 0);
}

static void test_missing_folders_are_made_for_the_owner_alone(void **state)
{
    char path[128];
    struct stat status;
    (void)state;
    snprintf(path, sizeof path, "%s/a/b/c", folder);
    assert_int_equal(sbx_make_folders(path), 0);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0700);
}

static void test_a_file_in_the_way_of_a_folder_is_an_error(void **state)
{
    char path[128];
    (void)state;
    snprintf(path, sizeof path, "%s/file", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
    assert_int_equal(sbx_make_folders(path), -ENOTDIR);
    snprintf(path, sizeof path, "%s/file/below", folder);
    assert_int_equal(sbx_make_folders(path), -ENOTDIR);
}

static void test_a_folder_without_a_name_is_not_there_and_one_with_too_long_a_name_is_said_to_be_so(void **state)
{
    char path[600];
    (void)state;
    memset(path, 'a', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    assert_int_equal(sbx_make_folders(""), -ENOENT);
    assert_int_equal(sbx_make_folders(path), -ENAMETOOLONG);
}

static void test_no_process_has_no_start(void **state)
{
    (void)state;
    assert_int_equal(sbx_process_start_ticks(0x7ffffffe), 0);
}

static void test_the_spool_follows_the_environment(void **state)
{
    char path[SBX_RECORDING_PATH_MAX];
    (void)state;
    setenv("XDG_STATE_HOME", "/x/state", 1);
    assert_int_equal(sbx_spool_default_path(path, sizeof path), 0);
    assert_string_equal(path, "/x/state/stallbox/spool");
    unsetenv("XDG_STATE_HOME");
    setenv("HOME", "/home/somebody", 1);
    assert_int_equal(sbx_spool_default_path(path, sizeof path), 0);
    assert_string_equal(path, "/home/somebody/.local/state/stallbox/spool");
    unsetenv("HOME");
    assert_int_equal(sbx_spool_default_path(path, sizeof path), -ENOENT);
}

static void test_rows_are_kept_where_the_environment_says_and_never_in_the_home_of_another(void **state)
{
    (void)state;
    char path[SBX_RECORDING_PATH_MAX], expected[SBX_RECORDING_PATH_MAX], home[] = "/tmp/sbx-test-home-XXXXXX";
    assert_non_null(mkdtemp(home));
    setenv("STALLBOX_ROWS", "/x/rows", 1);
    assert_int_equal(sbx_rows_default_folder(path, sizeof path), 0);
    assert_string_equal(path, "/x/rows");
    setenv("STALLBOX_ROWS", "", 1); /* empty: no place at all */
    setenv("XDG_CACHE_HOME", "/x/cache", 1);
    assert_int_equal(sbx_rows_default_folder(path, sizeof path), -ENOENT);
    unsetenv("STALLBOX_ROWS");
    assert_int_equal(sbx_rows_default_folder(path, sizeof path), 0);
    assert_string_equal(path, "/x/cache/stallbox/rows");
    assert_int_equal(sbx_rows_default_folder(path, 8), -ENAMETOOLONG);
    unsetenv("XDG_CACHE_HOME");
    setenv("HOME", home, 1);
    snprintf(expected, sizeof expected, "%s/.cache/stallbox/rows", home);
    assert_int_equal(sbx_rows_default_folder(path, sizeof path), 0);
    assert_string_equal(path, expected);
    if (geteuid() == 0) { /* as when run with sudo */
        assert_int_equal(chown(home, 65534, 65534), 0);
        assert_int_equal(sbx_rows_default_folder(path, sizeof path), -ENOENT);
    }
    setenv("HOME", "/nonexistent", 1);
    assert_int_equal(sbx_rows_default_folder(path, sizeof path), -ENOENT);
    unsetenv("HOME");
    assert_int_equal(sbx_rows_default_folder(path, sizeof path), -ENOENT);
    assert_int_equal(rmdir(home), 0);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(test_a_new_recording_is_whole_and_private),
        CASE(test_its_ring_is_as_large_as_was_asked_for_within_limits),
        CASE(test_a_worker_makes_no_folder_for_its_recording),
#ifndef ADVICE_IS_NOT_TAKEN
        CASE(test_what_a_recording_gives_back_is_zero_and_can_be_reserved_again),
#ifdef MADV_POPULATE_WRITE
        CASE(test_a_worker_without_rights_in_its_folder_gives_back_and_reserves_all_the_same),
#endif
#endif
        CASE(test_the_ring_of_a_worker_begins_short_and_grows_to_what_the_file_has_room_for),
        CASE(test_a_folder_that_others_may_write_is_refused),
        CASE(test_a_file_size_limit_is_an_error_and_no_signal),
        CASE(test_memory_is_reserved_in_two_steps_and_then_whole),
        CASE(test_a_full_memory_file_system_is_an_error_before_anything_is_recorded),
        CASE(test_a_recording_tells_the_architecture_of_its_code),
        CASE(test_what_the_same_process_recorded_before_exec_is_taken_away),
        CASE(test_what_another_process_of_that_pid_left_stays),
        CASE(test_missing_folders_are_made_for_the_owner_alone),
        CASE(test_a_file_in_the_way_of_a_folder_is_an_error),
        CASE(test_a_folder_without_a_name_is_not_there_and_one_with_too_long_a_name_is_said_to_be_so),
        CASE(test_no_process_has_no_start),
        CASE(test_the_spool_follows_the_environment),
        CASE(test_rows_are_kept_where_the_environment_says_and_never_in_the_home_of_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
