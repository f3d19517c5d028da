/* SPDX-License-Identifier: Apache-2.0 */
/* test_sandbox_filter.c - the judgment of a call by seccomp filters: written by hand, in the shapes that real filters
 * have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>

#include "marks.h"
#include "sandbox_filter.h"

#ifdef __x86_64__
#define HERE AUDIT_ARCH_X86_64
#else
#define HERE AUDIT_ARCH_AARCH64
#endif

#define LOAD(field)              BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define IF_EQUAL(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), (yes), (no))
#define RETURN(action)           BPF_STMT(BPF_RET | BPF_K, (action))

static struct sbx_filter_step steps[SBX_FILTER_LENGTH_MAX];

#define HARMS(code, call) sbx_filter_harms_call((code), SBX_COUNT_OF(code), (call), steps)

static void test_each_action_is_what_it_is(void **state)
{
    static const uint32_t harmless[] = {SECCOMP_RET_ALLOW, SECCOMP_RET_LOG, SECCOMP_RET_ERRNO | 1, SECCOMP_RET_ERRNO};
    static const uint32_t harmful[] = {SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_KILL_THREAD, SECCOMP_RET_TRAP | 7,
                                       SECCOMP_RET_TRACE,        SECCOMP_RET_USER_NOTIF,  0x12340000};
    (void)state;
    for (size_t i = 0; i < SBX_COUNT_OF(harmless); i++) {
        const struct sock_filter code[] = {RETURN(harmless[i])};
        assert_false(HARMS(code, SYS_futex));
    }
    for (size_t i = 0; i < SBX_COUNT_OF(harmful); i++) {
        const struct sock_filter code[] = {RETURN(harmful[i])};
        assert_true(HARMS(code, SYS_futex));
    }
}

static void test_a_list_is_followed_by_number(void **state)
{
    const struct sock_filter allow_list[] = {
        LOAD(arch),
        IF_EQUAL(HERE, 1, 0),
        RETURN(SECCOMP_RET_KILL_PROCESS),
        LOAD(nr),
        IF_EQUAL(SYS_futex, 1, 0),
        IF_EQUAL(SYS_read, 0, 1),
        RETURN(SECCOMP_RET_ALLOW),
        RETURN(SECCOMP_RET_TRAP),
    };
    const struct sock_filter deny_list[] = {
        LOAD(nr),
        IF_EQUAL(SYS_futex, 0, 1),
        RETURN(SECCOMP_RET_KILL_THREAD),
        RETURN(SECCOMP_RET_ALLOW),
    };
    (void)state;
    assert_false(HARMS(allow_list, SYS_futex));
    assert_false(HARMS(allow_list, SYS_read));
    assert_true(HARMS(allow_list, SYS_openat));
    assert_true(HARMS(deny_list, SYS_futex));
    assert_false(HARMS(deny_list, SYS_openat));
}

static void test_a_tree_of_comparisons_masks_and_long_jumps_is_followed(void **state)
{
    const struct sock_filter code[] = {
        LOAD(nr),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1), /* x32 */
        RETURN(SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xffff),
        BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, 200, 0, 1),
        BPF_JUMP(BPF_JMP | BPF_JA, 2, 0, 0),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 1, 0, 2), /* odd ones kill */
        RETURN(SECCOMP_RET_KILL_PROCESS),
        RETURN(SECCOMP_RET_ERRNO | 38), /* above 200 */
        RETURN(SECCOMP_RET_ALLOW),
    };
    (void)state;
    assert_true(HARMS(code, 0x40000000));
    assert_true(HARMS(code, 101));
    assert_false(HARMS(code, 100));
    assert_false(HARMS(code, 201));
}

static void test_what_hangs_on_an_argument_may_go_either_way(void **state)
{
    const struct sock_filter kills_some[] = {
        LOAD(nr),          IF_EQUAL(SYS_futex, 0, 3),        LOAD(args[1]),
        IF_EQUAL(1, 1, 0), RETURN(SECCOMP_RET_KILL_PROCESS), RETURN(SECCOMP_RET_ALLOW),
    };
    const struct sock_filter refuses_some[] = {
        LOAD(args[0]),
        IF_EQUAL(0, 0, 1),
        RETURN(SECCOMP_RET_ERRNO | 1),
        RETURN(SECCOMP_RET_ALLOW),
    };
    /* Where two ways meet, only what both ways know is known. */
    const struct sock_filter meets[] = {
        LOAD(args[0]),
        IF_EQUAL(0, 0, 1),
        BPF_STMT(BPF_LD | BPF_IMM, 5),
        LOAD(nr),
        IF_EQUAL(SYS_futex, 0, 1),
        RETURN(SECCOMP_RET_ALLOW),
        RETURN(SECCOMP_RET_KILL_PROCESS),
    };
    (void)state;
    assert_true(HARMS(kills_some, SYS_futex));
    assert_false(HARMS(kills_some, SYS_read));
    assert_false(HARMS(refuses_some, SYS_futex));
    assert_false(HARMS(meets, SYS_futex));
    assert_true(HARMS(meets, SYS_read));
}

