/* SPDX-License-Identifier: Apache-2.0 */
/* test_roster.c - many processes write to one file, and one process reads it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "roster.h"

static char place[64];
static int file;
static uint64_t number;

static int make_place(void **state)
{
    (void)state;
    strcpy(place, "/tmp/sbx-roster-XXXXXX");
    if (mkdtemp(place) == NULL) {
        return -1;
    }
    file = sbx_roster_create(place, &number);
    return file >= 0 ? 0 : -1;
}

static int remove_place(void **state)
{
    char command[96];
    (void)state;
    if (file >= 0) {
        close(file);
    }
    snprintf(command, sizeof command, "rm -rf '%s'", place);
    return system(command) == 0 ? 0 : -1;
}

static void path_of(uint64_t which, char path_out[128])
{
    snprintf(path_out, 128, "%s/%016llx" SBX_ROSTER_SUFFIX, place, (unsigned long long)which);
}

static void test_what_processes_say_at_one_time_is_read_whole(void **state)
{
    enum {
        PROCESSES = 8,
        EACH = 20
    };
    static struct sbx_roster copy;
    (void)state;
    for (int i = 0; i < PROCESSES; i++) {
        if (fork() == 0) {
            struct sbx_roster *roster = sbx_roster_map(place, number);
            sbx_roster_say(roster, (uint32_t)getpid(), SBX_ROSTER_FAILED, ENOSPC);
            for (int k = 0; k < EACH; k++) {
                uint8_t id[SBX_ROSTER_ID_BYTES] = {1, (uint8_t)i, (uint8_t)k};
                sbx_roster_add(roster, id);
                sbx_roster_add(roster, id); /* adding it twice counts once */
            }
            _exit(roster == NULL);
        }
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status;
        pid_t pid = wait(&status);
        assert_int_equal(status, 0);
        assert_true(sbx_roster_read(file, &copy));
        assert_int_equal(sbx_roster_process(&copy, (uint32_t)pid).state, SBX_ROSTER_FAILED);
        assert_int_equal(sbx_roster_process(&copy, (uint32_t)pid).error, ENOSPC);
    }
    assert_int_equal(copy.failed, PROCESSES);
    assert_int_equal(copy.snapshots, PROCESSES * EACH);
    assert_int_equal(sbx_roster_process(&copy, 1).state, SBX_ROSTER_UNTOLD);
}

static void test_more_processes_and_snapshots_than_there_is_room_for_are_still_counted(void **state)
{
    static struct sbx_roster copy;
    (void)state;
    struct sbx_roster *roster = sbx_roster_map(place, number);
    assert_non_null(roster);
    for (uint32_t i = 0; i < 3 * SBX_ROSTER_PROCESSES; i++) {
        sbx_roster_say(roster, 1000 + i, SBX_ROSTER_FAILED, ENOMEM);
    }
    for (uint32_t i = 0; i < SBX_ROSTER_IDS + 5; i++) {
        uint8_t id[SBX_ROSTER_ID_BYTES] = {2, (uint8_t)(i >> 8), (uint8_t)i};
        sbx_roster_add(roster, id);
    }
    assert_true(sbx_roster_read(file, &copy));
    assert_int_equal(copy.failed, 3 * SBX_ROSTER_PROCESSES);
    assert_int_equal(copy.snapshots, SBX_ROSTER_IDS + 5);
    assert_int_equal(copy.ids[0][2], (uint8_t)SBX_ROSTER_IDS); /* the newest id replaced the oldest */
    assert_int_equal(sbx_roster_process(&copy, 1000).state, SBX_ROSTER_FAILED);
    munmap(roster, sizeof *roster);
}

static void test_nothing_is_mapped_of_a_file_that_is_no_roster(void **state)
{
    char path[128];
    (void)state;
    path_of(number, path);
    assert_int_equal(truncate(path, 100), 0); /* access to a page behind the end would raise SIGBUS */
    assert_null(sbx_roster_map(place, number));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    assert_null(sbx_roster_map(place, number));
    assert_null(sbx_roster_map(place, number + 1));
    assert_null(sbx_roster_map(place, 0));
    sbx_roster_say(NULL, 1, SBX_ROSTER_RECORDS, 0); /* without a roster nothing is written */
    sbx_roster_add(NULL, (const uint8_t[SBX_ROSTER_ID_BYTES]){1});
}

static void test_the_next_companion_sweeps_what_a_killed_one_left_and_no_other(void **state)
{
    char left[128], kept[128];
    uint64_t others, third;
    int ends[2];
    (void)state;
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        uint64_t mine;
        if (sbx_roster_create(place, &mine) < 0 || write(ends[1], &mine, sizeof mine) != sizeof mine) {
            _exit(1);
        }
        pause();
    }
    assert_int_equal(read(ends[0], &others, sizeof others), sizeof others);
    path_of(others, left);
    path_of(number, kept);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    assert_int_equal(access(left, F_OK), 0);
    int newest = sbx_roster_create(place, &third);
    assert_true(newest >= 0);
    assert_int_not_equal(access(left, F_OK), 0);
    assert_int_equal(access(kept, F_OK), 0); /* its companion is alive */
    sbx_roster_remove(place, third, newest);
    path_of(third, left);
    assert_int_not_equal(access(left, F_OK), 0);
    close(ends[0]);
    close(ends[1]);
}

/* The kernel may release the mapping's file some time after the mapping. */
static bool is_left(void)
{
    for (int i = 0; i < 1000 && sbx_roster_has_members(file); i++) {
        usleep(10000);
    }
    return !sbx_roster_has_members(file);
}

static void end_child(pid_t pid)
{
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void test_a_member_is_one_until_it_ends_and_so_is_its_child_without_descriptors(void **state)
{
    int ends[2];
    pid_t grandchild;
    (void)state;
    assert_false(sbx_roster_has_members(file));
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        if (sbx_roster_map(place, number) == NULL) {
            _exit(1);
        }
        pid_t child = fork();
        if (child == 0) {
            close(file); /* as closefrom(3) does */
            pause();
        }
        _exit(write(ends[1], &child, sizeof child) != sizeof child);
    }
    assert_int_equal(read(ends[0], &grandchild, sizeof grandchild), sizeof grandchild);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_true(sbx_roster_has_members(file)); /* the child still has the mapping */
    kill(grandchild, SIGKILL);
    assert_true(is_left());
    assert_false(sbx_roster_has_members(-1));
    close(ends[0]);
    close(ends[1]);
}

static void test_who_calls_exec_is_no_member_any_more(void **state)
{
    int ends[2];
    char byte;
    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        if (sbx_roster_map(place, number) != NULL) {
            execl("/bin/sleep", "sleep", "60", (char *)NULL);
        }
        _exit(127);
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 0); /* exec has closed it */
    bool has_left = is_left(), lives = kill(pid, 0) == 0;
    end_child(pid);
    assert_true(has_left && lives);
    close(ends[0]);
}

#define ROSTER_TEST(test) cmocka_unit_test_setup_teardown(test, make_place, remove_place)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROSTER_TEST(test_what_processes_say_at_one_time_is_read_whole),
        ROSTER_TEST(test_a_member_is_one_until_it_ends_and_so_is_its_child_without_descriptors),
        ROSTER_TEST(test_who_calls_exec_is_no_member_any_more),
        ROSTER_TEST(test_more_processes_and_snapshots_than_there_is_room_for_are_still_counted),
        ROSTER_TEST(test_nothing_is_mapped_of_a_file_that_is_no_roster),
        ROSTER_TEST(test_the_next_companion_sweeps_what_a_killed_one_left_and_no_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
