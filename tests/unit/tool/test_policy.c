/* SPDX-License-Identifier: Apache-2.0 */
/* test_policy.c - `stallbox policy`: keys and their files, policy texts and their mistakes, verdicts and exit
 * statuses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tool_folder.h"

static void write_text(const char *name, const char *text)
{
    free(write_file(folder, name, text, strlen(text), 0644));
}

#define KEYSET                                                                                        \
    "document = keyset\napp = test\nversion = 1\nepoch = 1\nexpires_at = +365d\nroot_threshold = 1\n" \
    "root_key = root.pub\npolicy_key = online.pub\n"
#define POLICY "document = policy\napp = test\nepoch = 1\nseq = 1\nexpires_at = +14d\n"

static int make(void **state)
{
    begin_folder(state);
    expect(RUN_TOOL("policy", "keygen", path_of("root")), 0, "keep it secret");
    expect(RUN_TOOL("policy", "keygen", path_of("online")), 0, "keep it secret");
    write_text("keyset.txt", KEYSET);
    expect(RUN_TOOL("policy", "sign", "-k", path_of("root.key"), "-o", path_of("keyset.sbp"), path_of("keyset.txt")), 0,
           "");
    return 0;
}

static void test_a_secret_key_is_its_owners_alone_and_never_overwritten(void **state)
{
    (void)state;
    struct stat status;
    assert_int_equal(stat(path_of("root.key"), &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    expect(RUN_TOOL("policy", "keygen", path_of("root")), 1, "never overwritten");
    assert_int_equal(unlink(path_of("root.key")), 0); /* the public half alone is enough to refuse */
    expect(RUN_TOOL("policy", "keygen", path_of("root")), 1, "never overwritten");
    assert_int_not_equal(access(path_of("root.key"), F_OK), 0);
    assert_int_equal(chmod(path_of("online.key"), 0640), 0);
    write_text("policy.txt", POLICY);
    expect(RUN_TOOL("policy", "sign", "-k", path_of("online.key"), path_of("policy.txt")), 1, "chmod 600");
    expect(RUN_TOOL("policy", "sign", "-k", path_of("online.pub"), path_of("policy.txt")), 1, "chmod 600");
}

/* Each mistake, its line, and the message. */
static void test_a_mistake_in_a_text_is_told_with_its_line(void **state)
{
    (void)state;
    static const struct {
        const char *text, *said;
    } mistakes[] = {
        {"", "policy.txt:"},
        {"seq = 1\n", "policy.txt:1: the first line is document"},
        {POLICY "anr_ms = 99\n", "policy.txt:6: anr_ms is a whole number from 100 to 600000, or 0 for never, not '99'"},
        {POLICY "\n# a comment\nanr_ms 99\n", "policy.txt:8: a line is 'name = value'"},
        {POLICY "anr-ms = 5000\n", "policy.txt:6: a policy has no 'anr-ms'; did you mean 'anr_ms'?"},
        {POLICY "points = lock loock\n", "policy.txt:6: 'loock' is no capture point"},
        {POLICY "point lok = interval_us:5000\n", "policy.txt:6: 'lok' is no capture point"},
        {POLICY "point lock = interval:5000\n", "policy.txt:6: a point has interval_us:N"},
        {POLICY "enabled = maybe\n", "policy.txt:6: enabled is yes or no"},
        {POLICY "upload_conditions = wifi\n", "policy.txt:6: 'wifi' is no condition"},
        {POLICY "rollout 1 = salt:a percent:10\n", "policy.txt:6: a rollout needs"},
        {POLICY "rollout 1 = salt:a percent:101 withholds:recording\n", "policy.txt:6: percent is 0 to 100"},
        {POLICY "rollout 1 = salt:a percent:1.234 withholds:recording\n", "policy.txt:6: percent is 0 to 100"},
        {POLICY "gap_us = 1000\ninterval_us = 2000\n", "gap_us is outside"},
        {"document = policy\nepoch = 1\nseq = 1\nexpires_at = +1d\n", "'app = NAME'"},
        {"document = policy\napp = a\nepoch = 1\nexpires_at = +1d\n", "'seq = N' is missing"},
        {"document = policy\napp = a\nepoch = 1\nseq = 1\n", "'expires_at = TIME' is missing"},
        {"document = policy\napp = a\nepoch = 1\nseq = 1\nexpires_at = +31d\n", "within 30 days"},
        {"document = kill\napp = a\nepoch = 1\nseq = 1\nanr_ms = 5000\n", "a kill has app"},
        {KEYSET "root_key = nobody.pub\n", "nobody.pub: No such file"},
        {KEYSET "cap anr = 1..2\n", "no 'anr' to cap"},
    };
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        write_text("policy.txt", mistakes[i].text);
        struct tool_result result =
            RUN_TOOL("policy", "sign", "-k", path_of("online.key"), "-o", path_of("out.sbp"), path_of("policy.txt"));
        expect(result, 1, mistakes[i].said);
        assert_int_not_equal(access(path_of("out.sbp"), F_OK), 0);
    }
}

