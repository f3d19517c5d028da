/* SPDX-License-Identifier: Apache-2.0 */
/* test_loop_turn.c - turn or wait: every case as a line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "loop_turn.h"

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])
#define FDS(mask)                     \
    {                                 \
        .fds = (mask), .epoll_fd = -1 \
    }
#define EPOLL(fd)                                    \
    {                                                \
        .fds = UINT64_C(1) << (fd), .epoll_fd = (fd) \
    }

enum {
    WAKE_UP = 1 << 3,
    DISPLAY = 1 << 5,
    TIMER = 1 << 6,
    REPLY = 1 << 9
};

static const struct {
    const char *what;
    struct sbx_poll_facts facts; /* polled, always, ready, same machinery, inside, awaits a key */
    enum sbx_poll_role role;
} cases[] = {
    {"gtk_dialog_run()", {FDS(WAKE_UP | DISPLAY), FDS(WAKE_UP | DISPLAY), 0, true, true, false}, SBX_POLL_IS_TURN},
    {"a dialog that looks at more than the loop does",
     {FDS(WAKE_UP | DISPLAY | TIMER), FDS(WAKE_UP | DISPLAY), 0, true, true, false},
     SBX_POLL_IS_TURN},
    {"a source that is being handled and cannot recurse is left out",
     {FDS(WAKE_UP | DISPLAY), FDS(WAKE_UP | DISPLAY | TIMER), TIMER, true, true, false},
     SBX_POLL_IS_TURN},
    {"a source is left out that is not being handled",
     {FDS(WAKE_UP), FDS(WAKE_UP | DISPLAY), TIMER, true, true, false},
     SBX_POLL_IS_WAIT},
    {"a context of its own, run for one reply",
     {FDS(REPLY), FDS(WAKE_UP | DISPLAY), 0, true, true, false},
     SBX_POLL_IS_WAIT},
    {"all was ready, and something else is polled",
     {FDS(REPLY), FDS(WAKE_UP), WAKE_UP, true, true, false},
     SBX_POLL_IS_WAIT},
    {"all was ready, and is polled again", {FDS(WAKE_UP), FDS(WAKE_UP), WAKE_UP, true, true, false}, SBX_POLL_IS_TURN},
    {"a reply of the display, by other functions",
     {FDS(DISPLAY), FDS(WAKE_UP | DISPLAY), 0, false, true, false},
     SBX_POLL_IS_WAIT},
    {"a reply of the only descriptor, by other functions",
     {FDS(DISPLAY), FDS(DISPLAY), 0, false, true, false},
     SBX_POLL_IS_WAIT},
    {"another function that looks at all of it",
     {FDS(WAKE_UP | DISPLAY), FDS(WAKE_UP | DISPLAY), 0, false, true, false},
     SBX_POLL_IS_TURN},
    {"uv_run() of the same loop", {EPOLL(7), EPOLL(7), 0, true, true, false}, SBX_POLL_IS_TURN},
    {"uv_run() of a loop of its own", {EPOLL(8), EPOLL(7), 0, true, true, false}, SBX_POLL_IS_WAIT},
    {"the same epoll set, by another function", {EPOLL(7), EPOLL(7), 0, false, true, false}, SBX_POLL_IS_TURN},
    {"one descriptor, in a loop over epoll", {FDS(REPLY), EPOLL(7), 0, false, true, false}, SBX_POLL_IS_WAIT},
    {"an epoll set, in a loop over poll", {EPOLL(7), FDS(1 << 7), 0, true, true, false}, SBX_POLL_IS_WAIT},
    {"a sleep by the loop's function, which never had a descriptor",
     {FDS(0), FDS(0), 0, true, true, false},
     SBX_POLL_IS_WAIT},
    {"a key is awaited", {FDS(1), FDS(WAKE_UP | 1), 0, false, true, true}, SBX_POLL_IS_TURN},
    {"a key is awaited, and the loop is gone", {FDS(1), FDS(WAKE_UP), 0, false, false, true}, SBX_POLL_IS_UNKNOWN},
    {"something else is polled, and the loop may be gone",
     {FDS(REPLY), FDS(WAKE_UP), 0, false, false, false},
     SBX_POLL_IS_UNKNOWN},
    {"the same loop, run again", {FDS(WAKE_UP), FDS(WAKE_UP), 0, true, false, false}, SBX_POLL_IS_TURN},
};

