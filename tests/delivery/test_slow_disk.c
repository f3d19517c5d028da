/* SPDX-License-Identifier: Apache-2.0 */
/* test_slow_disk.c - a disk that takes seconds for a snapshot, observed from inside of the application: only the
 * recorder's own thread waits for it. A function of this program replaces the library's fsync() (own_slot.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "own_slot.h"
#include "stallbox/stallbox.h"
#include "test_folder.h"

static atomic_int inside; /* calls of fsync() that are under way */
static atomic_int ended;

static int take_long(int file)
{
    atomic_fetch_add(&inside, 1);
    nanosleep(&(struct timespec){.tv_sec = 1, .tv_nsec = 500000000}, NULL);
    int result = (int)syscall(SYS_fsync, file);
    atomic_fetch_sub(&inside, 1);
    atomic_fetch_add(&ended, 1);
    return result;
}

static uint64_t samples(void)
{
    struct stallbox_counts counts = {.sizeof_counts = sizeof counts};
    assert_int_equal(stallbox_read_counts(&counts), STALLBOX_OK);
    return counts.captures_sync + counts.captures_async + counts.captures_observed;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* A message as applications have them: memory, a lock, a short wait. */
static void work(void)
{
    stallbox_message_begin(1);
    for (int i = 0; i < 50; i++) {
        void *volatile block = malloc(100 + (size_t)i);
        pthread_mutex_lock(&lock);
        pthread_mutex_unlock(&lock);
        free(block);
    }
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    stallbox_message_end();
}

static void test_spl_10_while_a_snapshot_waits_for_the_disk_the_application_works_and_is_recorded(void **state)
{
    char *folder = sbx_test_folder_make();
    char spool[200], recordings[200];
    (void)state;
    snprintf(spool, sizeof spool, "%s/spool", folder);
    snprintf(recordings, sizeof recordings, "%s/recordings", folder);
    assert_int_equal(mkdir(recordings, 0700), 0);
    struct stallbox_options options = {
        .sizeof_options = sizeof options, .spool_path = spool, .recording_path = recordings};
    assert_int_equal(stallbox_start(&options), STALLBOX_OK);
    uint64_t id = stallbox_deadline_begin("a promise", 50);
    assert_true(id != 0);
    for (int i = 0; atomic_load(&inside) == 0; i++) {
        assert_true(i < 20000);
        work();
    }
    uint64_t before = samples();
    unsigned messages = 0;
    while (atomic_load(&ended) == 0) {
        work();
        messages++;
    }
    assert_true(messages > 100); /* in 1.5 s of waiting; if one message had waited too, there would be only a few */
    assert_true(samples() > before);
    stallbox_deadline_end(id);
    for (int i = 0; sbx_test_count(sbx_test_path(spool, "raw"), ".raw") == 0; i++) {
        assert_true(i < 20000);
        work();
    }
    assert_int_equal(stallbox_stop(20000), STALLBOX_OK);
    sbx_test_folder_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spl_10_while_a_snapshot_waits_for_the_disk_the_application_works_and_is_recorded),
    };
    own_slot_take("fsync", (void (*)(void))take_long);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
