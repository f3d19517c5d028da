/* SPDX-License-Identifier: Apache-2.0 */
/* test_spool_watch.c - events in a spool are reported, also those from before the watch began. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "spool_watch.h"

static char folder[64];
static struct sbx_spool_watch watch;

/* Written under a temporary name and renamed, as every file in a spool. */
static void put(const char *name)
{
    char part[100], path[100];
    snprintf(part, sizeof part, "%s/part", folder);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int file = open(part, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(file >= 0);
    close(file);
    assert_int_equal(rename(part, path), 0);
}

static int begin(void **state)
{
    char raw[80];
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/sbx-test-watch-XXXXXX");
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    snprintf(raw, sizeof raw, "%s/raw", folder);
    return mkdir(raw, 0700);
}

static int end(void **state)
{
    char command[100];
    (void)state;
    if (watch.events >= 0) {
        close(watch.events);
    }
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static void open_now(void)
{
    sbx_spool_watch_prepare(&watch, folder);
    assert_false(sbx_spool_watch_open(&watch, folder));
    assert_true(watch.events >= 0);
}

static void test_a_snapshot_is_news_and_a_payload_is_none(void **state)
{
    bool has_said;
    (void)state;
    open_now();
    assert_false(sbx_spool_watch_read(&watch, &has_said));
    put("payload");
    assert_false(sbx_spool_watch_read(&watch, &has_said));
    put("raw/snapshot");
    assert_true(sbx_spool_watch_read(&watch, &has_said));
    assert_false(has_said);
}

static void test_what_the_user_says_is_told(void **state)
{
    bool has_said;
    (void)state;
    open_now();
    put("consent");
    assert_true(sbx_spool_watch_read(&watch, &has_said));
    assert_true(has_said);
}

/* A command may end before it is worth to begin watching. */
static void test_nothing_is_opened_before_it_is_time(void **state)
{
    (void)state;
    sbx_spool_watch_prepare(&watch, folder);
    assert_int_equal(watch.events, -1);
}

static void test_what_the_user_said_meanwhile_is_told_at_the_opening(void **state)
{
    (void)state;
    sbx_spool_watch_prepare(&watch, folder);
    put("consent");
    assert_true(sbx_spool_watch_open(&watch, folder));
}

static void test_what_the_user_took_back_meanwhile_is_told_too(void **state)
{
    char path[100];
    (void)state;
    put("consent");
    sbx_spool_watch_prepare(&watch, folder);
    snprintf(path, sizeof path, "%s/consent", folder);
    assert_int_equal(unlink(path), 0);
    assert_true(sbx_spool_watch_open(&watch, folder));
}

static void test_what_was_said_long_before_is_not_told_again(void **state)
{
    (void)state;
    put("consent");
    open_now();
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        CASE(test_a_snapshot_is_news_and_a_payload_is_none),
        CASE(test_what_the_user_says_is_told),
        CASE(test_nothing_is_opened_before_it_is_time),
        CASE(test_what_the_user_said_meanwhile_is_told_at_the_opening),
        CASE(test_what_the_user_took_back_meanwhile_is_told_too),
        CASE(test_what_was_said_long_before_is_not_told_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
