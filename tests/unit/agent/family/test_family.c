/* SPDX-License-Identifier: Apache-2.0 */
/* test_family.c - seats, rates and stalls that processes share. */
#include <linux/sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "family.h"
#include "process_life.h"
#include "start_account.h"

#define SECOND UINT64_C(1000000000)

static const uint8_t session[16] = {1, 2, 3};
static const uint32_t self = 1000000000; /* no process has such a number */

static uint32_t note_stall(uint32_t pid, uint64_t begin_ns, uint64_t end_ns)
{
    uint64_t moment = pid;
    return sbx_family_note_stall(pid, begin_ns, end_ns, &moment);
}

static int found(void **state)
{
    (void)state;
    return sbx_family_found(session, sbx_process_began((uint32_t)getpid())) ? 0 : -1;
}

static void test_a_family_is_called_by_its_first_process(void **state)
{
    (void)state;
    assert_memory_equal(sbx_family_id(), session, sizeof session);
}

static void test_so_many_begin_in_a_second_and_no_more(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < SBX_FAMILY_STARTS_A_SECOND; i++) {
        assert_true(sbx_family_take_seat((uint32_t)getpid(), 7 * SECOND + i, 0, false));
    }
    assert_false(sbx_family_take_seat((uint32_t)getpid(), 7 * SECOND + 900000000, 0, false));
    assert_true(sbx_family_take_seat((uint32_t)getpid(), 7 * SECOND + 900000000, 0,
                                     true)); /* a process that gives up its rights cannot wait */
    assert_true(sbx_family_take_seat((uint32_t)getpid(), 8 * SECOND, 0, false));
}

static void test_so_many_threads_sleep_for_children_that_are_put_off_and_no_more(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < SBX_FAMILY_SLEEPERS_A_SECOND; i++) {
        assert_true(sbx_family_lend_sleeper(7 * SECOND + i));
    }
    assert_false(sbx_family_lend_sleeper(7 * SECOND + 900000000));
    assert_true(
        sbx_family_take_seat((uint32_t)getpid(), 7 * SECOND + 900000000, 0, false)); /* starts are counted apart */
    assert_true(sbx_family_lend_sleeper(8 * SECOND));
}

static void test_who_gives_up_its_rights_takes_nobodys_turn(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < SBX_FAMILY_STARTS_A_SECOND + 10; i++) {
        assert_true(sbx_family_take_seat((uint32_t)getpid(), 7 * SECOND + i, 0, true));
    }
    assert_true(sbx_family_take_seat((uint32_t)getpid(), 7 * SECOND + 900000000, 0, false));
}

static void test_seats_of_the_living_stay_taken_and_those_of_the_dead_are_given_on(void **state)
{
    (void)state;
    uint32_t taken = 0;
    uint64_t now_ns = 100 * SECOND;
    while (taken < SBX_FAMILY_SEATS) {
        assert_true(sbx_family_take_seat((uint32_t)getpid(), now_ns, 0, false));
        now_ns += SECOND / 10;
        taken++;
    }
    assert_false(sbx_family_take_seat(self, now_ns + SECOND, 0, false)); /* its process, this one, lives */
    sbx_family_give_seat((uint32_t)getpid());
    for (taken = 0; taken < SBX_FAMILY_SEATS; taken++) {
        now_ns += SECOND / 10;
        assert_true(sbx_family_take_seat(self, now_ns + 5 * SECOND, 0, false)); /* the seats are free */
    }
    assert_true(sbx_family_take_seat((uint32_t)getpid(), now_ns + 10 * SECOND, 0, false));
}

static void fill_seats(uint64_t *now_ns)
{
    for (uint32_t taken = 0; taken < SBX_FAMILY_SEATS; taken++) {
        *now_ns += SECOND / 10;
        assert_true(sbx_family_take_seat((uint32_t)getpid(), *now_ns, 0, false));
    }
    *now_ns += SECOND;
}

