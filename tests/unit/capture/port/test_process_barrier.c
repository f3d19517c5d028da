/* SPDX-License-Identifier: Apache-2.0 */
/* test_process_barrier.c - two sides each store and then look: at least one sees the other's store, with the barrier
 * and without. A kernel that refuses the barrier later is reported. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "process_barrier.h"

enum {
    ROUNDS = 2000,
    TURNS_AT_ONCE = 1000000, /* about a millisecond */
    REFUSED = 77
};

/* Both sides run at the same time if there are processors for both. Otherwise the waiting side yields its processor. */
static void await_number(const uint32_t *word, uint32_t number)
{
    for (uint32_t turns = 0; sbx_load_seq_cst(word) != number; turns++) {
        if (turns >= TURNS_AT_ONCE) {
            sched_yield();
        }
    }
}

/* Words on separate cache lines, and what each side saw of the other's word in a round. */
static struct {
    _Alignas(64) uint32_t hot;
    _Alignas(64) uint32_t rare;
    _Alignas(64) uint32_t round, done;
    uint32_t hot_saw;
} state;

static void *be_hot(void *unused)
{
    (void)unused;
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        await_number(&state.round, round);
        sbx_store_before_look(&state.hot, round);
        state.hot_saw = sbx_load_relaxed(&state.rare);
        sbx_store_seq_cst(&state.done, round);
    }
    return NULL;
}

static void let_both_sides_run(void)
{
    pthread_t thread;
    uint32_t both_missed = 0;
    state.hot = state.rare = state.round = state.done = 0;
    assert_int_equal(pthread_create(&thread, NULL, be_hot, NULL), 0);
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        sbx_store_seq_cst(&state.round, round);
        for (volatile uint32_t i = 0; i < round % 64; i++) {
        }
        sbx_store_relaxed(&state.rare, round);
        assert_true(sbx_process_barrier_between());
        uint32_t rare_saw = sbx_load_relaxed(&state.hot);
        await_number(&state.done, round);
        both_missed += rare_saw != round && state.hot_saw != round;
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(both_missed, 0);
}

static void test_without_a_barrier_both_sides_have_fences(void **unused)
{
    (void)unused;
    assert_int_equal(sbx_has_process_barrier, 0);
    assert_false(sbx_process_barrier());
    let_both_sides_run();
}

static void test_one_side_sees_the_other_with_the_barrier(void **unused)
{
    (void)unused;
    if (!sbx_process_barrier_start()) {
        print_message("membarrier(2) is refused here\n");
        skip();
    }
    assert_true(sbx_process_barrier_start());
    assert_true(sbx_process_barrier());
    let_both_sides_run();
}

/* From now on the kernel answers membarrier with EPERM, as in a sandbox. */
static bool refuse_membarrier(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* Runs in a child, because a seccomp filter cannot be removed. */
static int be_refused(bool is_started_before)
{
    if ((is_started_before && !sbx_process_barrier_start()) || !refuse_membarrier()) {
        return REFUSED; /* the test is not possible here */
    }
    if (is_started_before) {
        /* Other code may already rely on the barrier, so no look can be trusted any more, and the barrier does not come
         * back. */
        return !sbx_process_barrier_between() && !sbx_process_barrier_between() && !sbx_process_barrier_start() &&
                       sbx_has_process_barrier == 0
                   ? 0
                   : 1;
    }
    return !sbx_process_barrier_start() && !sbx_process_barrier() && sbx_process_barrier_between() ? 0 : 1;
}

static void expect_of_a_child(bool is_started_before)
{
    pid_t child = fork();
    if (child == 0) {
        sbx_has_process_barrier = 0;
        _exit(be_refused(is_started_before));
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == REFUSED) {
        print_message("no seccomp filters or no membarrier(2) here\n");
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_a_kernel_that_refuses_from_the_start_leaves_the_fences(void **unused)
{
    (void)unused;
    expect_of_a_child(false);
}

static void test_a_kernel_that_refuses_later_makes_every_look_untrusted(void **unused)
{
    (void)unused;
    expect_of_a_child(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_a_barrier_both_sides_have_fences),
        cmocka_unit_test(test_a_kernel_that_refuses_from_the_start_leaves_the_fences),
        cmocka_unit_test(test_a_kernel_that_refuses_later_makes_every_look_untrusted),
        cmocka_unit_test(test_one_side_sees_the_other_with_the_barrier),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
