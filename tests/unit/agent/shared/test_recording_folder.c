/* SPDX-License-Identifier: Apache-2.0 */
/* test_recording_folder.c - the first place with room is used, and all recordings are found again. Runs in a mount
 * namespace with file systems of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recording_folder.h"

enum {
    CANNOT = 77 /* mounting is not possible here */
};

static const char *shm_size, *tmp_size;

static char first[64], second[64];

static bool mount_sized(const char *path, const char *size)
{
    char options[40];
    snprintf(options, sizeof options, "mode=1777,size=%s", size);
    return mount("none", path, "tmpfs", 0, options) == 0;
}

/* Leave only /dev/shm and /tmp of all possible places. */
static void set_the_scene(void)
{
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        !mount_sized("/dev/shm", shm_size) || !mount_sized("/tmp", tmp_size) || !mount_sized("/run", "1m")) {
        _exit(CANNOT);
    }
    unsetenv("XDG_RUNTIME_DIR");
    unsetenv("XDG_STATE_HOME");
    unsetenv("HOME");
    snprintf(first, sizeof first, "/dev/shm/stallbox-%u", (unsigned)geteuid());
    snprintf(second, sizeof second, "/tmp/stallbox-%u", (unsigned)geteuid());
}

/* Run `body` in a process of its own, with these file systems mounted. */
static void run_with(const char *shm, const char *tmp, int (*body)(void))
{
    int status = 0;
    shm_size = shm;
    tmp_size = tmp;
    pid_t pid = fork();
    if (pid == 0) {
        set_the_scene();
        _exit(body());
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == CANNOT) {
        skip(); /* only root may mount */
    }
    assert_int_equal(WEXITSTATUS(status), 0);
}

static bool is_chosen(const char *path)
{
    char chosen[SBX_RECORDING_PATH_MAX];
    int result = sbx_recordings_choose(chosen, NULL, 0);
    if (result != 0 || strcmp(chosen, path) != 0) {
        fprintf(stderr, "%d, %s instead of %s\n", result, chosen, path);
        return false;
    }
    return true;
}

static int choose_first(void)
{
    return is_chosen(first) ? 0 : 1;
}

static int choose_second(void)
{
    struct sbx_recording_folders found;
    if (!is_chosen(second)) {
        return 1;
    }
    sbx_recordings_find(NULL, &found);
    bool has_both = found.count == 2 && strcmp(found.paths[0], first) == 0 && strcmp(found.paths[1], second) == 0;
    return has_both ? 0 : 2;
}

/* Record in a child process, because a process keeps only its last recording. Returns which place the recording is
 * in. */
static int record(void)
{
    struct sbx_recording_file file;
    char chosen[SBX_RECORDING_PATH_MAX];
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        bool is_made = sbx_recordings_choose(chosen, NULL, 0) == 0 && sbx_recording_create(chosen, "/tmp", &file) == 0;
        _exit(!is_made ? 0 : strcmp(chosen, first) == 0 ? 1 : strcmp(chosen, second) == 0 ? 2 : 3);
    }
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

/* Recordings fill a place up to their share of it; later recordings go to the next place. */
static int fill_the_first(void)
{
    enum {
        RECORDINGS = 6 /* together more than a quarter of 64 MiB */
    };
    unsigned in[4] = {0};
    for (unsigned i = 0; i < RECORDINGS; i++) {
        in[record()]++;
    }
    fprintf(stderr, "%u in the first place, %u in the second\n", in[1], in[2]);
    return in[1] >= 1 && in[2] >= 1 && in[1] + in[2] == RECORDINGS ? 0 : 2;
}

static void test_the_first_place_is_taken_while_it_has_room(void **state)
{
    (void)state;
    run_with("256m", "256m", choose_first);
}

static void test_a_place_without_room_is_passed_over_and_both_are_found(void **state)
{
    (void)state;
    run_with("1m", "256m", choose_second);
}

static void test_recordings_that_fill_a_place_send_the_next_one_on(void **state)
{
    (void)state;
    run_with("64m", "256m", fill_the_first);
}

static void test_without_room_anywhere_the_first_place_says_so(void **state)
{
    (void)state;
    run_with("1m", "1m", choose_first);
}

static void test_an_empty_variable_names_no_folder(void **state)
{
    (void)state;
    unsetenv("STALLBOX_RECORDINGS");
    assert_null(sbx_recordings_given());
    setenv("STALLBOX_RECORDINGS", "", 1);
    assert_null(sbx_recordings_given());
    setenv("STALLBOX_RECORDINGS", "/there", 1);
    assert_string_equal(sbx_recordings_given(), "/there");
    unsetenv("STALLBOX_RECORDINGS");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_first_place_is_taken_while_it_has_room),
        cmocka_unit_test(test_a_place_without_room_is_passed_over_and_both_are_found),
        cmocka_unit_test(test_recordings_that_fill_a_place_send_the_next_one_on),
        cmocka_unit_test(test_an_empty_variable_names_no_folder),
        cmocka_unit_test(test_without_room_anywhere_the_first_place_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
