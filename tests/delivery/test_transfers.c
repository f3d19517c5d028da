/* SPDX-License-Identifier: Apache-2.0 */
/* test_transfers.c - what may happen to a payload on its way, and to the machine meanwhile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collector_process.h"
#include "courier.h"
#include "day_budget.h"
#include "http_exchange.h"
#include "http_server.h"
#include "payloads.h"
#include "relay.h"
#include "scene.h"
#include "test_folder.h"
#include "upload_conditions.h"

static int make_folder(void **state)
{
    *state = sbx_test_folder_make();
    return 0;
}

static int remove_folder(void **state)
{
    sbx_test_folder_remove(*state);
    return 0;
}

/* A clock that the test moves: boot and wall time in ms. */
struct hand_clock {
    _Atomic uint64_t boot_ms, wall_ms;
    struct sbx_delivery_clock clock;
};

static void read_hand_clock(void *context, uint64_t *boot_ms_out, uint64_t *wall_ms_out)
{
    struct hand_clock *hand = context;
    *boot_ms_out = atomic_load(&hand->boot_ms);
    *wall_ms_out = atomic_load(&hand->wall_ms);
}

static void pass(struct hand_clock *hand, uint64_t ms)
{
    atomic_fetch_add(&hand->boot_ms, ms);
    atomic_fetch_add(&hand->wall_ms, ms);
}

static void set_up_clock(struct hand_clock *hand, uint64_t wall_ms)
{
    atomic_store(&hand->boot_ms, 1000000);
    atomic_store(&hand->wall_ms, wall_ms);
    hand->clock = (struct sbx_delivery_clock){read_hand_clock, hand};
}

/* ---- NET-1 ---- */

static volatile sig_atomic_t pipe_signals;

static void note_pipe(int number)
{
    (void)number;
    pipe_signals++;
}

static void test_net_01_resets_at_each_kind_of_byte_are_tried_again_with_the_same_bytes(void **state)
{
    (void)state;
    enum {
        BYTES = 200000
    };
    static uint8_t envelope[BYTES];
    static const uint8_t id[16] = {1, 2, 3, 4};
    const struct sbx_http_answer answers[] = {
        {.behaviour = SBX_HTTP_RESET_AT_ONCE},
        {.behaviour = SBX_HTTP_RESET_AT_FIRST},
        {.behaviour = SBX_HTTP_RESET_IN_BODY, .bytes = 0},
        {.behaviour = SBX_HTTP_RESET_IN_BODY, .bytes = 1},
        {.behaviour = SBX_HTTP_RESET_IN_BODY, .bytes = 16384},
        {.behaviour = SBX_HTTP_RESET_IN_BODY, .bytes = BYTES - 1},
        {.behaviour = SBX_HTTP_RESET_IN_BODY, .bytes = BYTES}, /* the whole body, but no answer */
        {.behaviour = SBX_HTTP_CLOSE},
        {.behaviour = SBX_HTTP_RESET}, /* in the middle of the answer */
    };
    const size_t count = sizeof answers / sizeof answers[0];
    for (size_t i = 0; i < BYTES; i++) {
        envelope[i] = (uint8_t)(i * 31 + (i >> 9));
    }
    memcpy(envelope + 16, id, sizeof id);
    signal(SIGPIPE, note_pipe);
    struct sbx_http_server *server = sbx_http_server_start(0, answers, count);
    for (size_t i = 0; i < count; i++) {
        struct sbx_send_result result = sbx_send(sbx_http_server_url(server), NULL, id, envelope, BYTES);
        assert_int_equal(result.verdict, SBX_SEND_LATER);
        assert_int_equal(result.http_status, 0);
        assert_int_equal(sbx_http_server_connection_count(server), i + 1); /* curl does not retry by itself */
    }
    assert_int_equal(sbx_send(sbx_http_server_url(server), NULL, id, envelope, BYTES).verdict, SBX_SEND_STORED);
    size_t whole = sbx_http_server_request_count(server);
    assert_int_equal(whole, 3); /* CLOSE, RESET and the last one took the whole body */
    for (size_t i = 0; i < whole; i++) {
        const struct sbx_http_request *request = sbx_http_server_request(server, i);
        assert_int_equal(request->body_bytes, BYTES);
        assert_memory_equal(request->body, envelope, BYTES);
        assert_non_null(strstr(request->head, "X-Stallbox-Payload-Id: 01020304"));
    }
    sbx_http_server_stop(server);
    /* The same in the middle of a TLS handshake. */
    struct sbx_http_server *deaf = sbx_http_server_start(0, answers, 2);
    char url[64];
    snprintf(url, sizeof url, "https://127.0.0.1:%u", sbx_http_server_port(deaf));
    for (int i = 0; i < 2; i++) {
        struct sbx_send_result result = sbx_send(url, NULL, id, envelope, BYTES);
        assert_int_equal(result.verdict, SBX_SEND_LATER);
        assert_int_equal(result.http_status, 0);
    }
    sbx_http_server_stop(deaf);
    assert_int_equal(pipe_signals, 0);
    signal(SIGPIPE, SIG_DFL);
}

