/* SPDX-License-Identifier: Apache-2.0 */
/* test_tenants.c - two applications on one server, and every route with a token of the other application. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <curl/curl.h>

#include "names.h"
#include "routes.h"
#include "started_server.h"
#include "token_book.h"

enum {
    SHOP,
    MAIL,
    APPS
};
static const char *const app_names[APPS] = {"shop", "mail"};

/* A header with a secret, and the token's id. */
struct holder {
    char header[128], id[SBX_TOKEN_ID_TEXT], secret[SBX_TOKEN_SECRET_BYTES];
};
static struct holder senders[APPS], readers[APPS], admins[APPS], builders[APPS], root;
static char book[128];

static struct holder hold(unsigned rights, const char *app, uint32_t an_hour, int64_t ends_s)
{
    struct holder holder;
    struct sbx_token token = {.rights = rights, .an_hour = an_hour, .ends_s = ends_s};
    char why[300];
    if (app) {
        snprintf(token.app, sizeof(token.app), "%s", app);
        token.has_policy_id = true;
        memset(token.policy_id, app[0], sizeof(token.policy_id));
    }
    assert_int_equal(sbx_token_book_add(book, &token, holder.secret, why, sizeof(why)), 0);
    memcpy(holder.id, token.id, sizeof(holder.id));
    snprintf(holder.header, sizeof(holder.header), "Authorization: Bearer %s", holder.secret);
    return holder;
}

static int set_up(void **state)
{
    prepare_server(state);
    snprintf(book, sizeof(book), "%s/tokens", fixture.data_dir);
    for (int i = 0; i < APPS; i++) {
        senders[i] = hold(SBX_RIGHT_SEND, app_names[i], 0, 0);
        readers[i] = hold(SBX_RIGHT_READ, app_names[i], 0, 0);
        admins[i] = hold(SBX_RIGHT_ALL, app_names[i], 0, 0);
        builders[i] = hold(SBX_RIGHT_SYMBOLS, app_names[i], 0, 0);
    }
    root = hold(SBX_RIGHT_ALL, NULL, 0, 0);
    fixture_start(&fixture);
    return 0;
}

static struct answer ask_as(const struct holder *holder, const char *method, const char *path, const void *body,
                            size_t bytes)
{
    return ask(fixture.port, &(struct question){.method = method,
                                                .path = path,
                                                .body = body,
                                                .body_bytes = bytes,
                                                .header = holder ? holder->header : NULL});
}

static long status_as(const struct holder *holder, const char *method, const char *path, const char *body)
{
    struct answer answer = ask_as(holder, method, path, body, body ? strlen(body) : 0);
    answer_finish(&answer);
    return answer.status;
}

/* A stall of an application, with a version that occurs nowhere else. */
static struct envelope envelope_of_app(const char *app, uint64_t seed, uint32_t version)
{
    struct sbx_payload_builder *builder;
    assert_true(sbx_scenario_build(SBX_SCENARIO_SLEEP, false, seed, &builder));
    Stallbox__V1__Payload *payload = sbx_builder_payload(builder);
    payload->app_name = app ? sbx_app_what(app) : 0;
    for (size_t i = 0; i < payload->n_app_version; i++)
        payload->app_version[i] = version + (uint32_t)i;
    return envelope_of_builder(builder);
}

static long post_as(const struct holder *holder, const struct envelope *envelope)
{
    struct answer answer = ask_as(holder, "POST", "/v1/snapshots", envelope->bytes, envelope->count);
    answer_finish(&answer);
    return answer.status;
}

