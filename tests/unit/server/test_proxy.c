/* SPDX-License-Identifier: Apache-2.0 */
/* test_proxy.c - visitors behind a proxy, and people who log in. */
#include <arpa/inet.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "started_server.h"

static char s3cret[] = "s3cret-of-all";
static const char *const readers[] = {"of-a-reader"}, *const senders[] = {"of-a-sender"};
static const char *const named[] = {"127.0.0.1"};

static long status_with(uint16_t port, const char *path, const char *header, const char *other)
{
    struct answer answer = ask(port, &(struct question){.path = path, .header = header, .other_header = other});
    long status = answer.status;
    answer_finish(&answer);
    return status;
}

static const char *const signs[] = {"X-Forwarded-For: 203.0.113.9", "X-Real-IP: 203.0.113.9", "Via: 1.1 front",
                                    "Forwarded: for=203.0.113.9", "X-Forwarded-Proto: https"};

static void test_who_was_handed_on_is_not_taken_for_this_machine(void **state)
{
    (void)state;
    fixture.options.token = s3cret;
    fixture_start(&fixture);
    assert_int_equal(status_with(fixture.port, "/", NULL, NULL), 200);
    for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
        assert_int_equal(status_with(fixture.port, "/", signs[i], NULL), 401);
        assert_int_equal(status_with(fixture.port, "/metrics", signs[i], NULL), 401);
        assert_int_equal(status_with(fixture.port, "/v1/snapshots", signs[i], NULL), 401);
        assert_int_equal(status_with(fixture.port, "/", signs[i], "Authorization: Bearer s3cret-of-all"), 200);
        assert_int_equal(status_with(fixture.port, "/healthz", signs[i], NULL), 200);
    }
}

static void test_without_a_token_nobody_comes_through_a_proxy(void **state)
{
    (void)state;
    struct envelope envelope = envelope_of(SBX_SCENARIO_SLEEP, 1);
    fixture_start(&fixture);
    for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++)
        assert_int_equal(status_with(fixture.port, "/", signs[i], NULL), 403);
    struct answer answer =
        ask(fixture.port,
            &(struct question){
                .path = "/v1/snapshots", .body = envelope.bytes, .body_bytes = envelope.count, .header = signs[0]});
    assert_int_equal(answer.status, 403);
    assert_true(answer_has(&answer, "--behind-proxy"));
    answer_finish(&answer);
    envelope_finish(&envelope);
}

static void test_a_server_behind_a_proxy_needs_a_token_to_start_and_an_address_to_name(void **state)
{
    (void)state;
    static const char *const name[] = {"localhost"};
    char why[300] = "";
    fixture.options.proxies = named;
    fixture.options.proxy_count = 1;
    assert_true(sbx_server_start(&fixture.options, &fixture.server, why, sizeof(why)) < 0);
    assert_non_null(strstr(why, "there is no token"));
    fixture.options.token = s3cret;
    fixture.options.proxies = name;
    assert_true(sbx_server_start(&fixture.options, &fixture.server, why, sizeof(why)) < 0);
    assert_non_null(strstr(why, "\"localhost\""));
    fixture.server = NULL;
}

/* ---- logging in ---- */

static char origin[60];

static void start_behind_proxy(void)
{
    fixture.options.read_tokens = readers;
    fixture.options.read_token_count = 1;
    fixture.options.send_tokens = senders;
    fixture.options.send_token_count = 1;
    fixture.options.proxies = named;
    fixture.options.proxy_count = 1;
    fixture_start(&fixture);
    snprintf(origin, sizeof(origin), "Origin: http://127.0.0.1:%u", fixture.port);
}

static struct answer log_in(const char *form, const char *header, const char *other)
{
    return ask(
        fixture.port,
        &(struct question){
            .path = "/login", .body = form, .body_bytes = strlen(form), .header = header, .other_header = other});
}

static void expect_login(const char *form, const char *header, long status)
{
    struct answer answer = log_in(form, header, NULL);
    assert_int_equal(answer.status, status);
    if (status != 303)
        assert_null(strstr(answer.headers.data, "Set-Cookie"));
    answer_finish(&answer);
}

