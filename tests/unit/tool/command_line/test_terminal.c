/* SPDX-License-Identifier: Apache-2.0 */
/* test_terminal.c - colour and progress, with a real pseudo-terminal and without one. */
#include <fcntl.h>
#include <pty.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "terminal.h"

static int keyboard, screen; /* the two ends of the terminal: what the user sees is read from `keyboard` */

static int set_up(void **state)
{
    (void)state;
    unsetenv("NO_COLOR");
    setenv("TERM", "xterm", 1);
    if (openpty(&keyboard, &screen, NULL, NULL, NULL) != 0) {
        return -1;
    }
    return fcntl(keyboard, F_SETFL, O_NONBLOCK);
}

static int tear_down(void **state)
{
    (void)state;
    close(screen);
    close(keyboard);
    return 0;
}

static bool screen_has_colour(void)
{
    FILE *out = fdopen(dup(screen), "w");
    assert_non_null(out);
    bool has = sbx_terminal_has_colour(out);
    fclose(out);
    return has;
}

static void test_a_terminal_has_colour_unless_the_user_says_no(void **state)
{
    (void)state;
    assert_true(screen_has_colour());
    setenv("NO_COLOR", "1", 1);
    assert_false(screen_has_colour());
    setenv("NO_COLOR", "", 1);
    assert_true(screen_has_colour());
    setenv("TERM", "dumb", 1);
    assert_false(screen_has_colour());
    unsetenv("TERM");
    assert_false(screen_has_colour());
}

static void test_a_file_has_no_colour(void **state)
{
    (void)state;
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_false(sbx_terminal_has_colour(file));
    fclose(file);
}

/* Show two steps of progress and its end, with `descriptor` as standard error. */
static void make_progress(int descriptor)
{
    fflush(stderr);
    int saved = dup(STDERR_FILENO);
    dup2(descriptor, STDERR_FILENO);
    sbx_progress_show("step", 1, 2);
    sbx_progress_show("step", 2, 2);
    sbx_progress_clear();
    sbx_progress_clear(); /* nothing is left to clear, so nothing more is printed */
    fflush(stderr);
    dup2(saved, STDERR_FILENO);
    close(saved);
}

static void test_progress_rewrites_one_line_and_takes_it_away(void **state)
{
    (void)state;
    static const char expected[] = "\r\033[Kstep: 1 of 2\r\033[Kstep: 2 of 2\r\033[K";
    char seen[256];
    size_t length = 0;
    struct pollfd output = {.fd = keyboard, .events = POLLIN};
    make_progress(screen);
    while (length < sizeof expected - 1 && poll(&output, 1, 10000) == 1) { /* a terminal may deliver it in pieces */
        ssize_t got = read(keyboard, seen + length, sizeof seen - 1 - length);
        assert_true(got > 0);
        length += (size_t)got;
    }
    seen[length] = '\0';
    assert_string_equal(seen, expected);
    assert_int_equal(poll(&output, 1, 0), 0); /* and no more */
}

static void test_progress_shows_nothing_in_a_log(void **state)
{
    (void)state;
    FILE *log = tmpfile();
    assert_non_null(log);
    make_progress(fileno(log));
    assert_int_equal(lseek(fileno(log), 0, SEEK_END), 0);
    fclose(log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_terminal_has_colour_unless_the_user_says_no, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_file_has_no_colour, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_progress_rewrites_one_line_and_takes_it_away, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_progress_shows_nothing_in_a_log, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
