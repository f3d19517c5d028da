/* SPDX-License-Identifier: Apache-2.0 */
/* test_redaction.c - which modules keep their identity, as a table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "redaction.h"

struct example {
    const char *executable, *module;
    enum sbx_module_verdict app_only, distribution;
};

static enum sbx_module_verdict verdict(enum sbx_module_rule rule, const char *executable, const char *path,
                                       uint32_t flags)
{
    struct sbx_redaction redaction = {.module_rule = rule, .detail_level = 1, .history_ms = 10000};
    struct sbx_module_entry module = {.flags = flags};
    strncpy(module.path, path, sizeof module.path - 1);
    return sbx_redact_module(&redaction, &module, executable);
}

static void test_rules_decide_by_where_a_module_lies(void **state)
{
    (void)state;
    const struct example examples[] = {
        /* The application's own folder tree. */
        {"/opt/editor/bin/editor", "/opt/editor/bin/plugins/spell.so", SBX_KEEP_APP, SBX_KEEP_APP},
        {"/usr/lib/chromium/chromium", "/usr/lib/chromium/libEGL.so", SBX_KEEP_APP, SBX_KEEP_APP},
        {"/home/anna/game/game", "/home/anna/game/libengine.so", SBX_KEEP_APP, SBX_KEEP_APP},
        /* A name with the same beginning is another folder. */
        {"/opt/editor/editor", "/opt/editor-private/secret.so", SBX_HIDE, SBX_HIDE},
        /* Folders that belong to no single application. */
        {"/usr/bin/redis-server", "/usr/bin/other.so", SBX_HIDE, SBX_HIDE},
        {"/home/anna/tool", "/home/anna/.secret/plugin.so", SBX_HIDE, SBX_HIDE},
        {"/home/anna/tool", "/home/anna/plugin.so", SBX_HIDE, SBX_HIDE},
        {"/tool", "/secret/plugin.so", SBX_HIDE, SBX_HIDE},
        {"/tmp/tool", "/tmp/plugin.so", SBX_HIDE, SBX_HIDE},
        /* Libraries of the distribution: those in the table, and all. */
        {"/usr/bin/redis-server", "/lib/x86_64-linux-gnu/libc.so.6", SBX_KEEP_SYSTEM, SBX_KEEP_SYSTEM},
        {"/usr/bin/redis-server", "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2", SBX_KEEP_SYSTEM, SBX_KEEP_SYSTEM},
        {"/usr/bin/redis-server", "/lib64/ld-linux-x86-64.so.2", SBX_KEEP_SYSTEM, SBX_KEEP_SYSTEM},
        {"/usr/bin/redis-server", "/usr/lib/x86_64-linux-gnu/librare-thing.so.3", SBX_HIDE, SBX_KEEP_SYSTEM},
        /* Elsewhere, even with a known name. */
        {"/usr/bin/redis-server", "/home/anna/build/libc.so.6", SBX_HIDE, SBX_HIDE},
        {"/usr/bin/redis-server", "/opt/vendor/driver.so", SBX_HIDE, SBX_HIDE},
        {"/usr/bin/redis-server", "/usr/local/lib/libanna.so", SBX_HIDE, SBX_HIDE},
        {"/usr/bin/redis-server", "/library/x.so", SBX_HIDE, SBX_HIDE},
        /* Paths that do not show where they lead. */
        {"/usr/bin/redis-server", "/usr/lib/../../home/anna/x.so", SBX_HIDE, SBX_HIDE},
        {"/usr/bin/redis-server", "/usr/lib/./x.so", SBX_HIDE, SBX_HIDE},
        {"/usr/bin/redis-server", "/usr/lib//x.so", SBX_HIDE, SBX_HIDE},
        {"/usr/bin/redis-server", "usr/lib/x.so", SBX_HIDE, SBX_HIDE},
        {"/usr/bin/redis-server", "", SBX_HIDE, SBX_HIDE},
        {"/usr/bin/redis-server", "[heap]", SBX_HIDE, SBX_HIDE},
        {"", "/opt/x.so", SBX_HIDE, SBX_HIDE},
        {"editor", "/editor/x.so", SBX_HIDE, SBX_HIDE},
        {"/opt/../home/anna/editor", "/opt/../home/anna/x.so", SBX_HIDE, SBX_HIDE},
    };
    for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
        enum sbx_module_verdict app_only = verdict(SBX_MODULES_APP_ONLY, examples[i].executable, examples[i].module, 0);
        enum sbx_module_verdict distribution =
            verdict(SBX_MODULES_DISTRIBUTION, examples[i].executable, examples[i].module, 0);
        if (app_only != examples[i].app_only || distribution != examples[i].distribution) {
            fail_msg("\"%s\" in \"%s\": %d and %d", examples[i].module, examples[i].executable, app_only, distribution);
        }
    }
}

static void test_the_executable_the_vdso_and_the_agent_are_always_kept(void **state)
{
    (void)state;
    assert_int_equal(verdict(SBX_MODULES_APP_ONLY, "/home/anna/x", "/home/anna/x", SBX_MODULE_MAIN), SBX_KEEP_APP);
    assert_int_equal(verdict(SBX_MODULES_APP_ONLY, "/x/y", "", SBX_MODULE_MAIN), SBX_KEEP_APP);
    assert_int_equal(verdict(SBX_MODULES_APP_ONLY, "/x/y", "", SBX_MODULE_VDSO), SBX_KEEP_VDSO);
    assert_int_equal(verdict(SBX_MODULES_APP_ONLY, "/x/y", "/home/anna/agent.so", SBX_MODULE_AGENT), SBX_KEEP_AGENT);
}

static void test_a_rule_of_a_later_policy_hides(void **state)
{
    (void)state;
    assert_int_equal(verdict((enum sbx_module_rule)7, "/usr/bin/x", "/usr/lib/libc.so.6", 0), SBX_HIDE);
}

static void test_a_path_without_an_end_is_hidden(void **state)
{
    (void)state;
    struct sbx_redaction redaction = {.module_rule = SBX_MODULES_DISTRIBUTION};
    struct sbx_module_entry module = {.flags = 0};
    memset(module.path, 'a', sizeof module.path);
    memcpy(module.path, "/usr/lib/", 9);
    assert_int_equal(sbx_redact_module(&redaction, &module, "/usr/bin/x"), SBX_HIDE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules_decide_by_where_a_module_lies),
        cmocka_unit_test(test_the_executable_the_vdso_and_the_agent_are_always_kept),
        cmocka_unit_test(test_a_rule_of_a_later_policy_hides),
        cmocka_unit_test(test_a_path_without_an_end_is_hidden),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
