/* SPDX-License-Identifier: Apache-2.0 */
/* test_plain_turn.c - a plain turn, in which nothing can be learned, leaves the same state behind as any other turn.
 * The test is a loop's thread; its poll calls are simulated. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <time.h>

#include "attached_recording.h"
#include "loop_call.h"
#include "message_loop.h"
#include "prompt_call.h"
#include "the_capture.h"
#include "thread_clock.h"
#include "thread_end.h"

enum {
    TURNS = 300,
    TRIES = 50,
    SET = 7,
};
#define SITE_PC UINT64_C(0x1000)
#define SITE_SP UINT64_C(0x7000)

static struct sbx_thread *self;

static int attach(void **state)
{
    (void)state;
    sbx_capture_say_calls_are_safe(true); /* timer signals are made outside of calls, for this test */
    sbx_clock_start();
    for (int i = 0; i < 1000 && sbx_clock_calibrate() == SBX_CLOCK_KERNEL; i++) {
        const struct timespec moment = {0, 1000000};
        nanosleep(&moment, NULL);
    }
    if (attached_recording_begin_here(&sbx_thread_end, &self) != 0) {
        return -1;
    }
    self->has_loop = true;
    return 0;
}

/* Does what a hook of epoll_wait() does. Returns whether both the begin and the end took the plain way. */
static bool poll_once(int set, uint64_t pc)
{
    struct sbx_blocking call;
    const struct sbx_polled polled = {.count = (uint32_t)set, .form = SBX_POLLED_EPOLL, .waits = true};
    bool is_turn = sbx_turn_begins(&call, SBX_OP_EPOLL_WAIT, pc, SITE_SP);
    if (!is_turn) {
        sbx_poll_begin(&call, SBX_OP_EPOLL_WAIT, pc, SITE_SP, &polled);
    }
    assert_int_equal(self->entry->call_kind, SBX_RECORD_IDLE);
    assert_int_equal(self->entry->call_op, SBX_OP_EPOLL_WAIT);
    assert_int_equal(self->entry->message_begin_ns, 0);
    assert_int_equal(self->call_depth, 1);
    bool has_ended = is_turn && sbx_turn_end(&call, set);
    if (!has_ended) {
        sbx_poll_end(&call, &polled, false, -1);
    }
    assert_int_equal(self->entry->call_kind, SBX_RECORD_NONE);
    assert_int_equal(self->call_depth, 0);
    self->loop.is_unclear = false; /* no code here could be walked */
    return has_ended;
}

static int begin_anew(void **state)
{
    (void)state;
    if (sbx_clock_source() == SBX_CLOCK_KERNEL) {
        return 0;
    }
    for (int i = 0; i < 5; i++) {
        poll_once(SET, SITE_PC);
    }
    return 0;
}

#define SKIP_WITHOUT_A_COUNTER()                               \
    do {                                                       \
        if (sbx_clock_source() == SBX_CLOCK_KERNEL) {          \
            skip(); /* no clock can be read in passing then */ \
        }                                                      \
    } while (0)

static uint32_t passes(void)
{
    sbx_loop_count_turns(&self->loop);
    return self->loop.places[self->loop.place].passes;
}

static void test_each_turn_is_a_message_a_pass_and_part_of_what_is_merged(void **state)
{
    (void)state;
    SKIP_WITHOUT_A_COUNTER();
    uint64_t messages = self->entry->message;
    uint32_t hits = self->loop.hits, before = passes(), plain = 0;
    for (int i = 0; i < TURNS; i++) {
        uint32_t merged = self->loop.merged.count;
        uint64_t begun_ns = self->entry->message_begin_ns;
        if (poll_once(SET, SITE_PC)) {
            plain++;
            assert_int_equal(self->loop.merged.count, merged + 1);
            assert_int_equal(self->loop.merged.message, self->entry->message - 1);
            assert_true(self->loop.merged.end_ns >= begun_ns);
        }
        assert_true(self->entry->message_begin_ns >= begun_ns && begun_ns != 0);
    }
    assert_true(plain > TURNS / 2); /* except turns in which the test was paused */
    assert_int_equal(self->entry->message - messages, TURNS);
    assert_int_equal(self->loop.hits - hits, TURNS);
    assert_int_equal(passes() - before, TURNS);
}

static void test_a_poll_of_another_set_is_no_plain_turn_in_the_end(void **state)
{
    (void)state;
    SKIP_WITHOUT_A_COUNTER();
    uint64_t messages = self->entry->message;
    assert_false(poll_once(SET + 1, SITE_PC));
    assert_int_equal(self->entry->message - messages, 1);
    assert_int_equal(self->loop.places[self->loop.place].always.epoll_fd, -1); /* it has polled two sets by now */
}

static void test_what_a_sample_or_a_rest_found_is_learned_when_the_place_is_met(void **state)
{
    (void)state;
    SKIP_WITHOUT_A_COUNTER();
    self->loop.poller_gone_in = self->entry->message;
    self->loop.is_plain = false; /* as the finder of that does */
    assert_false(poll_once(SET, SITE_PC));
    assert_true(self->loop.poller_returns);
    self->loop.poller_gone_in = 0;
    self->loop.poller_returns = false;
}

static void test_a_message_that_has_a_name_is_not_plain(void **state)
{
    (void)state;
    SKIP_WITHOUT_A_COUNTER();
    sbx_message_enter(3);
    assert_false(sbx_loop_is_plain(&self->loop));
    sbx_message_leave();
    self->loop.kind = 0;
}