/* The cookie as a header to send. */
static void read_cookie(const struct answer *answer, char header_out[120])
{
    const char *cookie = strstr(answer->headers.data, "stallbox_session=");
    assert_non_null(cookie);
    snprintf(header_out, 120, "Cookie: %.*s", (int)strcspn(cookie, ";\r\n"), cookie);
}

static void test_a_browser_is_shown_a_form_and_a_program_is_told(void **state)
{
    (void)state;
    start_behind_proxy();
    struct answer answer =
        ask(fixture.port, &(struct question){.path = "/symbols", .header = "Accept: text/html,*/*;q=0.8"});
    assert_int_equal(answer.status, 401);
    assert_true(answer_has(&answer, "action=\"/login\""));
    assert_true(answer_has(&answer, "value=\"/symbols\""));
    assert_null(strstr(answer.headers.data, "Basic")); /* the browser must not show a login window of its own */
    answer_finish(&answer);
    answer = get(fixture.port, "/v1/issues");
    assert_int_equal(answer.status, 401);
    assert_false(answer_has(&answer, "<form"));
    answer_finish(&answer);
    assert_int_equal(status_with(fixture.port, "/login", NULL, NULL), 200);
}

static void test_a_token_becomes_a_cookie_that_reads_until_logging_out(void **state)
{
    (void)state;
    char cookie[120];
    start_behind_proxy();
    struct answer answer = log_in("next=%2Fsymbols&token=of-a-reader", origin, "X-Forwarded-Proto: https");
    assert_int_equal(answer.status, 303);
    assert_non_null(strstr(answer.headers.data, "Location: /symbols\r\n"));
    assert_non_null(strstr(answer.headers.data, "; HttpOnly; SameSite=Strict; Max-Age=43200; Secure"));
    read_cookie(&answer, cookie);
    answer_finish(&answer);
    assert_int_equal(status_with(fixture.port, "/", cookie, NULL), 200);
    assert_int_equal(status_with(fixture.port, "/v1/issues", cookie, NULL), 200);
    /* The session may read, and may not write. */
    answer =
        ask(fixture.port, &(struct question){.path = "/v1/snapshots", .body = "x", .body_bytes = 1, .header = cookie});
    assert_int_equal(answer.status, 403);
    answer_finish(&answer);
    /* A page of another site cannot log the user out. */
    answer = ask(fixture.port, &(struct question){.path = "/logout",
                                                  .body = "x",
                                                  .body_bytes = 1,
                                                  .header = cookie,
                                                  .other_header = "Origin: https://evil.example"});
    assert_int_equal(answer.status, 403);
    answer_finish(&answer);
    assert_int_equal(status_with(fixture.port, "/", cookie, NULL), 200);
    answer = ask(
        fixture.port,
        &(struct question){.path = "/logout", .body = "x", .body_bytes = 1, .header = cookie, .other_header = origin});
    assert_int_equal(answer.status, 303);
    assert_non_null(strstr(answer.headers.data, "Max-Age=0"));
    answer_finish(&answer);
    assert_int_equal(status_with(fixture.port, "/", cookie, NULL), 401);
}

static void test_wrong_tokens_and_foreign_pages_get_no_cookie(void **state)
{
    (void)state;
    start_behind_proxy();
    expect_login("token=of-a-reader", NULL, 403);
    expect_login("token=of-a-reader", "Origin: https://evil.example", 403);
    expect_login("token=of-a-reade", origin, 403);
    expect_login("token=of-a-sender", origin, 403); /* it may send, but not read */
    expect_login("token=", origin, 403);
    expect_login("", origin, 403);
    expect_login("token=%00", origin, 403);
    struct answer answer = log_in("next=%2F%2Fevil.example&token=of-a-reader", origin, NULL);
    assert_int_equal(answer.status, 303);
    assert_non_null(strstr(answer.headers.data, "Location: /\r\n"));
    assert_null(strstr(answer.headers.data, "Secure"));
    answer_finish(&answer);
}

/* ---- nginx ---- */

static pid_t nginx;

static int end_nginx(void **state)
{
    if (nginx > 0) {
        kill(nginx, SIGTERM);
        waitpid(nginx, NULL, 0);
        nginx = 0;
    }
    return remove_server(state);
}

static uint16_t free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &bytes), 0);
    close(fd);
    return ntohs(address.sin_port);
}