/* ---- NET-6 ---- */

/* Exchange with a server of that behaviour, in a child whose memory is measured. */
static void flood(const struct sbx_http_answer *how)
{
    struct sbx_http_server *server = sbx_http_server_start(0, how, 1);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct sbx_http_reply reply;
        struct rusage before, after;
        uint8_t body[64];
        const struct sbx_http_question question = {
            .server_url = sbx_http_server_url(server), .path = "/x", .answer_bytes_max = 65536, .timeout_ms = 3000};
        struct sbx_http_question nowhere = question;
        nowhere.server_url = "http://127.0.0.1:1";
        (void)sbx_http_exchange(&nowhere, body, sizeof body, &reply); /* loads what a first transfer loads */
        getrusage(RUSAGE_SELF, &before);
        bool is_answered = sbx_http_exchange(&question, body, sizeof body, &reply);
        getrusage(RUSAGE_SELF, &after);
        /* KiB. A sanitizer keeps freed memory, so there the number has no meaning. */
        bool is_large = after.ru_maxrss - before.ru_maxrss > 4096 && !IS_SANITIZED;
        _exit(is_answered ? 1 : reply.why[0] == '\0' ? 2 : is_large ? 3 : 0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) != 0) {
        fail_msg("behaviour %d: %d", how->behaviour, WEXITSTATUS(status));
    }
    sbx_http_server_stop(server);
}

static void test_net_06_floods_of_headers_and_interim_answers_are_cut_off_in_little_memory(void **state)
{
    (void)state;
    char *many = malloc(120000), *large = malloc(11 << 20);
    size_t used = (size_t)sprintf(many, "HTTP/1.1 200 OK\r\n");
    for (int i = 0; i < 90; i++) {
        used += (size_t)sprintf(many + used, "X-H%02d: ", i);
        memset(many + used, 'a', 1000);
        used += 1000;
        used += (size_t)sprintf(many + used, "\r\n");
    }
    sprintf(many + used, "Content-Length: 0\r\n\r\n");
    used = (size_t)sprintf(large, "HTTP/1.1 200 OK\r\nX-Large: ");
    memset(large + used, 'b', 10 << 20);
    sprintf(large + used + (10 << 20), "\r\nContent-Length: 0\r\n\r\n");
    const struct sbx_http_answer floods[] = {
        {.behaviour = SBX_HTTP_TEXT, .text = many},
        {.behaviour = SBX_HTTP_TEXT, .text = large},
        {.behaviour = SBX_HTTP_CONTINUES},
        {.behaviour = SBX_HTTP_HEADERS},
        {.behaviour = SBX_HTTP_FLOOD},
        {.behaviour = SBX_HTTP_TEXT, .text = "HTTP/1.1 100 Continue\r\n\r\n"}, /* and then nothing */
    };
    for (size_t i = 0; i < sizeof floods / sizeof floods[0]; i++) {
        flood(&floods[i]);
    }
    free(many);
    free(large);
}

/* ---- NET-10 ---- */

static void test_net_10_answers_that_are_lost_leave_one_copy(void **state)
{
    enum {
        PAYLOADS = 4,
        LOST = 5
    };
    struct sbx_collector_process collector;
    struct hand_clock hand;
    char url[64];
    sbx_collector_process_start(&collector);
    struct sbx_relay *relay = sbx_relay_start(collector.port, LOST);
    snprintf(url, sizeof url, "http://127.0.0.1:%u", sbx_relay_port(relay));
    struct sbx_spool *spool = sbx_test_spool(*state, NULL);
    struct sbx_deliverer *deliverer = sbx_deliverer_create(spool, url, NULL);
    set_up_clock(&hand, UINT64_C(1700000000000));
    sbx_deliverer_set_clock(deliverer, &hand.clock);
    for (uint32_t i = 1; i <= PAYLOADS; i++) {
        assert_int_equal(sbx_test_put(spool, i), 0);
    }
    unsigned steps = 0;
    for (uint64_t due_ms; (due_ms = sbx_deliverer_step(deliverer)) != UINT64_MAX; steps++) {
        assert_true(steps < 50);
        pass(&hand, due_ms);
    }
    assert_int_equal(sbx_test_counts(deliverer).sent, PAYLOADS);
    assert_int_equal(sbx_test_counts(deliverer).later, LOST);
    assert_int_equal(sbx_collector_process_stored(&collector), PAYLOADS);
    assert_int_equal(sbx_collector_process_duplicates(&collector), LOST); /* sent again, and recognized as known */
    sbx_deliverer_destroy(deliverer);
    sbx_spool_close(spool);
    sbx_relay_stop(relay);
    sbx_collector_process_stop(&collector);
}

