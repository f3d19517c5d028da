/* SPDX-License-Identifier: Apache-2.0 */
/* test_steered_agents.c - a recording that is found while it is being made. Orders to complete recordings are tested in
 * tests/integration/policy. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "steered_agents.h"

static char folder[] = "/tmp/stallbox-steered.XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

/* Make an empty recording of process `pid`. */
static void make_empty(long pid, char path_out[128])
{
    snprintf(path_out, 128, "%s/%ld-0123456789abcdef0123456789abcdef-0123456789abcdef.rec", folder, pid);
    int file = open(path_out, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
    assert_true(file >= 0);
    close(file);
}

/* Symptom: the follower was woken when a recording was created, saw an empty file, did not recognize it as a recording,
 * and never looked again. An application that started beside `stallbox deliver --policy` kept the default until the
 * policy changed. */
static void test_a_recording_that_is_being_made_is_looked_at_again(void **state)
{
    (void)state;
    char path[128];
    struct sbx_capture_settings wanted = {.enabled = 1};
    struct sbx_steered_agents agents = {.recordings = folder, .spool_path = "/spool"};
    make_empty((long)getpid(), path);
    for (int look = 0; look < 20; look++) {
        assert_true(sbx_steered_agents_bring(&agents, &wanted, 1));
    }
    int looks = 0;
    while (sbx_steered_agents_bring(&agents, &wanted, 1)) {
        assert_in_range(++looks, 1, 1000); /* an empty file is not looked at for ever */
    }
    assert_true(sbx_steered_agents_bring(&agents, &wanted, 2)); /* a new order causes a new look */
    unlink(path);
}

static void test_an_empty_recording_of_a_process_that_is_gone_is_left(void **state)
{
    (void)state;
    char path[128];
    struct sbx_capture_settings wanted = {.enabled = 1};
    struct sbx_steered_agents agents = {.recordings = folder, .spool_path = "/spool"};
    make_empty(4194304L + 7, path); /* larger than the largest pid */
    assert_false(sbx_steered_agents_bring(&agents, &wanted, 1));
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_recording_that_is_being_made_is_looked_at_again),
        cmocka_unit_test(test_an_empty_recording_of_a_process_that_is_gone_is_left),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
