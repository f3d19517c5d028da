/* SPDX-License-Identifier: Apache-2.0 */
/* test_thread_registry.c - entries of threads that have ended are used again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdlib.h>

#include "recorded_process.h"
#include "recording_format.h"
#include "stallbox/stallbox.h"

static void *short_life(void *unused)
{
    (void)unused;
    void *volatile memory = malloc(10);
    free(memory);
    return NULL;
}

static void child_has_many_short_threads(void)
{
    child_start_with(60000, 60000);
    int many = SBX_THREADS_MAX * 3 / 2; /* more than there are entries, so entries are reused */
    for (int i = 0; i < many; i++) {
        pthread_t thread;
        child_expect(pthread_create(&thread, NULL, short_life, NULL) == 0, "a thread starts");
        pthread_join(thread, NULL);
    }
    child_expect(stallbox_snapshot(5000) == STALLBOX_OK, "a snapshot is made");
    stallbox_stop(5000);
}

static void test_thread_entries_are_used_again(void **state)
{
    (void)state;
    assert_int_equal(recorded_process_run(child_has_many_short_threads), 0);
    struct sbx_snapshot *snapshot = recorded_process_snapshot();
    assert_int_equal(snapshot->drops[SBX_DROP_NO_THREAD], 0);
    sbx_snapshot_destroy(snapshot);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, recorded_process_set_up, recorded_process_tear_down)
    const struct CMUnitTest tests[] = {
        CASE(test_thread_entries_are_used_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
