/* SPDX-License-Identifier: Apache-2.0 */
/* test_webhook.c - the requests that a webhook gets, over a real socket. */
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "webhook.h"

/* A server that answers one request. */
struct listener {
    int fd;
    char url[64];
    const char *answer;
    char got[4096];
    pthread_t thread;
};

static void *serve(void *argument)
{
    struct listener *listener = argument;
    int fd = accept(listener->fd, NULL, NULL);
    size_t used = 0;
    while (used + 1 < sizeof(listener->got) && !strstr(listener->got, "}")) {
        ssize_t got = read(fd, listener->got + used, sizeof(listener->got) - used - 1);
        if (got <= 0)
            break;
        used += (size_t)got;
        listener->got[used] = '\0';
    }
    (void)!write(fd, listener->answer, strlen(listener->answer));
    close(fd);
    return NULL;
}

static void listen_once(struct listener *listener, const char *answer)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof(address);
    *listener = (struct listener){.answer = answer, .fd = socket(AF_INET, SOCK_STREAM, 0)};
    assert_int_equal(bind(listener->fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(listener->fd, 4), 0);
    assert_int_equal(getsockname(listener->fd, (struct sockaddr *)&address, &bytes), 0);
    snprintf(listener->url, sizeof(listener->url), "http://127.0.0.1:%u/hook", ntohs(address.sin_port));
    assert_int_equal(pthread_create(&listener->thread, NULL, serve, listener), 0);
}

static int post(const char *answer, const char *secret, struct listener *listener, char why[200])
{
    listen_once(listener, answer);
    struct sbx_webhook *webhook = sbx_webhook_create(listener->url, secret);
    assert_non_null(webhook);
    int result = sbx_webhook_post(webhook, "{\"a\":1}", 7, 1700000000, why, 200);
    pthread_join(listener->thread, NULL);
    close(listener->fd);
    sbx_webhook_destroy(webhook);
    return result;
}

/* Calculated by `printf '1700000000.{"a":1}' | openssl dgst -sha256 -hmac secret`. */
static const char signature[] = "49f24e537407743fa4a0242bb63b94b9a47ee99cbbe071ccd8a22550ae411686";

static void test_what_is_sent_is_signed_with_the_time(void **state)
{
    (void)state;
    struct listener listener;
    char why[200] = "", wanted[200], made[SBX_WEBHOOK_SIGNATURE_BYTES];
    sbx_webhook_sign("secret", 1700000000, "{\"a\":1}", 7, made);
    snprintf(wanted, sizeof(wanted), "t=1700000000,v1=%s", signature);
    assert_string_equal(made, wanted);
    assert_int_equal(post("HTTP/1.1 204 No Content\r\n\r\n", "secret", &listener, why), 0);
    assert_non_null(strstr(listener.got, "POST /hook HTTP/1.1\r\n"));
    assert_non_null(strstr(listener.got, "Content-Type: application/json\r\n"));
    snprintf(wanted, sizeof(wanted), "Stallbox-Signature: %s\r\n", made);
    assert_non_null(strstr(listener.got, wanted));
    assert_non_null(strstr(listener.got, "\r\n\r\n{\"a\":1}"));
    assert_int_equal(post("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "", &listener, why), 0);
    assert_null(strstr(listener.got, "Stallbox-Signature"));
}

static void test_what_may_help_is_tried_again_and_what_does_not_is_not(void **state)
{
    (void)state;
    struct listener listener;
    char why[200] = "";
    assert_int_equal(post("HTTP/1.1 503 Later\r\nContent-Length: 0\r\n\r\n", "", &listener, why), -EAGAIN);
    assert_string_equal(why, "it answered 503");
    assert_int_equal(post("HTTP/1.1 429 Slow\r\nContent-Length: 0\r\n\r\n", "", &listener, why), -EAGAIN);
    assert_int_equal(post("HTTP/1.1 404 Gone\r\nContent-Length: 0\r\n\r\n", "", &listener, why), -EPROTO);
    assert_int_equal(
        post("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n", "", &listener, why),
        -EAGAIN); /* the redirection is not followed */
    assert_int_equal(post("nonsense\r\n\r\n", "", &listener, why), -EAGAIN);
    struct sbx_webhook *nobody = sbx_webhook_create("http://127.0.0.1:1/", "");
    assert_int_equal(sbx_webhook_post(nobody, "{}", 2, 1, why, sizeof(why)), -EAGAIN);
    assert_non_null(strstr(why, "connect"));
    sbx_webhook_destroy(nobody);
    sbx_webhook_destroy(NULL);
    assert_null(sbx_webhook_create("file:///etc/passwd", ""));
    assert_null(sbx_webhook_create("gopher://x", ""));
}

static void test_pauses_grow_and_end_after_a_day(void **state)
{
    (void)state;
    int64_t sum_s = 0, last_s = 0;
    int tries = 1;
    for (; sbx_webhook_pause_s(tries) != 0; tries++) {
        assert_true(sbx_webhook_pause_s(tries) >= last_s);
        sum_s += last_s = sbx_webhook_pause_s(tries);
    }
    assert_true(tries > 5 && sum_s > 80000 && sum_s < 2 * 86400);
    assert_int_equal(sbx_webhook_pause_s(0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_sent_is_signed_with_the_time),
        cmocka_unit_test(test_what_may_help_is_tried_again_and_what_does_not_is_not),
        cmocka_unit_test(test_pauses_grow_and_end_after_a_day),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