static void test_what_is_not_understood_is_harmful(void **state)
{
    const struct sock_filter returns_what_it_computed[] = {
        BPF_STMT(BPF_LD | BPF_IMM, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_A, 0),
    };
    const struct sock_filter returns_an_argument[] = {LOAD(args[0]), BPF_STMT(BPF_RET | BPF_A, 0)};
    const struct sock_filter runs_out[] = {LOAD(nr)};
    const struct sock_filter jumps_out[] = {BPF_JUMP(BPF_JMP | BPF_JA, 0xfffffffe, 0, 0), RETURN(SECCOMP_RET_ALLOW)};
    const struct sock_filter brings_the_index[] = {
        LOAD(nr),
        BPF_STMT(BPF_MISC | BPF_TXA, 0),
        IF_EQUAL(SYS_futex, 0, 1),
        RETURN(SECCOMP_RET_ALLOW),
        RETURN(SECCOMP_RET_KILL_PROCESS),
    };
    const struct sock_filter jumps_in_no_known_way[] = {
        BPF_JUMP(BPF_JMP | 0x9b00, 0, 0, 0),
        RETURN(SECCOMP_RET_ALLOW),
        RETURN(SECCOMP_RET_ALLOW),
    };
    (void)state;
    assert_true(HARMS(jumps_in_no_known_way, SYS_futex));
    assert_false(HARMS(returns_what_it_computed, SYS_futex));
    assert_true(HARMS(returns_an_argument, SYS_futex));
    assert_true(HARMS(runs_out, SYS_futex));
    assert_true(HARMS(jumps_out, SYS_futex));
    assert_true(HARMS(brings_the_index, SYS_futex));
    assert_true(sbx_filter_harms_call(runs_out, 0, SYS_futex, steps));
}

static void test_our_own_threads_count_when_the_filter_is_theirs_too(void **state)
{
    const struct sock_filter no_getdents[] = {
        LOAD(nr),
        IF_EQUAL(SYS_getdents64, 0, 1),
        RETURN(SECCOMP_RET_KILL_PROCESS),
        RETURN(SECCOMP_RET_ALLOW),
    };
    const struct sock_filter no_stacks[] = {
        LOAD(nr),
        IF_EQUAL(SYS_process_vm_readv, 0, 1),
        RETURN(SECCOMP_RET_KILL_PROCESS),
        RETURN(SECCOMP_RET_ALLOW),
    };
    (void)state;
    assert_false(sbx_filter_harms_us(no_getdents, SBX_COUNT_OF(no_getdents), false, false, steps));
    assert_true(sbx_filter_harms_us(no_getdents, SBX_COUNT_OF(no_getdents), true, false, steps));
    assert_true(sbx_filter_harms_us(no_stacks, SBX_COUNT_OF(no_stacks), false, false, steps));
}

static void test_a_filter_without_an_action_that_harms_harms_no_call_at_all(void **state)
{
    const struct sock_filter mild[] = {LOAD(nr), IF_EQUAL(SYS_read, 0, 1), RETURN(SECCOMP_RET_ERRNO | 1),
                                       RETURN(SECCOMP_RET_ALLOW)};
    const struct sock_filter for_one[] = {LOAD(nr), IF_EQUAL(SYS_reboot, 0, 1), RETURN(SECCOMP_RET_TRAP),
                                          RETURN(SECCOMP_RET_ALLOW)};
    const struct sock_filter computed[] = {BPF_STMT(BPF_LD | BPF_IMM, SECCOMP_RET_ALLOW), BPF_STMT(BPF_RET | BPF_A, 0)};
    (void)state;
    assert_false(sbx_filter_can_harm(mild, SBX_COUNT_OF(mild)));
    assert_true(sbx_filter_can_harm(for_one, SBX_COUNT_OF(for_one)));
    assert_true(sbx_filter_can_harm(computed, SBX_COUNT_OF(computed)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_action_is_what_it_is),
        cmocka_unit_test(test_a_list_is_followed_by_number),
        cmocka_unit_test(test_a_tree_of_comparisons_masks_and_long_jumps_is_followed),
        cmocka_unit_test(test_what_hangs_on_an_argument_may_go_either_way),
        cmocka_unit_test(test_what_is_not_understood_is_harmful),
        cmocka_unit_test(test_our_own_threads_count_when_the_filter_is_theirs_too),
        cmocka_unit_test(test_a_filter_without_an_action_that_harms_harms_no_call_at_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
