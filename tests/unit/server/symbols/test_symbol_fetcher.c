/* SPDX-License-Identifier: Apache-2.0 */
/* test_symbol_fetcher.c - when debuginfod is asked again, and a debuginfod server that never answers.
 * tests/integration/symbol_stores/debuginfod_serve_test tests a real one. */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "started_server.h"
#include "symbol_fetcher.h"

static void test_what_was_not_there_is_asked_for_ever_more_rarely(void **state)
{
    (void)state;
    assert_int_equal(sbx_fetch_again_s(1), 600);
    assert_int_equal(sbx_fetch_again_s(2), 1200);
    assert_int_equal(sbx_fetch_again_s(3), 2400);
    assert_int_equal(sbx_fetch_again_s(9), 86400);
    assert_int_equal(sbx_fetch_again_s(4000000000u), 86400);
}

static void test_a_build_id_waits_and_others_do_not(void **state)
{
    (void)state;
    struct sbx_fetch_memory *memory = sbx_fetch_memory_create(3);
    assert_non_null(memory);
    assert_true(sbx_fetch_memory_allows(memory, "aabb", 1000));
    sbx_fetch_memory_note(memory, "aabb", 1000);
    assert_false(sbx_fetch_memory_allows(memory, "aabb", 1599));
    assert_true(sbx_fetch_memory_allows(memory, "aabb", 1600));
    assert_true(sbx_fetch_memory_allows(memory, "ccdd", 1000));
    sbx_fetch_memory_note(memory, "aabb", 1600);
    assert_false(sbx_fetch_memory_allows(memory, "aabb", 2799));
    assert_true(sbx_fetch_memory_allows(memory, "aabb", 2800));
    sbx_fetch_memory_destroy(memory);
}

static void test_of_more_than_there_is_room_for_the_oldest_is_forgotten(void **state)
{
    (void)state;
    char build_id[16];
    struct sbx_fetch_memory *memory = sbx_fetch_memory_create(3);
    assert_non_null(memory);
    for (int i = 0; i < 1000; i++) {
        snprintf(build_id, sizeof(build_id), "%08x", i);
        sbx_fetch_memory_note(memory, build_id, 1000);
    }
    assert_false(sbx_fetch_memory_allows(memory, "000003e7", 1000));
    assert_false(sbx_fetch_memory_allows(memory, "000003e5", 1000));
    assert_true(sbx_fetch_memory_allows(memory, "000003e4", 1000));
    sbx_fetch_memory_destroy(memory);
}

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* The debuginfod accepts connections and sends nothing. The server goes on, and stops on request. */
static void test_a_debuginfod_that_says_nothing_keeps_nobody_waiting(void **state)
{
    (void)state;
    char url[64];
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof(address);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (const struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(listener, 8), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &bytes), 0);
    snprintf(url, sizeof(url), "http://127.0.0.1:%u", ntohs(address.sin_port));
    fixture.options.debuginfod_url = url;
    fixture.options.fetch_every_ms = 20;
    fixture_start(&fixture);
    struct envelope first = envelope_of(SBX_SCENARIO_SLEEP, 1), second = envelope_of(SBX_SCENARIO_SLEEP, 2);
    post_stored(fixture.port, &first);
    assert_true(wait_for_triage(fixture.port, first.id));
    int connection = accept(listener, NULL, NULL); /* the request has begun */
    assert_true(connection >= 0);
    post_stored(fixture.port, &second);
    assert_true(wait_for_triage(fixture.port, second.id));
    uint64_t begin_ms = now_ms();
    fixture_stop(&fixture);
    assert_true(now_ms() - begin_ms < 15000); /* it would have waited for at least 20 s */
    close(connection);
    close(listener);
    envelope_finish(&first);
    envelope_finish(&second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_was_not_there_is_asked_for_ever_more_rarely),
        cmocka_unit_test(test_a_build_id_waits_and_others_do_not),
        cmocka_unit_test(test_of_more_than_there_is_room_for_the_oldest_is_forgotten),
        cmocka_unit_test_setup_teardown(test_a_debuginfod_that_says_nothing_keeps_nobody_waiting, prepare_server,
                                        remove_server),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
