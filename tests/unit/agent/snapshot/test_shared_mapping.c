/* SPDX-License-Identifier: Apache-2.0 */
/* test_shared_mapping.c - files that are truncated while they are mapped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared_mapping.h"

enum {
    BYTES = 10 * 4096
};

static int make_file(void)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    int copy = dup(fileno(file));
    fclose(file);
    assert_int_equal(ftruncate(copy, BYTES), 0);
    return copy;
}

static void test_a_file_that_is_cut_short_reads_as_zeroes_and_can_be_written(void **state)
{
    (void)state;
    int file = make_file();
    for (int turn = 0; turn < 100; turn++) { /* the places are given back */
        assert_int_equal(ftruncate(file, BYTES), 0);
        volatile char *mapping = sbx_shared_map(file, BYTES, PROT_READ | PROT_WRITE);
        assert_non_null(mapping);
        memset((char *)(uintptr_t)mapping, 7, BYTES);
        assert_int_equal(ftruncate(file, 4096), 0);
        assert_int_equal(mapping[100], 7);
        for (size_t at = 4096; at < BYTES; at += 512) {
            assert_int_equal(mapping[at], 0);
        }
        mapping[BYTES - 1] = 3;
        assert_int_equal(mapping[BYTES - 1], 3);
        sbx_shared_unmap((void *)(uintptr_t)mapping, BYTES);
    }
    close(file);
}

static void test_a_fault_elsewhere_ends_the_process_as_it_would(void **state)
{
    (void)state;
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        const struct rlimit no_core = {0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        signal(SIGBUS, SIG_DFL); /* cmocka has set a handler for it */
        int file = make_file(), other = make_file();
        void *ours = sbx_shared_map(file, BYTES, PROT_READ);
        volatile char *theirs = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, other, 0);
        _exit(ours != NULL && ftruncate(other, 0) == 0 ? theirs[0] : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGBUS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_file_that_is_cut_short_reads_as_zeroes_and_can_be_written),
        cmocka_unit_test(test_a_fault_elsewhere_ends_the_process_as_it_would),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