/* Post a stall, wait for its verdict, and return its issue. */
static void put_stall(int app, uint64_t seed, char id_out[33], char issue_out[33])
{
    struct envelope envelope = envelope_of_app(app_names[app], seed, 4100 + 100 * (uint32_t)app);
    char path[80];
    assert_int_equal(post_as(&senders[app], &envelope), 200);
    memcpy(id_out, envelope.id, 33);
    snprintf(path, sizeof(path), "/v1/snapshots/%s", envelope.id);
    for (int waited = 0; waited < 3000; waited++) {
        struct answer answer = ask_as(&readers[app], NULL, path, NULL, 0);
        const char *issue = answer.status == 200 && answer_has(&answer, "\"triaged\"")
                                ? strstr(answer.body.data, "\"issue\":\"")
                                : NULL;
        if (issue)
            snprintf(issue_out, 33, "%s", issue + 9);
        answer_finish(&answer);
        if (issue) {
            envelope_finish(&envelope);
            return;
        }
        sleep_ms(20);
    }
    fail_msg("no verdict");
}

static char stalls[APPS][33], issues[APPS][33];

static void put_both(void)
{
    put_stall(SHOP, 1, stalls[SHOP], issues[SHOP]);
    put_stall(MAIL, 2, stalls[MAIL], issues[MAIL]);
    assert_string_not_equal(issues[SHOP], issues[MAIL]); /* the same place in two applications */
}

/* Only the application itself may get this. */
static void expect_silence(const struct answer *answer, int app, const char *path)
{
    char version[16];
    snprintf(version, sizeof(version), "%u.%u", 4100 + 100 * (unsigned)app, 4101 + 100 * (unsigned)app);
    if (answer_has(answer, stalls[app]) || answer_has(answer, issues[app]) || answer_has(answer, version))
        fail_msg("%s tells of %s: %s", path, app_names[app], answer->body.data);
}

/* ---- reading ---- */

static void test_every_path_tells_a_reader_of_one_application_nothing_of_another(void **state)
{
    (void)state;
    size_t own = 0, paths = 0;
    put_both();
    for (const char *route; (route = sbx_route_path(paths)) != NULL; paths++) {
        bool has_id = route[strlen(route) - 1] == '/';
        const char *const suffixes[] = {"",        ".json", ".perfetto",         ".pprof",
                                        ".folded", ".sbx",  "?since=2000-01-01", "?app="};
        for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
            char path[200], own_path[200];
            const char *id = strstr(route, "issues") ? issues[SHOP] : stalls[SHOP];
            snprintf(path, sizeof(path), "%s%s%s", route, has_id ? id : "", suffixes[i]);
            snprintf(own_path, sizeof(own_path), "%s%s%s", route,
                     has_id ? strstr(route, "issues") ? issues[MAIL] : stalls[MAIL] : "", suffixes[i]);
            struct answer answer = ask_as(&readers[MAIL], NULL, path, NULL, 0);
            expect_silence(&answer, SHOP, path);
            if (has_id && answer.status < 400)
                fail_msg("%s: %ld", path, answer.status);
            answer_finish(&answer);
            answer = ask_as(&readers[MAIL], NULL, own_path, NULL, 0);
            expect_silence(&answer, SHOP, own_path);
            own += (size_t)(answer_has(&answer, stalls[MAIL]) || answer_has(&answer, issues[MAIL]));
            answer_finish(&answer);
        }
    }
    assert_true(paths > 15);
    assert_true(own > 10); /* and it gets its own */
}

static void test_settings_are_for_who_may_do_everything_and_have_no_secrets(void **state)
{
    (void)state;
    const struct holder *const others[] = {&readers[SHOP], &senders[SHOP], &builders[SHOP], &admins[SHOP]};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        struct answer answer = ask_as(others[i], NULL, "/settings", NULL, 0);
        assert_int_equal(answer.status, 403);
        assert_false(answer_has(&answer, root.id));
        answer_finish(&answer);
    }
    struct answer answer = ask_as(&root, NULL, "/settings", NULL, 0);
    assert_int_equal(answer.status, 200);
    assert_true(answer_has(&answer, "Retention"));
    assert_true(answer_has(&answer, "90 days"));
    assert_true(answer_has(&answer, fixture.options.database != NULL ? "PostgreSQL" : "SQLite"));
    assert_true(answer_has(&answer, root.id) && answer_has(&answer, readers[MAIL].id) && answer_has(&answer, "mail"));
    assert_false(answer_has(&answer, root.secret) || answer_has(&answer, readers[MAIL].secret));
    assert_false(answer_has(&answer, fixture.data_dir));
    answer_finish(&answer);
    answer = ask_as(&root, NULL, "/settings?a=b", NULL, 0);
    assert_int_equal(answer.status, 400);
    answer_finish(&answer);
}

