/* SPDX-License-Identifier: Apache-2.0 */
/* test_redis_node.c - a peer that is not a Redis server, or a hostile one: each case ends with an error message, none
 * hangs. */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "redis_link.h"

/* What the server answers to every request. */
struct manner {
    const char *says;    /* repeated, unless `is_once` */
    bool is_once;        /* and then it sends nothing more */
    bool hangs_up;       /* after that */
    unsigned drip_ms;    /* between two bytes */
    const char *is_told; /* expected in the client's message */
    const char *or_told; /* or this, on a machine that is too busy; NULL: nothing else */
};
static const struct manner *manner;
static int listener;
static unsigned port;
static atomic_bool is_over;

/* Send the bytes to one client until it disconnects. */
static void talk(int client)
{
    char bytes[4096];
    size_t length = strlen(manner->says);
    if (read(client, bytes, sizeof bytes) <= 0) {
        return;
    }
    for (bool goes_on = true; goes_on && !atomic_load(&is_over); goes_on = !manner->is_once) {
        for (size_t at = 0; at < length && !atomic_load(&is_over);) {
            size_t part = manner->drip_ms > 0 ? 1 : length - at;
            if (send(client, manner->says + at, part, MSG_NOSIGNAL) <= 0) {
                return;
            }
            at += part;
            usleep(manner->drip_ms * 1000);
        }
    }
    struct pollfd wait = {.fd = client, .events = POLLIN};
    while (!manner->hangs_up && !atomic_load(&is_over) && (poll(&wait, 1, 20) == 0 || read(client, bytes, 4096) > 0)) {
    }
}

static void *serve(void *context)
{
    (void)context;
    for (;;) {
        int client = accept(listener, NULL, NULL);
        if (client < 0 || atomic_load(&is_over)) {
            return NULL;
        }
        talk(client);
        close(client);
    }
}

/* Send two requests to such a server and compare the client's message. */
static void ask(const struct manner *wanted, bool is_cluster)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof address;
    struct sbx_redis_url url;
    struct sbx_redis_command commands[2] = {{.key = 1}, {.key = 1}};
    char text[64], why[SBX_REDIS_WHY_BYTES] = "";
    pthread_t server;
    manner = wanted;
    atomic_store(&is_over, false);
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (const struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(listener, 8), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &bytes), 0);
    port = ntohs(address.sin_port);
    assert_int_equal(pthread_create(&server, NULL, serve, NULL), 0);

    snprintf(text, sizeof text, "%s127.0.0.1:%u", is_cluster ? "redis+cluster://" : "redis://", port);
    assert_int_equal(sbx_redis_url_parse(text, &url, why, sizeof why), 0);
    struct sbx_redis_link *link = sbx_redis_link_create(&url);
    for (size_t i = 0; i < 2; i++) {
        sbx_redis_command_add(&commands[i], "GET", 3);
        sbx_redis_command_add(&commands[i], "key", 3);
    }
    time_t begin = time(NULL);
    assert_true(sbx_redis_link_run(link, commands, 2, SBX_REDIS_READ, why) < 0);
    assert_true(time(NULL) - begin < 40); /* only that it ends */
    if (strstr(why, wanted->is_told) == NULL && (wanted->or_told == NULL || strstr(why, wanted->or_told) == NULL)) {
        fail_msg("of \"%.40s\" it says: %s", wanted->says, why);
    }
    for (const char *c = why; *c != '\0'; c++) {
        assert_true(*c >= 0x20 && *c < 0x7f);
    }
    sbx_redis_commands_finish(commands, 2);
    sbx_redis_link_destroy(link);
    atomic_store(&is_over, true);
    shutdown(listener, SHUT_RDWR);
    pthread_join(server, NULL);
    close(listener);
}

static void test_what_is_no_server_is_said(void **state)
{
    (void)state;
    static const struct manner manners[] = {
        {.says = "", .is_once = true, .hangs_up = true, .is_told = "closed the connection"},
        {.says = "HTTP/1.1 400 Bad Request\r\n\r\n", .is_once = true, .is_told = "Protocol error"},
        {.says = "-ERR \x1b[31mred\x07\r\n-ERR no\r\n", .is_once = true, .is_told = "ERR ?[31mred?"},
        {.says = "+OK\r\n+O", .is_once = true, .hangs_up = true, .is_told = "closed the connection"},
    };
    for (size_t i = 0; i < sizeof manners / sizeof manners[0]; i++) {
        ask(&manners[i], false);
    }
}

static void test_answers_without_measure_are_not_taken(void **state)
{
    (void)state;
    static const struct manner manners[] = {
        {.says = "*1000000000\r\n", .is_once = true, .is_told = "Out of memory"},
        {.says = "*2147483647\r\n", .is_once = true, .is_told = ""},
        {.says = "*-5\r\n", .is_once = true, .is_told = "Multi-bulk length"},
        {.says = "$-7\r\n", .is_once = true, .is_told = "Bulk string length"},
        {.says = "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n",
         .is_once = true,
         .is_told = "nested"},
    };
    for (size_t i = 0; i < sizeof manners / sizeof manners[0]; i++) {
        ask(&manners[i], false);
    }
    /* A text that claims to have nine gigabytes, and never ends. */
    char *endless = malloc(1 << 20);
    memset(endless, 'x', 1 << 20);
    memcpy(endless, "$9000000000\r\n", 13);
    endless[(1 << 20) - 1] = '\0';
    const struct manner manner_of_it = {
        .says = endless, .is_told = "larger than", .or_told = "does not answer in time"};
    ask(&manner_of_it, false);
    free(endless);
}

/* In each case the client waits until its time is over, so the cases run at the same time. */
static void test_a_server_that_stops_drips_or_leads_away_is_left(void **state)
{
    (void)state;
    static const struct manner manners[] = {
        {.says = "$5\r\nab", .is_once = true, .is_told = "does not answer in time"},
        {.says = "$5000\r\nabcdefgh", .drip_ms = 100, .is_told = "does not answer in time"},
        /* All slots are on a port where no server listens. */
        {.says = "*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$9\r\n127.0.0.1\r\n:1\r\n",
         .is_told = "127.0.0.1:1: Connection refused"},
    };
    pid_t pids[3];
    for (size_t i = 0; i < 3; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            ask(&manners[i], i == 2);
            _exit(77); /* a failed check does not get here */
        }
    }
    for (size_t i = 0; i < 3; i++) {
        int status;
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 77);
    }
}

static void test_a_cluster_that_is_none_is_said(void **state)
{
    (void)state;
    const struct manner none = {.says = "-ERR This instance has cluster support disabled\r\n",
                                .is_once = true,
                                .is_told = "cluster support disabled"};
    const struct manner no_map = {.says = "*1\r\n:1\r\n", .is_once = true, .is_told = "no map"};
    ask(&none, true);
    ask(&no_map, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_no_server_is_said),
        cmocka_unit_test(test_answers_without_measure_are_not_taken),
        cmocka_unit_test(test_a_server_that_stops_drips_or_leads_away_is_left),
        cmocka_unit_test(test_a_cluster_that_is_none_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