/* ---- NET-12, NET-13: the world meanwhile ---- */

struct day_gate {
    struct sbx_delivery_terms terms;
    struct sbx_day_budget budget;
    struct hand_clock *hand; /* NULL: the day does not change */
};

static void turn(struct day_gate *gate)
{
    if (gate->hand != NULL) {
        sbx_day_budget_turn(&gate->budget, atomic_load(&gate->hand->wall_ms) / 1000);
    }
}

static bool may_send(void *context, uint64_t bytes)
{
    struct day_gate *gate = context;
    turn(gate);
    return sbx_day_budget_allows_bytes(&gate->budget, &gate->terms, bytes, sbx_upload_conditions());
}

static void was_sent(void *context, uint64_t bytes)
{
    struct day_gate *gate = context;
    turn(gate);
    sbx_day_budget_take_bytes(&gate->budget, bytes, sbx_upload_conditions());
}

struct stepping {
    pthread_t thread;
    struct sbx_deliverer *deliverer;
    uint64_t due_ms;
};

static void *step(void *context)
{
    struct stepping *stepping = context;
    stepping->due_ms = sbx_deliverer_step(stepping->deliverer);
    return NULL;
}

static void wait_for_connection(struct sbx_http_server *server, size_t count)
{
    while (sbx_http_server_connection_count(server) < count) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

static void test_net_12_a_network_that_becomes_metered_gets_the_payload_at_hand_and_no_other(void **state)
{
    const struct sbx_http_answer slow = {.behaviour = SBX_HTTP_DRIP};
    const char *conditions = sbx_test_path(*state, "conditions");
    char variable[300];
    snprintf(variable, sizeof variable, "@%s", conditions);
    setenv(SBX_ENV_CONDITIONS, variable, 1);
    sbx_test_write(conditions, "unmetered charging idle\n", 24);
    struct day_gate gate = {.terms = {.bytes_day = 1 << 20, .bytes_day_metered = 0, .upload_conditions = 0}};
    const struct sbx_delivery_gate asked = {.context = &gate, .may_send = may_send, .was_sent = was_sent};
    struct sbx_http_server *server = sbx_http_server_start(0, &slow, 1);
    struct sbx_spool *spool = sbx_test_spool(*state, NULL);
    struct stepping stepping = {.deliverer = sbx_deliverer_create(spool, sbx_http_server_url(server), NULL)};
    sbx_deliverer_set_gate(stepping.deliverer, &asked);
    for (uint32_t i = 1; i <= 3; i++) {
        assert_int_equal(sbx_test_put(spool, i), 0);
    }
    assert_int_equal(pthread_create(&stepping.thread, NULL, step, &stepping), 0);
    wait_for_connection(server, 1);
    sbx_test_write(conditions, "\n", 1); /* roaming, on battery, in use */
    pthread_join(stepping.thread, NULL);
    assert_int_equal(sbx_test_counts(stepping.deliverer).sent, 1);
    assert_int_equal(sbx_http_server_connection_count(server), 1);
    assert_true(stepping.due_ms > 0 && stepping.due_ms <= 60000); /* it asks again within a minute */
    sbx_test_write(conditions, "unmetered\n", 10);
    assert_true(sbx_deliverer_step(stepping.deliverer) == UINT64_MAX);
    assert_int_equal(sbx_http_server_request_count(server), 3);
    unsetenv(SBX_ENV_CONDITIONS);
    sbx_deliverer_destroy(stepping.deliverer);
    sbx_spool_close(spool);
    sbx_http_server_stop(server);
}

static void test_net_08_the_end_of_a_run_breaks_off_an_attempt_that_hangs(void **state)
{
    const struct sbx_http_answer hang = {.behaviour = SBX_HTTP_STALL};
    const struct sbx_redaction redaction = sbx_scene_redaction(1);
    struct sbx_http_server *server = sbx_http_server_start(0, &hang, 1);
    struct sbx_spool *spool = sbx_test_spool(*state, NULL);
    struct sbx_courier_counts counts;
    struct timespec begin, end;
    assert_int_equal(sbx_test_put(spool, 1), 0);
    struct sbx_courier *courier =
        sbx_courier_start(spool, &redaction, sbx_http_server_url(server), NULL, NULL, NULL, NULL);
    assert_non_null(courier);
    wait_for_connection(server, 1);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    sbx_courier_finish(courier, 300, &counts);
    clock_gettime(CLOCK_MONOTONIC, &end);
    assert_true(end.tv_sec - begin.tv_sec < 12); /* the server would hold it for 20 s, and curl for 30 */
    assert_int_equal(counts.waiting, 1);
    assert_int_equal(counts.sent, 0);
    assert_false(sbx_test_exists(sbx_test_path(*state, ".deliver.state"))); /* it would say nothing about the server */
    sbx_spool_close(spool);
    sbx_http_server_stop(server);
}

static void test_net_13_a_machine_that_slept_over_midnight_retries_on_the_new_days_budget(void **state)
{
    const uint64_t half_past_eleven_ms = (UINT64_C(19700) * 86400 + 23 * 3600 + 1800) * 1000;
    const struct sbx_http_answer asleep = {.behaviour = SBX_HTTP_STALL, .bytes = 300}; /* the other side gave up */
    uint8_t id[16];
    size_t bytes;
    free(sbx_test_payload(1, id, &bytes));
    struct hand_clock hand;
    set_up_clock(&hand, half_past_eleven_ms);
    struct day_gate gate = {
        .terms = {.bytes_day = (uint32_t)(bytes * 5 / 2), .bytes_day_metered = (uint32_t)(bytes * 5 / 2)},
        .hand = &hand};
    sbx_day_budget_turn(&gate.budget, half_past_eleven_ms / 1000);
    sbx_day_budget_take_bytes(&gate.budget, bytes * 3 / 2, 0); /* there is room for one more today */
    const struct sbx_delivery_gate asked = {.context = &gate, .may_send = may_send, .was_sent = was_sent};
    struct sbx_http_server *server = sbx_http_server_start(0, &asleep, 1);
    struct sbx_spool *spool = sbx_test_spool(*state, NULL);
    struct stepping stepping = {.deliverer = sbx_deliverer_create(spool, sbx_http_server_url(server), NULL)};
    sbx_deliverer_set_gate(stepping.deliverer, &asked);
    sbx_deliverer_set_clock(stepping.deliverer, &hand.clock);
    for (uint32_t i = 1; i <= 3; i++) {
        assert_int_equal(sbx_test_put(spool, i), 0);
    }
    assert_int_equal(pthread_create(&stepping.thread, NULL, step, &stepping), 0);
    wait_for_connection(server, 1);
    pass(&hand, 3600000); /* the lid is opened half an hour after midnight */
    pthread_join(stepping.thread, NULL);
    assert_int_equal(sbx_test_counts(stepping.deliverer).sent, 0);
    assert_true(stepping.due_ms <= 1000); /* like any broken connection */
    pass(&hand, 1000);
    uint64_t due_ms = sbx_deliverer_step(stepping.deliverer);
    assert_int_equal(sbx_http_server_request_count(server),
                     2); /* two fit into the new day; the failed try did not count */
    assert_true(due_ms > 0 && due_ms <= 60000);
    assert_int_equal(gate.budget.day, 19701);
    assert_int_equal(gate.budget.bytes,
                     sbx_http_server_request(server, 0)->body_bytes + sbx_http_server_request(server, 1)->body_bytes);
    pass(&hand, 24 * 3600000);
    assert_true(sbx_deliverer_step(stepping.deliverer) == UINT64_MAX);
    assert_int_equal(sbx_http_server_request_count(server), 3);
    sbx_deliverer_destroy(stepping.deliverer);
    sbx_spool_close(spool);
    sbx_http_server_stop(server);
}

int main(void)
{
#define TRANSFER_TEST(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_net_01_resets_at_each_kind_of_byte_are_tried_again_with_the_same_bytes),
        cmocka_unit_test(test_net_06_floods_of_headers_and_interim_answers_are_cut_off_in_little_memory),
        TRANSFER_TEST(test_net_10_answers_that_are_lost_leave_one_copy),
        TRANSFER_TEST(test_net_12_a_network_that_becomes_metered_gets_the_payload_at_hand_and_no_other),
        TRANSFER_TEST(test_net_08_the_end_of_a_run_breaks_off_an_attempt_that_hangs),
        TRANSFER_TEST(test_net_13_a_machine_that_slept_over_midnight_retries_on_the_new_days_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