static void test_counts_are_of_what_may_be_seen(void **state)
{
    (void)state;
    struct envelope envelope;
    put_both();
    for (uint64_t seed = 10; seed < 14; seed++) {
        char id[33], issue[33];
        put_stall(SHOP, seed, id, issue);
    }
    struct answer answer = ask_as(&readers[MAIL], NULL, "/v1/sums", NULL, 0);
    assert_true(answer_has(&answer, "\"hits\":1,"));
    answer_finish(&answer);
    answer = ask_as(&readers[SHOP], NULL, "/v1/sums", NULL, 0);
    assert_true(answer_has(&answer, "\"hits\":5,"));
    answer_finish(&answer);
    answer = ask_as(&root, NULL, "/v1/sums", NULL, 0);
    assert_true(answer_has(&answer, "\"hits\":6,"));
    answer_finish(&answer);
    answer = ask_as(&readers[MAIL], NULL, "/v1/issues", NULL, 0);
    assert_true(answer_has(&answer, "\"hits\":1,") && !answer_has(&answer, "\"hits\":5,"));
    answer_finish(&answer);
    assert_int_equal(status_as(&readers[MAIL], NULL, "/metrics", NULL), 403);
    assert_int_equal(status_as(&admins[MAIL], NULL, "/metrics", NULL), 403);
    assert_int_equal(status_as(&root, NULL, "/metrics", NULL), 200);
    /* A stall that names no application, from a sender with the right for all applications. */
    envelope = envelope_of_app(NULL, 20, 9000);
    assert_int_equal(post_as(&root, &envelope), 200);
    answer = ask_as(&readers[MAIL], NULL, "/v1/snapshots", NULL, 0);
    assert_false(answer_has(&answer, envelope.id));
    answer_finish(&answer);
    answer = ask_as(&root, NULL, "/v1/snapshots", NULL, 0);
    assert_true(answer_has(&answer, envelope.id));
    answer_finish(&answer);
    envelope_finish(&envelope);
}

static void test_nobody_reads_without_a_token_where_applications_are_apart(void **state)
{
    (void)state;
    static const char *const nothing[] = {"Authorization: Bearer sbt_0", "Authorization: Basic Og==", "X-Token: 1"};
    assert_int_equal(status_as(NULL, NULL, "/", NULL), 401);
    assert_int_equal(status_as(NULL, NULL, "/v1/issues", NULL), 401);
    assert_int_equal(status_as(NULL, NULL, "/v1/symbols", NULL), 401);
    assert_int_equal(status_as(NULL, NULL, "/healthz", NULL), 200);
    for (size_t i = 0; i < 3; i++) {
        struct answer answer = ask(fixture.port, &(struct question){.path = "/v1/issues", .header = nothing[i]});
        assert_int_equal(answer.status, 401);
        answer_finish(&answer);
    }
    assert_int_equal(status_as(&senders[SHOP], NULL, "/v1/issues", NULL), 403);
    assert_int_equal(status_as(&builders[SHOP], NULL, "/v1/issues", NULL), 403);
    assert_int_equal(status_as(&builders[SHOP], NULL, "/v1/symbols", NULL), 200);
}

/* ---- writing ---- */