/* Start nginx as a proxy for everything; returns its port. */
static uint16_t start_nginx(const char *more)
{
    char path[120];
    uint16_t port = free_port();
    snprintf(path, sizeof(path), "%s/nginx.conf", fixture.data_dir);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    const char *dir = fixture.data_dir;
    fprintf(file,
            "daemon off; master_process off; pid %s/nginx.pid; error_log %s/nginx.log;\nevents {}\n"
            "http { access_log off; client_body_temp_path %s/body; proxy_temp_path %s/proxy; fastcgi_temp_path %s/f;"
            " uwsgi_temp_path %s/u; scgi_temp_path %s/s;\n"
            "server { listen 127.0.0.1:%u; location / { proxy_pass http://127.0.0.1:%u; %s } } }\n",
            dir, dir, dir, dir, dir, dir, dir, port, fixture.port, more);
    assert_int_equal(fclose(file), 0);
    nginx = fork();
    assert_true(nginx >= 0);
    if (nginx == 0) {
        execlp("nginx", "nginx", "-p", dir, "-c", path, "-e", "/dev/null", (char *)NULL);
        execl("/usr/sbin/nginx", "nginx", "-p", dir, "-c", path, "-e", "/dev/null", (char *)NULL);
        _exit(127);
    }
    for (int i = 0; i < 1500; i++) {
        int status;
        if (waitpid(nginx, &status, WNOHANG) == nginx) {
            nginx = 0;
            return 0;
        }
        if (status_with(port, "/healthz", NULL, NULL) == 200)
            return port;
        sleep_ms(20);
    }
    fail_msg("nginx does not answer");
    return 0;
}

static void test_nothing_is_open_behind_nginx_as_it_comes(void **state)
{
    (void)state;
    fixture.options.token = s3cret;
    fixture_start(&fixture);
    uint16_t port = start_nginx("");
    if (port == 0)
        skip();
    static const char *const paths[] = {"/", "/metrics", "/v1/snapshots", "/v1/issues", "/symbols"};
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        assert_int_equal(status_with(port, paths[i], NULL, NULL), 401);
        assert_int_equal(status_with(port, paths[i], "Host: 127.0.0.1", NULL), 401);
        assert_int_equal(status_with(port, paths[i], "Authorization: Bearer s3cret-of-all", NULL), 200);
    }
    assert_int_equal(status_with(fixture.port, "/", NULL, NULL), 200); /* the machine itself has access as before */
}

static void test_people_log_in_through_nginx(void **state)
{
    (void)state;
    char cookie[120], own[60];
    start_behind_proxy();
    uint16_t port = start_nginx("proxy_set_header Host $http_host; proxy_set_header X-Forwarded-Proto https;"
                                " proxy_set_header X-Forwarded-For $remote_addr;");
    if (port == 0)
        skip();
    static const char form[] = "token=of-a-reader&next=%2F";
    snprintf(own, sizeof(own), "Origin: https://127.0.0.1:%u", port);
    assert_int_equal(status_with(port, "/", NULL, NULL), 401);
    struct answer answer =
        ask(port, &(struct question){.path = "/login", .body = form, .body_bytes = sizeof(form) - 1, .header = own});
    assert_int_equal(answer.status, 303);
    assert_non_null(strstr(answer.headers.data, "; Secure"));
    read_cookie(&answer, cookie);
    answer_finish(&answer);
    assert_int_equal(status_with(port, "/", cookie, NULL), 200);
}

int main(void)
{
#define PREPARED(name) cmocka_unit_test_setup_teardown(name, prepare_server, end_nginx)
    const struct CMUnitTest tests[] = {
        PREPARED(test_who_was_handed_on_is_not_taken_for_this_machine),
        PREPARED(test_without_a_token_nobody_comes_through_a_proxy),
        PREPARED(test_a_server_behind_a_proxy_needs_a_token_to_start_and_an_address_to_name),
        PREPARED(test_a_browser_is_shown_a_form_and_a_program_is_told),
        PREPARED(test_a_token_becomes_a_cookie_that_reads_until_logging_out),
        PREPARED(test_wrong_tokens_and_foreign_pages_get_no_cookie),
        PREPARED(test_nothing_is_open_behind_nginx_as_it_comes),
        PREPARED(test_people_log_in_through_nginx),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
