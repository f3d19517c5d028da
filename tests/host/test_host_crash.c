/* SPDX-License-Identifier: Apache-2.0 */
/* test_host_crash.c - hosts that crash while they start, and hosts that set handlers of their own at that time. */
#include "control_group.h"
#include "host_case.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    TEXT_BYTES = 32768,
    OWN_WORD = 42 /* exit status of the host's own handler */
};

static volatile int *volatile nowhere;

__attribute__((noinline)) void breaks_at_once(void);
__attribute__((noinline)) void breaks_at_once(void)
{
    *nowhere = 1;
    __asm__ volatile("");
}

/* ---- hosts ---- */

/* Crashes before the first second of the program is over. */
static void crashes_after_a_few_messages(void)
{
    host_loop(5, NULL);
    breaks_at_once();
}

static void crashes_before_its_first_message(void)
{
    breaks_at_once();
}

static void ends_with_its_own_word(int number)
{
    (void)number;
    _exit(OWN_WORD);
}

/* CRuby sets its handler, and restores the earlier one if there was one. */
static void leaves_a_handler_that_it_finds(void)
{
    void (*was)(int) = signal(SIGSEGV, ends_with_its_own_word);
    if (was != SIG_DFL) {
        signal(SIGSEGV, was);
    }
    breaks_at_once();
}

static void looks_before_it_puts_in_its_own(void)
{
    struct sigaction was, own = {.sa_handler = ends_with_its_own_word};
    host_expect(sigaction(SIGSEGV, NULL, &was) == 0, "sigaction works");
    host_expect(was.sa_handler == SIG_DFL && (was.sa_flags & SA_SIGINFO) == 0, "nobody has a handler for SIGSEGV");
    host_expect(sigaction(SIGBUS, &own, &was) == 0 && was.sa_handler == SIG_DFL, "nor for SIGBUS");
    host_expect(sigaction(SIGSEGV, &own, NULL) == 0, "its own goes in");
    breaks_at_once();
}

static void takes_its_handler_out_again(void)
{
    signal(SIGSEGV, ends_with_its_own_word);
    signal(SIGSEGV, SIG_DFL);
    host_pause_ms(2500); /* by then the recorder may have set its own again */
    host_loop(5, NULL);
    breaks_at_once();
}

static void takes_more_memory_than_there_is(void)
{
    host_loop(30, NULL);
    for (;;) {
        enum {
            PIECE = 1 << 20
        };
        char *volatile memory = malloc(PIECE);
        host_expect(memory != NULL, "the kernel promises memory");
        memset(memory, 1, PIECE);
    }
}

#ifdef HOST_DIES
static void becomes_a_program_that_dies(void)
{
    execl(HOST_DIES, "host_dies", getenv("HOST_DIES_OF"), (char *)NULL);
    host_expect(false, "the program that dies is there");
}
#endif

static void kills_itself(void)
{
    host_loop(30, NULL);
    raise(SIGKILL);
}

/* ---- judges ---- */

static struct control_group group; /* for the companion and its program */

static bool enter_group(void)
{
    return control_group_enter(&group, getpid());
}

static int run(const char *body)
{
    return host_run(&(struct host_order){.body = body, .has_companion = true});
}

enum {
    TRIES = 8
};

/* On a busy machine not all hooks may be installed yet, and the handler waits for them. One of a few tries must
 * succeed. */
static void expect_the_faulting_stack(void **state, const char *body, int tries)
{
    static char text[TEXT_BYTES];
    for (int i = 0; i < tries; i++) {
        int status = run(body);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
        host_report(text, sizeof text);
        if (strstr(text, "died by SIGSEGV in breaks_at_once: no memory at the address") != NULL) {
            return;
        }
        host_tear_down(state);
        host_set_up(state);
    }
    fail_msg("%s: %.3000s", body, text);
}

static void test_a_crash_in_the_first_second_has_its_stack(void **state)
{
    expect_the_faulting_stack(state, "crashes_after_a_few_messages", TRIES);
}

static void test_a_crash_before_the_first_message_has_its_stack(void **state)
{
    expect_the_faulting_stack(state, "crashes_before_its_first_message", TRIES);
}