static void test_col_07_a_sender_of_one_application_sends_nothing_for_another(void **state)
{
    (void)state;
    struct envelope shop = envelope_of_app("shop", 1, 1), none = envelope_of_app(NULL, 2, 1);
    assert_int_equal(post_as(&senders[MAIL], &shop), 403);
    assert_int_equal(post_as(&senders[SHOP], &none), 403);
    assert_int_equal(post_as(&readers[SHOP], &shop), 403);
    assert_int_equal(post_as(NULL, &shop), 401);
    assert_int_equal(post_as(&senders[SHOP], &shop), 200);
    assert_int_equal(post_as(&senders[MAIL], &shop), 403); /* the answer does not reveal that it exists */
    assert_int_equal(post_as(&root, &none), 200);
    envelope_finish(&shop);
    envelope_finish(&none);
}

static void test_what_is_said_of_an_issue_is_its_applications_to_say(void **state)
{
    (void)state;
    char path[80], form[80];
    put_both();
    snprintf(path, sizeof(path), "/v1/issues/%s", issues[SHOP]);
    assert_int_equal(status_as(&readers[SHOP], "POST", path, "state=muted"), 403);
    assert_int_equal(status_as(&admins[MAIL], "POST", path, "state=muted"), 404);
    snprintf(form, sizeof(form), "into=%s", issues[MAIL]);
    assert_int_equal(status_as(&admins[MAIL], "POST", path, form), 404);
    assert_int_equal(status_as(&admins[SHOP], "POST", path, form), 404);
    assert_int_equal(status_as(&root, "POST", path, form), 409);
    snprintf(form, sizeof(form), "split=%s", issues[SHOP]);
    assert_int_equal(status_as(&admins[MAIL], "POST", path, form), 404);
    assert_int_equal(status_as(&admins[SHOP], "POST", path, "state=muted&owner=kim"), 200);
    struct answer answer = ask_as(&readers[SHOP], NULL, path, NULL, 0);
    assert_true(answer_has(&answer, "\"owner\":\"kim\""));
    answer_finish(&answer);
}

static void test_policies_are_put_by_their_own_application(void **state)
{
    (void)state;
    char shop[80] = "/v1/policy/", mail[80] = "/v1/policy/";
    for (int i = 0; i < 16; i++) {
        snprintf(shop + strlen(shop), 3, "%02x", 's');
        snprintf(mail + strlen(mail), 3, "%02x", 'm');
    }
    assert_int_equal(status_as(&admins[SHOP], "PUT", mail, "x"), 403);
    assert_int_equal(status_as(&admins[SHOP], "PUT", shop, "x"), 400); /* not a policy, but it was parsed */
    assert_int_equal(status_as(&root, "PUT", mail, "x"), 400);
    assert_int_equal(status_as(&readers[SHOP], "PUT", shop, "x"), 403);
}

static void test_col_09_one_token_that_sends_too_much_is_told_when_to_come_again(void **state)
{
    (void)state;
    struct holder slow = hold(SBX_RIGHT_SEND, "shop", 3, 0);
    sleep_ms(1100); /* the server checks the token file once a second */
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct envelope envelope = envelope_of_app("shop", seed, 1);
        struct answer answer = ask_as(&slow, "POST", "/v1/snapshots", envelope.bytes, envelope.count);
        assert_int_equal(answer.status, seed <= 3 ? 200 : 429);
        if (seed == 4) {
            assert_non_null(strcasestr(answer.headers.data, "retry-after: "));
            assert_int_equal(post_as(&senders[SHOP], &envelope), 200);
        }
        answer_finish(&answer);
        envelope_finish(&envelope);
    }
}

/* ---- the book ---- */

