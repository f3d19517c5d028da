/* SPDX-License-Identifier: Apache-2.0 */
/* test_thread_begin.c - the first action of a thread may happen under a lock of the C library.
 *
 * Every `java` under `stallbox run` hung. Its first thread asks for its own stack (pthread_getattr_np), and glibc
 * allocates while it holds the thread's lock. Our hook of that allocation registered the thread, and asked for its
 * stack as well. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stallbox/stallbox.h"

static void *ask_for_its_stack(void *unused)
{
    pthread_attr_t attributes;
    (void)unused;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        pthread_attr_destroy(&attributes);
    }
    return NULL;
}

static void *free_first(void *memory)
{
    free(memory);
    return ask_for_its_stack(NULL);
}

static void test_a_thread_that_first_asks_for_its_stack_gets_it(void **state)
{
    char folder[] = "/tmp/sbx-test-begin-XXXXXX", spool[64], command[64];
    int status = 0;
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(spool, sizeof spool, "%s/spool", folder);
    setenv("STALLBOX_ROWS", "", 1);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct stallbox_options options = {
            .sizeof_options = sizeof options, .spool_path = spool, .recording_path = folder};
        pthread_t thread;
        unsetenv("STALLBOX_DISABLE");
        alarm(30); /* ends the test if it hangs */
        if (stallbox_start(&options) != STALLBOX_OK) {
            _exit(1);
        }
        for (int i = 0; i < 100; i++) {
            if (pthread_create(&thread, NULL, i % 2 == 0 ? ask_for_its_stack : free_first, malloc(10)) != 0 ||
                pthread_join(thread, NULL) != 0) {
                _exit(2);
            }
        }
        stallbox_stop(5000);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    assert_int_equal(system(command), 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_thread_that_first_asks_for_its_stack_gets_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