static void test_a_host_that_asks_while_it_starts_finds_no_handler(void **state)
{
    (void)state;
    int status = run("looks_before_it_puts_in_its_own");
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == OWN_WORD);
    status = run("leaves_a_handler_that_it_finds");
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == OWN_WORD);
    assert_int_equal(host_count_snapshots(), 0);
}

static void test_a_host_that_gives_the_signal_back_while_it_starts_is_recorded_later(void **state)
{
    expect_the_faulting_stack(state, "takes_its_handler_out_again", TRIES);
}

static void test_a_kill_for_want_of_memory_is_told_as_such_and_another_kill_is_not(void **state)
{
    static char text[TEXT_BYTES];
    (void)state;
    control_group_make_with_memory("100663296", &group);
    int status =
        host_run(&(struct host_order){.body = "kills_itself", .before_exec = enter_group, .has_companion = true});
    int other = host_count_snapshots();
    int last = host_run(&(struct host_order){
        .body = "takes_more_memory_than_there_is", .before_exec = enter_group, .has_companion = true});
    control_group_remove(&group);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_int_equal(other, 0);
    assert_true(WIFSIGNALED(last) && WTERMSIG(last) == SIGKILL);
    host_report(text, sizeof text);
    if (strstr(text, "the kernel killed the process because its control group or the machine had no memory left") ==
        NULL) {
        fail_msg("%.3000s", text);
    }
}

#ifdef HOST_DIES
/* Uses the installed glibc, libstdc++ and kernel, because the report identifies causes of death by the names of their
 * functions. */
static void test_what_a_program_died_of_is_told_where_its_stack_tells(void **state)
{
    static char text[TEXT_BYTES];
    static const struct {
        const char *of;
        int number;
        const char *told[2];
    } deaths[] = {
        {"assertion", SIGABRT, {"died by SIGABRT in dies_here", "an assertion failed"}},
        {"exception", SIGABRT, {"died by SIGABRT in dies_here", "std::out_of_range"}},
        {"thread", SIGABRT, {"died by SIGABRT in dies_here", "neither joined nor detached"}},
        {"overflow", SIGSEGV, {"died by SIGSEGV in", "its stack overflowed"}},
    };
    for (size_t i = 0; i < sizeof deaths / sizeof deaths[0]; i++) {
        setenv("HOST_DIES_OF", deaths[i].of, 1);
        int status = run("becomes_a_program_that_dies");
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == deaths[i].number);
        host_report(text, sizeof text);
        for (int k = 0; k < 2; k++) {
            if (strstr(text, deaths[i].told[k]) == NULL || strstr(text, "cause        crash") == NULL) {
                fail_msg("%s: %.3000s", deaths[i].of, text);
            }
        }
        host_tear_down(state);
        host_set_up(state);
    }
}
#endif

int main(int argc, char **argv)
{
    static const struct host_body bodies[] = {
        HOST_BODY(crashes_after_a_few_messages),
        HOST_BODY(crashes_before_its_first_message),
        HOST_BODY(leaves_a_handler_that_it_finds),
        HOST_BODY(looks_before_it_puts_in_its_own),
        HOST_BODY(takes_its_handler_out_again),
        HOST_BODY(takes_more_memory_than_there_is),
        HOST_BODY(kills_itself),
#ifdef HOST_DIES
        HOST_BODY(becomes_a_program_that_dies),
#endif
    };
    const struct CMUnitTest tests[] = {
        HOST_TEST(test_a_crash_in_the_first_second_has_its_stack),
        HOST_TEST(test_a_crash_before_the_first_message_has_its_stack),
        HOST_TEST(test_a_host_that_asks_while_it_starts_finds_no_handler),
        HOST_TEST(test_a_host_that_gives_the_signal_back_while_it_starts_is_recorded_later),
#ifdef HOST_DIES
        HOST_TEST(test_what_a_program_died_of_is_told_where_its_stack_tells),
#endif
        HOST_TEST(test_a_kill_for_want_of_memory_is_told_as_such_and_another_kill_is_not),
    };
    return host_main(argc, argv, bodies, sizeof bodies / sizeof bodies[0], tests, sizeof tests / sizeof tests[0]);
}
