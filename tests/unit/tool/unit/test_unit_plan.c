/* SPDX-License-Identifier: Apache-2.0 */
/* test_unit_plan.c - in which way a service is recorded, and the content of its drop-in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "unit_plan.h"

static char *expand(const char *set)
{
    return strcmp(set, "@default") == 0 ? strdup("@default\n    getpid\n") : NULL;
}

static const struct sbx_unit_wish plain = {.name = "thing",
                                           .root = "",
                                           .command = "/usr/bin/stallbox",
                                           .library = "/usr/lib/libstallbox.so.0",
                                           .expand = expand};

static struct sbx_unit_plan make_with(const char *lines, const struct sbx_unit_wish *wish)
{
    char text[2048];
    struct sbx_unit_file unit = {0};
    struct sbx_unit_plan plan;
    snprintf(text, sizeof text, "[Service]\nExecStart=/opt/thing -f $OPTIONS %%i\n%s", lines);
    assert_int_equal(sbx_unit_file_add(&unit, text, strlen(text)), 0);
    assert_int_equal(sbx_unit_plan_make(&unit, wish, &plan), 0);
    sbx_unit_file_free(&unit);
    return plan;
}

/* The way that is chosen for a unit with these lines, which must not be refused. */
static enum sbx_unit_way way_of(const char *lines)
{
    struct sbx_unit_plan plan = make_with(lines, &plain);
    enum sbx_unit_way way = plan.way;
    assert_non_null(plan.drop_in);
    assert_string_equal(plan.obstacles, "");
    sbx_unit_plan_free(&plan);
    return way;
}

static void test_the_companion_stands_before_a_service_that_systemd_does_not_talk_to(void **state)
{
    (void)state;
    assert_int_equal(way_of(""), SBX_UNIT_RUN);
    assert_int_equal(way_of("Type=simple\nKillMode=process\nUser=nobody\n"), SBX_UNIT_RUN);
    assert_int_equal(way_of("Type=forking\nPIDFile=/run/thing.pid\n"), SBX_UNIT_RUN);
    assert_int_equal(way_of("Type=notify\nNotifyAccess=all\n"), SBX_UNIT_RUN);
    assert_int_equal(way_of("KillSignal=SIGQUIT\nWatchdogSec=0\n"), SBX_UNIT_RUN);
}

static void test_where_the_main_process_has_to_be_the_service_the_companion_is_beside_it(void **state)
{
    (void)state;
    static const char *const lines[] = {"Type=notify\n",      "Type=notify-reload\n",   "WatchdogSec=30s\n",
                                        "Sockets=a.socket\n", "StandardInput=socket\n", "KillSignal=SIGRTMIN+3\n"};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        assert_int_equal(way_of(lines[i]), SBX_UNIT_BESIDE);
    }
    struct sbx_unit_wish wish = plain;
    wish.has_socket = true;
    struct sbx_unit_plan plan = make_with("", &wish);
    assert_int_equal(plan.way, SBX_UNIT_BESIDE);
    assert_non_null(strstr(plan.drop_in, "\nExecStart=/usr/bin/stallbox run --quiet --beside --spool "));
    sbx_unit_plan_free(&plan);
    wish.way = SBX_UNIT_RUN; /* requested, but refused */
    plan = make_with("", &wish);
    assert_null(plan.drop_in);
    sbx_unit_plan_free(&plan);
}

static void test_a_policy_is_followed_by_a_companion_that_learns_how_the_service_ends(void **state)
{
    (void)state;
    struct sbx_unit_wish wish = plain;
    wish.policy = "/etc/policy";
    struct sbx_unit_plan plan = make_with("Type=notify\n", &wish);
    assert_int_equal(plan.way, SBX_UNIT_PRELOAD);
    sbx_unit_plan_free(&plan);
    wish.way = SBX_UNIT_BESIDE;
    plan = make_with("Type=notify\n", &wish);
    assert_null(plan.drop_in);
    sbx_unit_plan_free(&plan);
}