static void test_what_is_shown_can_be_signed_again(void **state)
{
    (void)state;
    char shown[16384];
    write_text("policy.txt",
               POLICY "points = all -alloc\npoint lock = interval_us:5000 threshold_us:300\nmin_agent = 0.1.0\n"
                      "rollout 7 = salt:a.b percent:12.34 withholds:recording,sending points:lock,cond,uv\n"
                      "upload_conditions = unmetered idle\nmodules = app\nkill = no\nanr_ms = 0\nfollow_forks = no\n"
                      "max_cpu_permille = 2\nmax_cpu_tenths = 5\n");
    expect(RUN_TOOL("policy", "sign", "-k", path_of("online.key"), "-o", path_of("a.sbp"), path_of("policy.txt")), 0,
           "");
    struct tool_result first = RUN_TOOL("policy", "show", path_of("a.sbp"), path_of("keyset.sbp"));
    assert_int_equal(first.status, 0);
    struct tool_result alone = RUN_TOOL("policy", "show", path_of("a.sbp"));
    write_text("again.txt", alone.out);
    expect(RUN_TOOL("policy", "sign", "-k", path_of("online.key"), "-o", path_of("b.sbp"), path_of("again.txt")), 0,
           "");
    struct tool_result second = RUN_TOOL("policy", "show", path_of("b.sbp"));
    snprintf(shown, sizeof shown, "%s", strchr(alone.out, '\n')); /* the first line is about the signatures */
    assert_string_equal(strchr(second.out, '\n'), shown);
    assert_non_null(
        strstr(second.out, "rollout 7 = salt:a.b percent:12.34 withholds:recording,sending points:lock,cond,uv\n"));
}

static void test_verify_says_what_machines_will_say(void **state)
{
    (void)state;
    write_text("1.txt", POLICY);
    write_text("2.txt", "document = policy\napp = test\nepoch = 1\nseq = 2\nexpires_at = +14d\n");
    write_text("other.txt", "document = policy\napp = other\nepoch = 1\nseq = 2\nexpires_at = +14d\n");
    for (const char *const *name = (const char *const[]){"1", "2", "other", NULL}; *name != NULL; name++) {
        char text[32], document[32];
        snprintf(text, sizeof text, "%s.txt", *name);
        snprintf(document, sizeof document, "%s.sbp", *name);
        expect(RUN_TOOL("policy", "sign", "-k", path_of("online.key"), "-o", path_of(document), path_of(text)), 0, "");
    }
    const char *trust = path_of("keyset.sbp");
    struct tool_result result = RUN_TOOL("policy", "verify", "-t", trust, path_of("1.sbp"), path_of("2.sbp"));
    assert_int_equal(result.status, 0);
    assert_non_null(strstr(result.out, "POLICY 1.2 until "));
    trust = path_of("keyset.sbp");
    expect(RUN_TOOL("policy", "verify", "-t", trust, "--after", path_of("2.sbp"), path_of("1.sbp")), 1, "E_ROLLBACK");
    expect(RUN_TOOL("policy", "verify", "-t", trust, path_of("other.sbp")), 1, "E_APP");
    expect(RUN_TOOL("policy", "verify", "-t", trust, "--now", "2200-01-01", path_of("1.sbp")), 1, "E_EXPIRED");
    expect(RUN_TOOL("policy", "verify", "-t", trust, path_of("1.txt")), 1, "E_FORMAT");
    expect(RUN_TOOL("policy", "verify", "-t", path_of("1.sbp"), path_of("1.sbp")), 1, "a POLICY where a KEYSET");
    expect(RUN_TOOL("policy", "verify", path_of("1.sbp")), 2, "--trust");
    expect(RUN_TOOL("policy", "verify", "-t", path_of("keyset.sbp"), "--now", "soon", path_of("1.sbp")), 2, "no time");
    expect(RUN_TOOL("policy", "sing", "x"), 2, "unknown verb 'sing'");
    expect(RUN_TOOL("policy", "sign", path_of("1.txt")), 2, "--key");
}

static void test_a_signature_is_added_once(void **state)
{
    (void)state;
    write_text("policy.txt", POLICY);
    expect(RUN_TOOL("policy", "sign", "-k", path_of("online.key"), "-o", path_of("a.sbp"), path_of("policy.txt")), 0,
           "");
    expect(RUN_TOOL("policy", "sign", "--add", "-k", path_of("root.key"), "-o", path_of("a.sbp"), path_of("a.sbp")), 0,
           "");
    expect(RUN_TOOL("policy", "sign", "--add", "-k", path_of("online.key"), "-o", path_of("b.sbp"), path_of("a.sbp")),
           1, "has signed it already");
    struct stat status;
    assert_int_equal(stat(path_of("a.sbp"), &status), 0);
    assert_true(status.st_size > 12 + 2 * 72);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_secret_key_is_its_owners_alone_and_never_overwritten, make, end_folder),
        cmocka_unit_test_setup_teardown(test_a_mistake_in_a_text_is_told_with_its_line, make, end_folder),
        cmocka_unit_test_setup_teardown(test_what_is_shown_can_be_signed_again, make, end_folder),
        cmocka_unit_test_setup_teardown(test_verify_says_what_machines_will_say, make, end_folder),
        cmocka_unit_test_setup_teardown(test_a_signature_is_added_once, make, end_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