static void test_a_seat_that_becomes_free_goes_to_who_has_worked_longest(void **state)
{
    (void)state;
    const uint32_t busy = self + 1;
    uint64_t now_ns = 1000 * SECOND;
    fill_seats(&now_ns);
    assert_false(sbx_family_take_seat(self, now_ns, SECOND, false));
    assert_false(sbx_family_take_seat(busy, now_ns, 60 * SECOND, false));
    sbx_family_give_seat((uint32_t)getpid());
    assert_false(sbx_family_take_seat(self, now_ns + SECOND, SECOND, false)); /* it is another process's turn */
    assert_true(sbx_family_take_seat(self, now_ns + SECOND, SECOND, true));
    assert_true(sbx_family_take_seat(busy, now_ns + SECOND, 60 * SECOND, false));
    assert_true(sbx_family_take_seat(self, now_ns + SECOND, SECOND, false));
}

static void test_who_asks_no_more_keeps_nobody_from_a_seat(void **state)
{
    (void)state;
    const uint32_t busy = self + 1;
    uint64_t now_ns = 2000 * SECOND;
    fill_seats(&now_ns);
    assert_false(sbx_family_take_seat(busy, now_ns, 60 * SECOND, false));
    sbx_family_give_seat((uint32_t)getpid());
    assert_false(sbx_family_take_seat(self, now_ns + 2 * SECOND, SECOND, false));
    assert_true(sbx_family_take_seat(self, now_ns + 4 * SECOND, SECOND, false));
}

static void test_more_wish_for_a_seat_than_are_remembered_and_the_busiest_is(void **state)
{
    (void)state;
    uint64_t now_ns = 3000 * SECOND;
    fill_seats(&now_ns);
    for (uint32_t i = 0; i < 3 * SBX_FAMILY_SEATS; i++) {
        assert_false(sbx_family_take_seat(self + i, now_ns, (i == 5 ? 900 : i % 7) * SECOND, false));
    }
    sbx_family_give_seat((uint32_t)getpid());
    assert_false(sbx_family_take_seat(self, now_ns + SECOND, SECOND, false));
    assert_true(sbx_family_take_seat(self + 5, now_ns + SECOND, 900 * SECOND, false));
}

static void test_the_busiest_gets_a_seat_though_a_hundred_asked_in_vain_before(void **state)
{
    (void)state;
    const uint32_t busy = self + 99;
    uint64_t now_ns = 4000 * SECOND;
    fill_seats(&now_ns);
    for (uint32_t i = 0; i < 99; i++) {
        assert_false(sbx_family_take_seat(self + i, now_ns + i, 60 * SECOND, false));
    }
    assert_false(sbx_family_take_seat(busy, now_ns + 99, 90 * SECOND, false));
    sbx_family_give_seat((uint32_t)getpid());
    for (uint32_t i = 0; i < 99; i++) {
        assert_false(
            sbx_family_take_seat(self + i, now_ns + SECOND / 2, 60 * SECOND, false)); /* the busiest process is next */
    }
    assert_true(sbx_family_take_seat(busy, now_ns + SECOND / 2, 90 * SECOND, false));
}

static bool is_member(pid_t pid)
{
    uint32_t members[1 + SBX_FAMILY_SEATS];
    uint32_t count = sbx_family_members(members, 1 + SBX_FAMILY_SEATS);
    bool is_one = false;
    for (uint32_t i = 0; i < count; i++) {
        is_one |= members[i] == (uint32_t)pid;
    }
    return is_one;
}

static void test_a_seat_is_wanted_while_somebody_asks_who_has_worked_longer_and_none_is_free(void **state)
{
    (void)state;
    uint64_t now_ns = 4500 * SECOND;
    assert_false(sbx_family_is_crowded());
    fill_seats(&now_ns);
    assert_true(sbx_family_is_crowded());
    assert_false(sbx_family_wants_seat((uint32_t)getpid(), now_ns, 0)); /* nobody asks for a seat */
    assert_false(sbx_family_take_seat(self, now_ns, 2 * SECOND, false));
    assert_true(sbx_family_wants_seat((uint32_t)getpid(), now_ns, SECOND));
    assert_false(sbx_family_wants_seat((uint32_t)getpid(), now_ns, 2 * SECOND));
    assert_false(sbx_family_wants_seat(self, now_ns, 0));                            /* self is the one that asks */
    assert_false(sbx_family_wants_seat((uint32_t)getpid(), now_ns + 4 * SECOND, 0)); /* its request has expired */
    assert_false(sbx_family_take_seat(self, now_ns + 5 * SECOND, 2 * SECOND, false));
    sbx_family_give_seat((uint32_t)getpid());
    assert_false(sbx_family_wants_seat((uint32_t)getpid(), now_ns + 5 * SECOND, 0)); /* there are free seats */
}