static void test_where_there_can_be_no_companion_the_library_is_preloaded(void **state)
{
    (void)state;
    static const char *const lines[] = {"Type=forking\n", "NoExecPaths=/usr/bin\n",
                                        "ExecStart=\nExecStart=@/opt/thing other\n",
                                        "SystemCallFilter=~memfd_create\n"};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        assert_int_equal(way_of(lines[i]), SBX_UNIT_PRELOAD);
    }
    struct sbx_unit_wish wish = plain;
    wish.way = SBX_UNIT_BESIDE; /* requested, but refused */
    struct sbx_unit_plan plan = make_with("Type=forking\n", &wish);
    assert_null(plan.drop_in);
    sbx_unit_plan_free(&plan);
}

static void expect_note(const char *lines, const struct sbx_unit_wish *wish, enum sbx_unit_way way, const char *text)
{
    struct sbx_unit_plan plan = make_with(lines, wish);
    assert_int_equal(plan.way, way);
    assert_non_null(plan.drop_in);
    assert_non_null(strstr(plan.drop_in, text));
    sbx_unit_plan_free(&plan);
}

/* If the list of calls is incomplete, the filter kills the companion with its other children, but not the service. */
static void test_a_filter_that_lets_a_companion_live_has_it_beside_the_service(void **state)
{
    (void)state;
    struct sbx_unit_wish sends = plain;
    sends.server = "http://127.0.0.1:1";
    assert_int_equal(way_of("SystemCallFilter=~ptrace @default\nSystemCallFilter=getpid\n"), SBX_UNIT_BESIDE);
    assert_int_equal(way_of("SystemCallFilter=~connect\n"), SBX_UNIT_BESIDE);
    expect_note("SystemCallFilter=~connect\n", &sends, SBX_UNIT_PRELOAD,
                "does not allow what a companion calls: connect.");
    expect_note("SystemCallFilter=~memfd_create\nSystemCallErrorNumber=EPERM\n", &plain, SBX_UNIT_PRELOAD,
                "does not allow what a companion calls: memfd_create.");
    sends.way = SBX_UNIT_RUN; /* requested, but refused: it would become the service's parent */
    struct sbx_unit_plan plan = make_with("SystemCallFilter=~ptrace\n", &sends);
    assert_null(plan.drop_in);
    assert_non_null(strstr(plan.obstacles, "must not end the service"));
    sbx_unit_plan_free(&plan);
}

static void test_why_there_is_no_companion_is_said_with_what_would_let_it_be(void **state)
{
    (void)state;
    struct sbx_unit_wish obeys = plain;
    obeys.policy = "/etc/policy";
    expect_note("Type=forking\n", &plain, SBX_UNIT_PRELOAD, "with PIDFile= there can be one.");
    expect_note("Type=notify\n", &obeys, SBX_UNIT_PRELOAD, "without --policy there is one.");
    expect_note("Type=forking\n", &obeys, SBX_UNIT_PRELOAD, "with PIDFile= there can be one.");
}

static void test_the_lines_say_what_the_unit_said_and_no_more(void **state)
{
    (void)state;
    struct sbx_unit_wish wish = plain;
    wish.server = "http://127.0.0.1:7311";
    wish.token_file = "/etc/50%$token";
    struct sbx_unit_plan plan = make_with("ExecStart=-/opt/second\nStateDirectory=thing\n", &wish);
    assert_non_null(strstr(plan.drop_in,
                           "\nCacheDirectory=stallbox-spool/%N\nCacheDirectoryMode=0700\nExecStart=\n"
                           "ExecStart=/usr/bin/stallbox run --quiet --spool \"%C/stallbox-spool/%N\" --server "
                           "\"http://127.0.0.1:7311\" --token-file \"/etc/50%%$$token\" -- /opt/thing -f $OPTIONS %i\n"
                           "ExecStart=-/usr/bin/stallbox run "));
    assert_non_null(strstr(plan.drop_in, " -- /opt/second\n"));
    sbx_unit_plan_free(&plan);
    plan = make_with("Type=forking\nEnvironment=A=b \"LD_PRELOAD=/opt/x.so\"\nDynamicUser=yes\n", &plain);
    assert_non_null(strstr(plan.drop_in, "\nEnvironment=\"LD_PRELOAD=/usr/lib/libstallbox.so.0:/opt/x.so\" "
                                         "\"STALLBOX_AUTOSTART=0\" "
                                         "\"STALLBOX_SPOOL=%S/private/stallbox-spool/%N\"\n"));
    assert_null(strstr(plan.drop_in, "NotifyAccess"));
    assert_null(strstr(plan.drop_in, "ExecStart="));
    sbx_unit_plan_free(&plan);
}

