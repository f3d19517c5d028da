/* SPDX-License-Identifier: Apache-2.0 */
/* test_delivery_holds.c - what waits is known to the next deliverer, but only while it exists. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "delivery_holds.h"

static const char url[] = "http://127.0.0.1:7311";
static char folder[] = "/tmp/delivery_holds.XXXXXX";
static int root;
static struct sbx_delivery_now now;

static int set_up(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/delivery_holds.XXXXXX");
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    root = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    sbx_delivery_now_read(&now);
    return root < 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlinkat(root, ".deliver.state", 0);
    close(root);
    return rmdir(folder);
}

static void hold(struct sbx_delivery_holds *holds, const uint8_t id[SBX_PAYLOAD_ID_BYTES], uint32_t fails)
{
    struct sbx_waiting *waiting = sbx_delivery_holds_remember(holds, id);
    assert_non_null(waiting);
    waiting->hold.fails = fails;
    waiting->hold.wait_ms = 60000;
    waiting->hold.due_ms = now.boot_ms + 60000;
    holds->is_news = true;
}

static bool has_file(void)
{
    struct stat status;
    return fstatat(root, ".deliver.state", &status, 0) == 0;
}

static void test_what_waits_is_known_to_the_next_deliverer(void **state)
{
    struct sbx_delivery_holds first = {.waiting = NULL}, second = {.waiting = NULL};
    uint8_t id[SBX_PAYLOAD_ID_BYTES] = {0};
    (void)state;
    for (uint8_t i = 0; i < 40; i++) { /* more than fit at first */
        id[0] = i;
        hold(&first, id, i + 1u);
    }
    sbx_delivery_holds_memorize(&first, root, url, &now);
    assert_false(first.is_news);
    sbx_delivery_holds_recall(&second, root, url, &now);
    assert_int_equal(second.count, 40);
    for (uint8_t i = 0; i < 40; i++) {
        id[0] = i;
        assert_int_equal(sbx_delivery_holds_find(&second, id)->hold.fails, i + 1);
    }
    id[0] = 41;
    assert_null(sbx_delivery_holds_find(&second, id));
    sbx_delivery_holds_release(&first);
    sbx_delivery_holds_release(&second);
}

static void test_a_payload_waits_once(void **state)
{
    struct sbx_delivery_holds holds = {.waiting = NULL};
    const uint8_t id[SBX_PAYLOAD_ID_BYTES] = {7};
    (void)state;
    hold(&holds, id, 1);
    assert_int_equal(sbx_delivery_holds_remember(&holds, id)->hold.fails, 1);
    assert_int_equal(holds.count, 1);
    sbx_delivery_holds_release(&holds);
}

static void test_what_is_not_in_the_listing_any_more_is_forgotten_and_the_file_goes_with_the_last(void **state)
{
    struct sbx_delivery_holds holds = {.waiting = NULL};
    const uint8_t gone[SBX_PAYLOAD_ID_BYTES] = {1}, there[SBX_PAYLOAD_ID_BYTES] = {2};
    (void)state;
    hold(&holds, gone, 1);
    hold(&holds, there, 1);
    sbx_delivery_holds_find(&holds, gone)->seen = false;
    sbx_delivery_holds_forget_unseen(&holds);
    assert_null(sbx_delivery_holds_find(&holds, gone));
    assert_non_null(sbx_delivery_holds_find(&holds, there));
    sbx_delivery_holds_memorize(&holds, root, url, &now);
    assert_true(has_file());
    sbx_delivery_holds_forget_unseen(&holds); /* it was not seen since */
    assert_int_equal(holds.count, 0);
    sbx_delivery_holds_memorize(&holds, root, url, &now);
    assert_false(has_file());
    sbx_delivery_holds_release(&holds);
}

static void test_what_is_no_news_is_not_written(void **state)
{
    struct sbx_delivery_holds holds = {.waiting = NULL};
    const uint8_t id[SBX_PAYLOAD_ID_BYTES] = {1};
    (void)state;
    hold(&holds, id, 1);
    holds.is_news = false;
    sbx_delivery_holds_memorize(&holds, root, url, &now);
    assert_false(has_file());
    sbx_delivery_holds_release(&holds);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(test_what_waits_is_known_to_the_next_deliverer),
        CASE(test_a_payload_waits_once),
        CASE(test_what_is_not_in_the_listing_any_more_is_forgotten_and_the_file_goes_with_the_last),
        CASE(test_what_is_no_news_is_not_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
