/* SPDX-License-Identifier: Apache-2.0 */
/* network.c - a server that is slow, full, or silent. Everything on the loopback interface. */
#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <resolv.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "stall.h"

static struct sockaddr_in server;

/* A listening socket, or a datagram socket, on a port of its own. */
static int listen_here(int type, int backlog)
{
    socklen_t bytes = sizeof server;
    int listener = socket(AF_INET, type, 0);
    server = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    if (listener < 0 || bind(listener, (struct sockaddr *)&server, sizeof server) != 0 ||
        (type == SOCK_STREAM && listen(listener, backlog) != 0) ||
        getsockname(listener, (struct sockaddr *)&server, &bytes) != 0) {
        abort();
    }
    return listener;
}

/* A process that answers 1.5 s after a question. */
static void start_slow_server(void)
{
    int listener = listen_here(SOCK_STREAM, 8);
    if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;) {
            char request[64];
            int client = accept(listener, NULL, NULL);
            if (client >= 0 && recv(client, request, sizeof request, 0) > 0) {
                stall_pause_ms(stall_ms);
                send(client, "answer", 6, MSG_NOSIGNAL);
            }
        }
    }
    close(listener);
}

static int ask(void)
{
    int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(client, (struct sockaddr *)&server, sizeof server) != 0 || send(client, "ask", 3, MSG_NOSIGNAL) != 3) {
        abort();
    }
    return client;
}

static STALL_FUNCTION void fetch_prices(int n)
{
    char answer[16];
    int client = ask();
    stall_sink += (uint64_t)recv(client, answer, sizeof answer, 0) + (uint64_t)n;
    close(client);
}

static STALL_FUNCTION void read_prices(int n)
{
    char answer[16];
    int client = ask();
    stall_sink += (uint64_t)read(client, answer, sizeof answer) + (uint64_t)n;
    close(client);
}

static STALL_FUNCTION void poll_prices(int n)
{
    char answer[16];
    int client = ask();
    struct pollfd ready = {.fd = client, .events = POLLIN};
    if (poll(&ready, 1, 5000) == 1) {
        stall_sink += (uint64_t)recv(client, answer, sizeof answer, 0) + (uint64_t)n;
    }
    close(client);
}

/* ---- a listener whose queue is full: the kernel drops what comes ---- */

static void fill_backlog(void)
{
    listen_here(SOCK_STREAM, 0);
    for (int i = 0; i < 4; i++) {
        int client = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        connect(client, (struct sockaddr *)&server, sizeof server);
    }
}

static STALL_FUNCTION void dial_broker(int n)
{
    stall_end_after_ms(1800);
    int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct timeval limit = {1, 500000};
    setsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    connect(client, (struct sockaddr *)&server, sizeof server);
    close(client);
    stall_sink += (uint64_t)n;
}

/* ---- a name server that never answers ---- */

static void silence_name_server(void)
{
    listen_here(SOCK_DGRAM, 0);
}

static STALL_FUNCTION void find_peer(int n)
{
    struct addrinfo *found = NULL, wanted = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
    res_init();
    _res.nscount = 1;
    _res.nsaddr_list[0] = server;
    _res.retrans = 2;
    _res.retry = 1;
    if (getaddrinfo("updates.stall.example", "80", &wanted, &found) == 0) {
        freeaddrinfo(found);
    }
    stall_sink += (uint64_t)n;
}

const struct stall stalls_network[] = {
    {.name = "network_recv", .prepare = start_slow_server, .message = fetch_prices},
    {.name = "network_read", .prepare = start_slow_server, .message = read_prices},
    {.name = "network_poll", .prepare = start_slow_server, .message = poll_prices},
    {.name = "network_connect", .prepare = fill_backlog, .message = dial_broker},
    {.name = "network_lookup", .prepare = silence_name_server, .message = find_peer},
    {.name = NULL},
};