/* Take a seat for our parent among the seats of this process. This process is the first member in any case. */
static void sit_among_others(uint64_t *now_ns)
{
    for (uint32_t taken = 0; taken < SBX_FAMILY_SEATS; taken++) {
        *now_ns += SECOND / 10;
        assert_true(sbx_family_take_seat((uint32_t)(taken == 9 ? getppid() : getpid()), *now_ns, 0, false));
    }
    *now_ns += SECOND;
}

static void test_a_seat_that_is_passed_on_is_free_and_its_owner_is_no_recorded_one(void **state)
{
    (void)state;
    uint64_t now_ns = 4600 * SECOND;
    sit_among_others(&now_ns);
    assert_true(is_member(getppid()));
    assert_true(sbx_family_pass_seat_on((uint32_t)getppid()));
    assert_false(is_member(getppid()));
    assert_true(sbx_family_take_seat((uint32_t)getpid(), now_ns, SECOND, false));
    assert_false(sbx_family_take_seat((uint32_t)getppid(), now_ns, SECOND, false)); /* all seats are taken */
    sbx_family_give_seat((uint32_t)getpid());
    assert_true(sbx_family_take_seat((uint32_t)getppid(), now_ns, SECOND, false));
    assert_true(is_member(getppid()));
}

static void test_no_more_pass_their_seat_on_than_may_be_without_one(void **state)
{
    (void)state;
    uint64_t now_ns = 4700 * SECOND;
    sit_among_others(&now_ns);
    for (uint32_t i = 0; i < SBX_FAMILY_SEATLESS; i++) {
        assert_true(sbx_family_pass_seat_on(self + i));
    }
    assert_false(sbx_family_pass_seat_on((uint32_t)getppid()));
    assert_true(is_member(getppid())); /* it keeps its seat */
    sbx_family_give_seat(self + 3);    /* one of the processes has ended */
    assert_true(sbx_family_pass_seat_on((uint32_t)getppid()));
    assert_false(is_member(getppid()));
}

static void test_fewer_seats_can_be_ordered(void **state)
{
    (void)state;
    sbx_family_allow_seats(2);
    assert_true(sbx_family_take_seat((uint32_t)getpid(), 4800 * SECOND, 0, false));
    assert_true(sbx_family_is_crowded());
    assert_true(sbx_family_take_seat((uint32_t)getpid(), 4800 * SECOND, 0, false));
    assert_false(sbx_family_take_seat(self, 4800 * SECOND, 0, false));
    sbx_family_allow_seats(SBX_FAMILY_SEATS);
    assert_true(sbx_family_take_seat(self, 4804 * SECOND, 0, false));
}

/* A child that takes the last seat and ends; it is a zombie when this returns. */
static pid_t leave_a_seat_behind(uint64_t now_ns)
{
    siginfo_t end;
    pid_t pid = fork();
    if (pid == 0) {
        bool has_seat = sbx_family_take_seat((uint32_t)getpid(), now_ns, 0, false);
        sbx_family_date_seat((uint32_t)getpid());
        _exit(!has_seat);
    }
    assert_int_equal(waitid(P_PID, (id_t)pid, &end, WEXITED | WNOWAIT), 0);
    assert_int_equal(end.si_status, 0);
    return pid;
}

static void fill_all_seats_but_one(uint64_t *now_ns)
{
    for (uint32_t taken = 0; taken < SBX_FAMILY_SEATS - 1; taken++) {
        *now_ns += SECOND / 10;
        assert_true(sbx_family_take_seat((uint32_t)getpid(), *now_ns, 0, false));
    }
    *now_ns += SECOND;
}

static void test_who_has_ended_keeps_no_seat_though_nobody_has_waited_for_it(void **state)
{
    (void)state;
    uint64_t now_ns = 5000 * SECOND;
    fill_all_seats_but_one(&now_ns);
    pid_t zombie = leave_a_seat_behind(now_ns);
    assert_false(is_member(zombie));
    assert_true(is_member(getpid()));
    assert_true(sbx_family_take_seat(self, now_ns + 2 * SECOND, 0, false));
    assert_int_equal(waitpid(zombie, NULL, 0), zombie);
}