static bool poll_while(enum sbx_unusual what)
{
    sbx_capture_say_unusual(what, true);
    bool is_plain = poll_once(SET, SITE_PC);
    sbx_capture_say_unusual(what, false);
    return is_plain;
}

static void test_while_something_is_unusual_no_turn_is_plain(void **state)
{
    (void)state;
    SKIP_WITHOUT_A_COUNTER();
    assert_false(poll_while(SBX_UNUSUAL_SEATS));
    begin_anew(NULL);
    assert_false(poll_while(SBX_UNUSUAL_SIGNALS));
}

/* By a prompt call; of no descriptor that this process has. */
static void read_from_client(void)
{
    sbx_prompt_read_end(self, 1023, 1, SBX_OP_READ, SBX_GROUP_FILE);
}

/* Reads from a client in a turn that is not plain, and in the next one. Returns whether that one was plain. */
static bool read_in_two_turns(void)
{
    struct sbx_poll_place *place = &self->loop.places[self->loop.place];
    poll_while(SBX_UNUSUAL_SEATS);
    assert_false(self->loop.leads_to_clients);
    place->is_clients = false;
    read_from_client();
    assert_int_equal(self->loop.question_in, self->entry->message);
    assert_true(place->is_clients);
    place->is_clients = false;
    bool is_plain = poll_once(SET, SITE_PC);
    assert_int_not_equal(self->loop.question_in, self->entry->message);
    read_from_client();
    assert_int_equal(self->loop.question_in, self->entry->message);
    assert_true(place->is_clients != is_plain); /* in a plain turn the read has nothing to learn */
    return is_plain;
}

static void test_a_question_is_noted_and_only_the_first_one_teaches_where_the_loop_leads(void **state)
{
    (void)state;
    SKIP_WITHOUT_A_COUNTER();
    int plain = 0;
    for (int i = 0; i < TRIES && plain < 2; i++) { /* a turn in which the test was paused is not */
        plain += read_in_two_turns();
    }
    assert_int_equal(plain, 2);
}

static void test_calls_that_cannot_wait_are_counted_as_such(void **state)
{
    (void)state;
    SKIP_WITHOUT_A_COUNTER();
    const struct sbx_thread_cost *cost = &self->cost;
    self->entry->countdown = self->counted_from = 0; /* the next call ends the count, and so all before are charged */
    sbx_leaf(self, SBX_RECORD_LEAF, SBX_OP_READ, SBX_GROUP_FILE);
    uint32_t passes = cost->group[SBX_GROUP_FILE].passes, prompt = cost->group[SBX_GROUP_FILE].prompt;
    self->entry->countdown = self->counted_from = 9;
    for (int i = 0; i < 10; i++) {
        (void)sbx_thread_clock_watch(&self->clock); /* as before the call; without rseq each one may have waited */
        sbx_prompt_end(self, 1023, SBX_OP_READ, SBX_GROUP_FILE);
    }
    assert_int_equal(cost->group[SBX_GROUP_FILE].passes - passes, 10);
    assert_int_equal(cost->group[SBX_GROUP_FILE].prompt - prompt, 10);
    self->entry->countdown = self->counted_from = 0;
    sbx_leaf(self, SBX_RECORD_LEAF, SBX_OP_READ, SBX_GROUP_FILE);
    assert_int_equal(cost->group[SBX_GROUP_FILE].prompt - prompt, 10);
    assert_int_equal(cost->group[SBX_GROUP_FILE].passes - passes, 11);
}

static void test_an_answer_within_a_millisecond_is_in_time_and_a_later_one_is_judged(void **state)
{
    (void)state;
    SKIP_WITHOUT_A_COUNTER();
    struct sbx_capture_settings *settings = &sbx_the_capture.control->in_force;
    uint32_t limit_ms = settings->slow_message_ms;
    const struct {
        uint64_t since_ns;
        uint32_t limit_ms;
        bool is_in_time;
    } cases[] = {
        {100000, 0, true}, /* 0: with no limit only the first millisecond is in time */
        {2000000, 0, false},
        {2000000, 10, true},
        {20000000, 10, false},
    };
    for (size_t i = 0; i < SBX_COUNT_OF(cases); i++) {
        bool is_in_time = false;
        settings->slow_message_ms = cases[i].limit_ms;
        for (int tries = 0; tries < TRIES && !is_in_time; tries++) {
            poll_once(SET, SITE_PC);
            read_from_client();
            self->entry->message_begin_ns = sbx_now_ns() - cases[i].since_ns;
            sbx_prompt_write_begin(self);
            is_in_time = self->loop.question_in == 0;
        }
        assert_int_equal(is_in_time, cases[i].is_in_time);
    }
    settings->slow_message_ms = limit_ms;
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup(test, begin_anew)
    const struct CMUnitTest tests[] = {
        CASE(test_each_turn_is_a_message_a_pass_and_part_of_what_is_merged),
        CASE(test_what_a_sample_or_a_rest_found_is_learned_when_the_place_is_met),
        CASE(test_a_message_that_has_a_name_is_not_plain),
        CASE(test_while_something_is_unusual_no_turn_is_plain),
        CASE(test_a_question_is_noted_and_only_the_first_one_teaches_where_the_loop_leads),
        CASE(test_calls_that_cannot_wait_are_counted_as_such),
        CASE(test_an_answer_within_a_millisecond_is_in_time_and_a_later_one_is_judged),
        CASE(test_a_poll_of_another_set_is_no_plain_turn_in_the_end),
    };
    return cmocka_run_group_tests(tests, attach, attached_recording_end);
}