static void test_what_is_polled_and_where_from_tells_a_turn_from_a_wait(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        if (sbx_poll_role(&cases[i].facts) != cases[i].role) {
            fail_msg("%s", cases[i].what);
        }
    }
}

static void test_the_place_that_waits_longer_is_the_loop(void **state)
{
    (void)state;
    struct sbx_poll_place loop = {.key = 1, .waited_ns = 900, .passes = 10},
                          reply = {.key = 2, .waited_ns = 300, .passes = 10};
    assert_true(sbx_place_is_inner(&reply, &loop));
    assert_false(sbx_place_is_inner(&loop, &reply));
    reply.waited_ns = 301; /* not clear: both places count as turns */
    assert_false(sbx_place_is_inner(&reply, &loop));
    assert_false(sbx_place_is_inner(&loop, &reply));
}

static void test_a_few_passes_tell_nothing_of_two_places(void **state)
{
    (void)state;
    struct sbx_poll_place loop = {.key = 1, .waited_ns = 900, .passes = 10},
                          reply = {.key = 2, .waited_ns = 3, .passes = 3};
    assert_false(sbx_place_is_inner(&reply, &loop));
    reply.passes = 10;
    loop.passes = 3;
    assert_false(sbx_place_is_inner(&reply, &loop));
    loop = (struct sbx_poll_place){.key = 1, .passes = 10}; /* neither place ever waited */
    reply.waited_ns = 0;
    assert_false(sbx_place_is_inner(&reply, &loop));
}

/* Milliseconds: waited in polls, paused; messages, and those with a pause; whether the pauses are the program's own
 * pace. */
static const struct {
    const char *what;
    uint64_t waited, paused;
    uint32_t messages, with_pause;
    bool naps, is_own;
} paces[] = {
    {"watch polls to look, and sleeps in each turn", 0, 60000, 60, 60, false, true},
    {"xargs polls at its start, and waits for children", 0, 5000, 3, 1, false, true},
    {"a shell waits for input once, and then for a child", 6000, 5000, 1, 1, false, true},
    {"a shell waits for input and for children in turns", 20000, 30000, 10, 9, false, true},
    {"a server sleeps once", 1000, 5000, 10, 1, false, false},
    {"a server sleeps in every message, and waits for work for longer", 10000, 4000, 100, 100, false, false},
    {"a server waits for work, and computes", 1000, 0, 3, 0, false, false},
    {"a loop that never waits, and computes", 0, 0, 100, 0, false, false},
    {"a server naps in every message, and waits for work", 1000, 1200, 100, 1, true, false},
    {"what polled twice as it began, and naps", 1, 0, 1, 0, true, true},
};

static void test_what_sleeps_and_waits_for_children_as_its_work_has_no_messages(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(paces); i++) {
        struct sbx_pace pace = {.waited_ns = paces[i].waited * 1000000,
                                .paused_ns = paces[i].paused * 1000000,
                                .messages = paces[i].messages,
                                .paused = paces[i].with_pause,
                                .pauses = paces[i].with_pause != 0 || paces[i].naps};
        if (sbx_pace_is_its_own(&pace) != paces[i].is_own) {
            fail_msg("%s", paces[i].what);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_polled_and_where_from_tells_a_turn_from_a_wait),
        cmocka_unit_test(test_the_place_that_waits_longer_is_the_loop),
        cmocka_unit_test(test_a_few_passes_tell_nothing_of_two_places),
        cmocka_unit_test(test_what_sleeps_and_waits_for_children_as_its_work_has_no_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