static void test_what_stands_in_the_way_is_said_and_loosened_only_when_asked(void **state)
{
    (void)state;
    static const char *const lines[][2] = {
        {"NoExecPaths=/\n", "\nExecPaths=/usr/lib/libstallbox.so.0\n"},
        {"LimitFSIZE=1M\n", "\nLimitFSIZE=16M\n"},
        {"TasksMax=4\n", "\nTasksMax=64\n"},
        {"SystemCallFilter=~process_vm_readv\n", "\nSystemCallFilter=process_vm_readv\n"},
    };
    struct sbx_unit_wish asked = plain;
    asked.loosens = true;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct sbx_unit_plan plan = make_with(lines[i][0], &plain);
        assert_null(plan.drop_in);
        assert_non_null(strstr(plan.obstacles, "; --loosen adds "));
        sbx_unit_plan_free(&plan);
        plan = make_with(lines[i][0], &asked);
        assert_non_null(plan.drop_in);
        assert_non_null(strstr(plan.drop_in, lines[i][1]));
        assert_non_null(strstr(plan.obstacles, "loosened: "));
        sbx_unit_plan_free(&plan);
    }
    struct sbx_unit_plan plan = make_with("NoExecPaths=/\nExecPaths=/usr/lib /opt\n", &plain);
    assert_non_null(plan.drop_in); /* the library may be mapped, but the command not executed */
    assert_int_equal(plan.way, SBX_UNIT_PRELOAD);
    sbx_unit_plan_free(&plan);
}

static void test_what_cannot_be_recorded_is_refused_even_when_asked(void **state)
{
    (void)state;
    static const char *const lines[] = {"RootDirectory=/srv/root\n",
                                        "InaccessiblePaths=-/dev/shm\n",
                                        "UnsetEnvironment=LD_PRELOAD\n",
                                        "ExecStart=\n",
                                        "ExecStart=\nExecStart=/bin/true\n",
                                        "SystemCallFilter=@new\n",
                                        "StateDirectory=a\nCacheDirectory=b\nLogsDirectory=c\n"};
    struct sbx_unit_wish asked = plain;
    asked.loosens = true;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct sbx_unit_plan plan = make_with(lines[i], &asked);
        assert_null(plan.drop_in);
        assert_true(strlen(plan.obstacles) > 10);
        sbx_unit_plan_free(&plan);
    }
    struct sbx_unit_wish sends = plain;
    sends.server = "http://127.0.0.1:1";
    struct sbx_unit_plan plan = make_with("RestrictAddressFamilies=AF_UNIX\n", &sends);
    assert_null(plan.drop_in);
    assert_non_null(strstr(plan.obstacles, "RestrictAddressFamilies=AF_INET AF_INET6"));
    sbx_unit_plan_free(&plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_companion_stands_before_a_service_that_systemd_does_not_talk_to),
        cmocka_unit_test(test_where_the_main_process_has_to_be_the_service_the_companion_is_beside_it),
        cmocka_unit_test(test_a_policy_is_followed_by_a_companion_that_learns_how_the_service_ends),
        cmocka_unit_test(test_where_there_can_be_no_companion_the_library_is_preloaded),
        cmocka_unit_test(test_a_filter_that_lets_a_companion_live_has_it_beside_the_service),
        cmocka_unit_test(test_why_there_is_no_companion_is_said_with_what_would_let_it_be),
        cmocka_unit_test(test_the_lines_say_what_the_unit_said_and_no_more),
        cmocka_unit_test(test_what_stands_in_the_way_is_said_and_loosened_only_when_asked),
        cmocka_unit_test(test_what_cannot_be_recorded_is_refused_even_when_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
