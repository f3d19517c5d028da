/* SPDX-License-Identifier: Apache-2.0 */
/* test_debuginfod.c - a debuginfod server that sends without end, drips, lies, or is none.
 * tests/integration/symbol_stores tests a real one. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "debuginfod.h"

/* What the server answers to each request. */
struct manner {
    const char *head;
    const char *body; /* repeated until `body_bytes` are sent; a file if it begins with '/' */
    size_t body_bytes;
    unsigned drip_ms; /* between two bytes */
    bool is_once;     /* the body is sent once, unchanged */
};

static const uint8_t id[20] = {0x12, 0x34};
static char folder[64], url[64];
static pid_t server;

static void answer(int client, const struct manner *manner)
{
    char bytes[65536];
    if (read(client, bytes, sizeof bytes) <= 0 || send(client, manner->head, strlen(manner->head), MSG_NOSIGNAL) <= 0) {
        return;
    }
    if (manner->body[0] == '/') {
        int file = open(manner->body, O_RDONLY | O_CLOEXEC);
        ssize_t got;
        while ((got = read(file, bytes, sizeof bytes)) > 0 && send(client, bytes, (size_t)got, MSG_NOSIGNAL) > 0) {
        }
        close(file);
        return;
    }
    memset(bytes, 'x', sizeof bytes);
    size_t first = strlen(manner->body);
    memcpy(bytes, manner->body, first);
    for (size_t sent = 0; sent < manner->body_bytes;) {
        size_t part = manner->drip_ms > 0 ? 1 : manner->is_once ? first : sizeof bytes;
        if (send(client, bytes, part, MSG_NOSIGNAL) <= 0) {
            return;
        }
        sent += part;
        usleep(manner->drip_ms * 1000);
    }
}

/* In a process of its own, because the asking process has only one thread. */
static void begin_server(const struct manner *manner)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (const struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(listener, 8), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &bytes), 0);
    snprintf(url, sizeof url, "http://127.0.0.1:%u", ntohs(address.sin_port));
    strcpy(folder, "/tmp/test_debuginfod.XXXXXX");
    assert_non_null(mkdtemp(folder));
    server = manner == NULL ? 0 : fork();
    if (manner != NULL && server == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;) {
            int client = accept(listener, NULL, NULL);
            answer(client, manner);
            close(client);
        }
    }
    close(listener);
}

static void end_server(void)
{
    char command[100];
    if (server > 0) {
        kill(server, SIGKILL);
        assert_int_equal(waitpid(server, NULL, 0), server);
    }
    snprintf(command, sizeof command, "rm -rf %s", folder);
    assert_int_equal(system(command), 0);
}

/* Ask a server with that behaviour (NULL: no server). Returns the result, with a message in `why`. */
static int ask(const struct manner *manner, char why[240])
{
    struct sbx_symbol_image *image = NULL;
    why[0] = '\0';
    begin_server(manner);
    const struct sbx_debuginfod asked = {.url = url, .cache_folder = folder, .max_bytes = 1 << 20, .max_s = 1};
    int result = sbx_debuginfod_image(&asked, id, sizeof id, 0, NULL, &image, why, 240);
    end_server();
    assert_true(result != 0); /* the file exists nowhere here */
    assert_true(why[0] != '\0');
    return result;
}

static void test_what_has_no_measure_or_no_end_is_left(void **state)
{
    (void)state;
    char why[240];
    const struct manner large = {
        .head = "HTTP/1.1 200 OK\r\nContent-Length: 5000000000\r\n\r\n", .body = "", .body_bytes = 5000000000};
    const struct manner endless = {
        .head = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", .body = "", .body_bytes = SIZE_MAX - (1 << 20)};
    const struct manner drips = {
        .head = "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", .body = "", .body_bytes = 100000, .drip_ms = 100};
    assert_int_equal(ask(&large, why), -EFBIG);
    assert_int_equal(ask(&endless, why), -EFBIG);
    assert_int_equal(ask(&drips, why), -ETIME);
}

static void test_what_is_no_file_of_that_build_id_is_refused(void **state)
{
    (void)state;
    char why[240];
    const struct manner garbage = {
        .head = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", .body = "<html>no!", .body_bytes = 9, .is_once = true};
    const struct manner other = {.head = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", .body = "/bin/true"};
    assert_int_equal(ask(&garbage, why), -EBADMSG);
    assert_non_null(strstr(why, "file with this build-id"));
    assert_int_equal(ask(&other, why), -EBADMSG); /* an ELF file, but another */
    assert_non_null(strstr(why, "file with this build-id"));
}

static void test_a_server_without_it_says_so_and_one_that_is_away_is_told(void **state)
{
    (void)state;
    char why[240];
    const struct manner without = {.head = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", .body = ""};
    assert_int_equal(ask(&without, why), -ENOENT);
    assert_int_not_equal(ask(NULL, why), -ENOENT);
    assert_null(strchr(why, '\n'));
}

static void test_only_one_web_address_is_a_url(void **state)
{
    (void)state;
    static const char *const bad[] = {"",           "file:///etc/passwd", "http://a http://b",
                                      "http://a\n", "localhost",          "ftp://a"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct sbx_symbol_image *image;
        char why[240];
        const struct sbx_debuginfod asked = {.url = bad[i], .cache_folder = "/nonexistent"};
        assert_false(sbx_debuginfod_is_url(bad[i]));
        assert_int_equal(sbx_debuginfod_image(&asked, id, sizeof id, 0, NULL, &image, why, sizeof why), -EINVAL);
    }
    assert_true(sbx_debuginfod_is_url("http://127.0.0.1:8002"));
    assert_true(sbx_debuginfod_is_url("https://debuginfod.debian.net"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_has_no_measure_or_no_end_is_left),
        cmocka_unit_test(test_what_is_no_file_of_that_build_id_is_refused),
        cmocka_unit_test(test_a_server_without_it_says_so_and_one_that_is_away_is_told),
        cmocka_unit_test(test_only_one_web_address_is_a_url),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