static void test_a_token_that_was_removed_or_has_ended_is_none(void **state)
{
    (void)state;
    char why[300], cookie[200] = "Cookie: ", form[200], origin[64];
    struct holder guest = hold(SBX_RIGHT_READ, "shop", 0, 0), late = hold(SBX_RIGHT_READ, "shop", 0, 1000);
    sleep_ms(1100);
    assert_int_equal(status_as(&guest, NULL, "/v1/issues", NULL), 200);
    assert_int_equal(status_as(&late, NULL, "/v1/issues", NULL), 401);
    snprintf(form, sizeof(form), "token=%s&next=/", guest.secret);
    snprintf(origin, sizeof(origin), "Origin: http://127.0.0.1:%u", fixture.port);
    struct answer answer = ask(
        fixture.port, &(struct question){.path = "/login", .body = form, .body_bytes = strlen(form), .header = origin});
    assert_int_equal(answer.status, 303);
    const char *session = strcasestr(answer.headers.data, "set-cookie: ") + 12;
    snprintf(cookie + 8, sizeof(cookie) - 8, "%.*s", (int)strcspn(session, ";"), session);
    answer_finish(&answer);
    answer = ask(fixture.port, &(struct question){.path = "/v1/issues", .header = cookie});
    assert_int_equal(answer.status, 200);
    answer_finish(&answer);
    assert_int_equal(sbx_token_book_remove(book, guest.id, why, sizeof(why)), 0);
    sleep_ms(1100);
    assert_int_equal(status_as(&guest, NULL, "/v1/issues", NULL), 401);
    answer = ask(fixture.port, &(struct question){.path = "/v1/issues", .header = cookie});
    assert_int_equal(answer.status, 401);
    answer_finish(&answer);
    assert_int_equal(status_as(&readers[SHOP], NULL, "/v1/issues", NULL), 200);
}

static void test_a_machine_day_is_counted_by_who_may_send_for_that_application(void **state)
{
    (void)state;
    char shop[80], mail[80];
    snprintf(shop, sizeof(shop), "app=%010llx&version=1.2.3", (unsigned long long)sbx_app_what("shop"));
    snprintf(mail, sizeof(mail), "app=%010llx&version=", (unsigned long long)sbx_app_what("mail"));
    assert_int_equal(status_as(&senders[SHOP], NULL, "/v1/active", shop), 200);
    assert_int_equal(status_as(&senders[MAIL], NULL, "/v1/active", mail), 200);
    assert_int_equal(status_as(&root, NULL, "/v1/active", mail), 200);
    assert_int_equal(status_as(&senders[SHOP], NULL, "/v1/active", mail), 403);
    assert_int_equal(status_as(&readers[SHOP], NULL, "/v1/active", shop), 403);
    assert_int_equal(status_as(NULL, NULL, "/v1/active", shop), 401);
    assert_int_equal(status_as(&root, "GET", "/v1/active", NULL), 405);
    static const char *const wrong[] = {"app=0000000000&version=1",
                                        "app=12&version=1",
                                        "app=0123456789",
                                        "app=0123456789&version=1.",
                                        "app=012345678x&version=1",
                                        "app=0123456789&version=1.2.3.4",
                                        "app=0123456789&version=1234567",
                                        "app=0123456789&version=1&x=y",
                                        "app=0123456789&version=%31",
                                        " "};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        if (status_as(&root, NULL, "/v1/active", wrong[i]) != 400)
            fail_msg("%s is not refused", wrong[i]);
}

int main(void)
{
    curl_global_init(CURL_GLOBAL_DEFAULT); /* before there are threads */
#define SERVED(name) cmocka_unit_test_setup_teardown(name, set_up, remove_server)
    const struct CMUnitTest tests[] = {
        SERVED(test_every_path_tells_a_reader_of_one_application_nothing_of_another),
        SERVED(test_settings_are_for_who_may_do_everything_and_have_no_secrets),
        SERVED(test_counts_are_of_what_may_be_seen),
        SERVED(test_nobody_reads_without_a_token_where_applications_are_apart),
        SERVED(test_col_07_a_sender_of_one_application_sends_nothing_for_another),
        SERVED(test_what_is_said_of_an_issue_is_its_applications_to_say),
        SERVED(test_a_machine_day_is_counted_by_who_may_send_for_that_application),
        SERVED(test_policies_are_put_by_their_own_application),
        SERVED(test_col_09_one_token_that_sends_too_much_is_told_when_to_come_again),
        SERVED(test_a_token_that_was_removed_or_has_ended_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