/* A child with that process id, which only waits to be killed; 0: the kernel does not allow it. */
static pid_t take_number(pid_t wanted)
{
    struct clone_args arguments = {.exit_signal = SIGCHLD, .set_tid = (uint64_t)(uintptr_t)&wanted, .set_tid_size = 1};
    long pid = syscall(SYS_clone3, &arguments, sizeof arguments);
    while (pid == 0) {
        (void)syscall(SYS_ppoll, NULL, 0, NULL, NULL, 0);
    }
    return pid > 0 ? (pid_t)pid : 0;
}

static void test_another_process_with_the_number_of_one_that_ended_keeps_no_seat(void **state)
{
    (void)state;
    const struct timespec ticks = {0, 50000000}; /* the kernel reports start times in 1/100 s */
    uint64_t now_ns = 6000 * SECOND;
    fill_all_seats_but_one(&now_ns);
    pid_t first = leave_a_seat_behind(now_ns);
    assert_int_equal(waitpid(first, NULL, 0), first);
    nanosleep(&ticks, NULL);
    pid_t other = take_number(first);
    if (other == 0) { /* no right to choose an id, or the id is in use */
        skip();
    }
    bool is_one = is_member(other);
    bool has_given_way = sbx_family_take_seat(self, now_ns + 2 * SECOND, 0, false);
    kill(other, SIGKILL);
    assert_int_equal(waitpid(other, NULL, 0), other);
    assert_false(is_one);
    assert_true(has_given_way);
}

static void test_children_are_put_off_once_the_starts_that_are_lent_are_used_up(void **state)
{
    const uint32_t budget = 50, few = 3;
    uint64_t now_ns = 7000 * SECOND;
    (void)state;
    sbx_family_lend_starts(few);
    for (uint32_t i = 0; i < few; i++) {
        assert_true(sbx_family_put_off_ns(now_ns, budget) == 0);
        sbx_family_charge_start(now_ns, budget);
    }
    assert_true(sbx_family_put_off_ns(now_ns, budget) >= SECOND / 10);
    assert_true(sbx_family_put_off_ns(now_ns, 0) == 0); /* without a budget there is no limit */
    sbx_family_refund_start();
    assert_true(sbx_family_put_off_ns(now_ns, budget) == 0);
    sbx_family_charge_start(now_ns, budget);
    sbx_family_tell_work(2000); /* two processors pay 10 ms a second */
    assert_true(sbx_family_put_off_ns(now_ns + SECOND / 2, budget) == 0);
    sbx_family_tell_work(0);
    sbx_family_lend_starts(SBX_STARTS_AHEAD);
}

static void test_children_make_four_snapshots_a_minute(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < SBX_FAMILY_SNAPSHOTS_A_MINUTE; i++) {
        assert_true(sbx_family_may_tell(self, 600 * SECOND + i));
    }
    assert_false(sbx_family_may_tell(self, 659 * SECOND));
    assert_true(sbx_family_may_tell(self, 660 * SECOND));
}

static void test_a_child_that_others_wait_for_makes_one_more(void **state)
{
    (void)state;
    const uint32_t holder = self + 1, earlier = self + 2;
    sbx_family_name_holder(earlier, 1200 * SECOND);
    sbx_family_name_holder(holder, 1219 * SECOND);
    for (uint32_t i = 0; i < SBX_FAMILY_SNAPSHOTS_A_MINUTE; i++) {
        assert_true(sbx_family_may_tell(self, 1220 * SECOND));
    }
    assert_false(sbx_family_may_tell(self, 1220 * SECOND));
    assert_false(sbx_family_may_tell(earlier, 1220 * SECOND)); /* nobody waits for this stall any more */
    assert_true(sbx_family_may_tell(holder, 1220 * SECOND));
    assert_false(sbx_family_may_tell(holder, 1220 * SECOND));
    for (uint32_t i = 0; i < 100; i++) { /* more stalls than are remembered */
        sbx_family_name_holder(self + 10 + i, 1280 * SECOND + i);
    }
    for (uint32_t i = 0; i < SBX_FAMILY_SNAPSHOTS_A_MINUTE; i++) {
        assert_true(sbx_family_may_tell(self, 1281 * SECOND));
    }
    assert_true(sbx_family_may_tell(self + 109, 1281 * SECOND));
}

