/* SPDX-License-Identifier: Apache-2.0 */
/* test_host_names.c - name servers that lie, are late or send nothing delay neither the sender nor the end of the
 * program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "deliver.h"
#include "http_exchange.h"
#include "name_server.h"
#include "tls_server.h"

static const uint8_t id[16] = {0xde, 0xad, 0xbe, 0xef};
static uint8_t envelope[5000];
static bool has_names;

static int enter(void **state)
{
    (void)state;
    signal(SIGPIPE, SIG_IGN);
    memcpy(envelope + 16, id, sizeof id);
    has_names = sbx_name_server_enter();
    return sbx_http_trust(sbx_tls_authority());
}

static void need_names(void)
{
    if (!has_names) {
        print_message("skipped: no network namespace can be had here\n");
        skip();
    }
}

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000u + (uint64_t)now.tv_nsec / 1000000u;
}

static struct sbx_send_result send_to_host(const char *host, uint16_t port)
{
    char url[100];
    snprintf(url, sizeof url, "https://%s:%u", host, port);
    return sbx_send(url, NULL, id, envelope, sizeof envelope);
}

static void test_net_08_names_that_lead_nowhere_are_tried_again_later(void **state)
{
    static const char *const hosts[] = {"no.test", "broken.test", "never.heard.of.test"};
    (void)state;
    need_names();
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
        struct sbx_send_result result = send_to_host(hosts[i], 443);
        assert_int_equal(result.verdict, SBX_SEND_LATER);
        assert_int_equal(result.http_status, 0);
        assert_true(result.why[0] != '\0');
    }
}

static void test_net_08_a_late_name_a_thousand_addresses_and_a_black_hole_are_got_through(void **state)
{
    static const char *const hosts[] = {"late.test", "hole.test", "many.test"};
    (void)state;
    need_names();
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
        const struct sbx_tls_terms terms = {.name = hosts[i]};
        struct sbx_tls_server *server = sbx_tls_server_start(&terms);
        struct sbx_send_result result = send_to_host(hosts[i], sbx_tls_server_port(server));
        if (result.verdict != SBX_SEND_STORED) {
            fail_msg("%s: %s", hosts[i], result.why);
        }
        assert_int_equal(sbx_tls_server_request_count(server), 1);
        sbx_tls_server_stop(server);
    }
}

static bool at_once(void *context)
{
    return now_ms() > *(const uint64_t *)context;
}

static void test_net_08_a_silent_name_server_holds_up_no_attempt_that_is_over(void **state)
{
    struct sbx_http_reply reply;
    uint8_t body[64];
    struct sbx_http_question question = {
        .server_url = "https://silent.test", .path = "/x", .answer_bytes_max = 100, .timeout_ms = 500};
    (void)state;
    need_names();
    uint64_t begin_ms = now_ms(); /* glibc asks twice, five seconds each; curl alone would wait for that */
    assert_false(sbx_http_exchange(&question, body, sizeof body, &reply));
    assert_true(now_ms() - begin_ms < 4000);
    question.server_url = "https://noise.test";
    begin_ms = now_ms();
    assert_false(sbx_http_exchange(&question, body, sizeof body, &reply));
    assert_true(now_ms() - begin_ms < 4000);
    question.timeout_ms = 0; /* the same for one that is cancelled */
    question.is_unwanted = at_once;
    begin_ms = now_ms() + 300;
    question.context = &begin_ms;
    assert_false(sbx_http_exchange(&question, body, sizeof body, &reply));
    assert_true(now_ms() - begin_ms < 4000);
    assert_non_null(strstr(reply.why, "not wanted"));
}

static void *look_up(void *context)
{
    (void)context;
    (void)send_to_host("silent.test", 443);
    return NULL;
}

static void test_net_08_the_end_of_the_program_does_not_wait_for_a_name(void **state)
{
    (void)state;
    need_names();
    uint64_t begin_ms = now_ms();
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, look_up, NULL) != 0) {
            _exit(1);
        }
        nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL); /* the resolver's thread is working on it */
        exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_true(now_ms() - begin_ms < 4000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_net_08_names_that_lead_nowhere_are_tried_again_later),
        cmocka_unit_test(test_net_08_a_late_name_a_thousand_addresses_and_a_black_hole_are_got_through),
        cmocka_unit_test(test_net_08_a_silent_name_server_holds_up_no_attempt_that_is_over),
        cmocka_unit_test(test_net_08_the_end_of_the_program_does_not_wait_for_a_name),
    };
    return cmocka_run_group_tests(tests, enter, NULL);
}