static void test_who_stalled_meanwhile_is_counted_once_and_who_did_before_is_not(void **state)
{
    (void)state;
    assert_int_equal(note_stall(11, 10, 20), 0);
    assert_int_equal(note_stall(12, 15, 30), 1);
    assert_int_equal(note_stall(12, 31, 40), 0);
    assert_int_equal(note_stall(13, 18, 35), 2); /* process 11, and process 12 only once */
    assert_int_equal(note_stall(14, 100, 110), 0);
}

static void test_stalls_that_overlap_have_a_moment_in_common(void **state)
{
    (void)state;
    uint64_t first = 71, second = 72, third = 73, later = 74;
    (void)sbx_family_note_stall(31, 10000, 20000, &first);
    (void)sbx_family_note_stall(32, 15000, 30000, &second);
    (void)sbx_family_note_stall(33, 25000, 35000, &third); /* joined through the second */
    (void)sbx_family_note_stall(31, 40000, 50000, &later);
    assert_int_equal(first, 71);
    assert_int_equal(second, 71);
    assert_int_equal(third, 71);
    assert_int_equal(later, 74);
}

static void test_a_child_shares_the_page_and_more_stalls_than_it_holds_are_borne(void **state)
{
    int status = 1;
    (void)state;
    pid_t pid = fork();
    if (pid == 0) {
        for (uint32_t i = 0; i < 200; i++) {
            (void)note_stall(5000 + i, 1000, 2000);
        }
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(note_stall(9, 1500, 1600), 64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_a_family_is_called_by_its_first_process, found),
        cmocka_unit_test_setup(test_so_many_begin_in_a_second_and_no_more, found),
        cmocka_unit_test_setup(test_so_many_threads_sleep_for_children_that_are_put_off_and_no_more, found),
        cmocka_unit_test_setup(test_who_gives_up_its_rights_takes_nobodys_turn, found),
        cmocka_unit_test_setup(test_seats_of_the_living_stay_taken_and_those_of_the_dead_are_given_on, found),
        cmocka_unit_test_setup(test_a_seat_that_becomes_free_goes_to_who_has_worked_longest, found),
        cmocka_unit_test_setup(test_who_asks_no_more_keeps_nobody_from_a_seat, found),
        cmocka_unit_test_setup(test_more_wish_for_a_seat_than_are_remembered_and_the_busiest_is, found),
        cmocka_unit_test_setup(test_the_busiest_gets_a_seat_though_a_hundred_asked_in_vain_before, found),
        cmocka_unit_test_setup(test_a_seat_is_wanted_while_somebody_asks_who_has_worked_longer_and_none_is_free, found),
        cmocka_unit_test_setup(test_a_seat_that_is_passed_on_is_free_and_its_owner_is_no_recorded_one, found),
        cmocka_unit_test_setup(test_no_more_pass_their_seat_on_than_may_be_without_one, found),
        cmocka_unit_test_setup(test_fewer_seats_can_be_ordered, found),
        cmocka_unit_test_setup(test_who_has_ended_keeps_no_seat_though_nobody_has_waited_for_it, found),
        cmocka_unit_test_setup(test_another_process_with_the_number_of_one_that_ended_keeps_no_seat, found),
        cmocka_unit_test_setup(test_children_are_put_off_once_the_starts_that_are_lent_are_used_up, found),
        cmocka_unit_test_setup(test_children_make_four_snapshots_a_minute, found),
        cmocka_unit_test_setup(test_a_child_that_others_wait_for_makes_one_more, found),
        cmocka_unit_test_setup(test_who_stalled_meanwhile_is_counted_once_and_who_did_before_is_not, found),
        cmocka_unit_test_setup(test_stalls_that_overlap_have_a_moment_in_common, found),
        cmocka_unit_test_setup(test_a_child_shares_the_page_and_more_stalls_than_it_holds_are_borne, found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
