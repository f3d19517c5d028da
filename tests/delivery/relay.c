/* SPDX-License-Identifier: Apache-2.0 */
/* relay.c - one thread, one connection at a time. */
#include "relay.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "loopback.h"

struct sbx_relay {
    struct sbx_loopback *loopback;
    uint16_t target;
    unsigned lost;
};

static _Noreturn void give_up(const char *what)
{
    perror(what);
    abort();
}

static int connect_to(uint16_t port)
{
    int end = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (end < 0 || connect(end, (const struct sockaddr *)&address, sizeof address) != 0) {
        give_up("relay: connect");
    }
    return end;
}

/* Pass bytes from one end to the other, unless they are to be lost. False when the first end has no more. */
static bool pass(int from, int to, bool is_lost)
{
    char bytes[16384];
    ssize_t got = recv(from, bytes, sizeof bytes, 0);
    for (ssize_t done = 0; done < got && !is_lost;) {
        ssize_t sent = send(to, bytes + done, (size_t)(got - done), MSG_NOSIGNAL);
        if (sent <= 0) {
            return false;
        }
        done += sent;
    }
    return got > 0;
}

static void serve(void *context, int client)
{
    struct sbx_relay *relay = context;
    int server = connect_to(relay->target);
    bool is_lost = relay->lost > 0;
    relay->lost -= is_lost;
    struct pollfd ends[2] = {{.fd = client, .events = POLLIN}, {.fd = server, .events = POLLIN}};
    while (poll(ends, 2, 20000) > 0) {
        if (ends[0].revents != 0 && !pass(client, server, false)) {
            break;
        }
        if (ends[1].revents != 0) {
            bool goes_on = pass(server, client, is_lost);
            if (!goes_on || is_lost) {
                break; /* the answer is lost once its first bytes have come */
            }
        }
    }
    if (is_lost) {
        setsockopt(client, SOL_SOCKET, SO_LINGER, &(struct linger){.l_onoff = 1, .l_linger = 0}, sizeof(struct linger));
    }
    close(server);
}

struct sbx_relay *sbx_relay_start(uint16_t port, unsigned lost)
{
    struct sbx_relay *relay = calloc(1, sizeof *relay);
    if (relay == NULL) {
        give_up("relay");
    }
    relay->target = port;
    relay->lost = lost;
    relay->loopback = sbx_loopback_start(0, serve, relay);
    return relay;
}

uint16_t sbx_relay_port(const struct sbx_relay *relay)
{
    return sbx_loopback_port(relay->loopback);
}

void sbx_relay_stop(struct sbx_relay *relay)
{
    sbx_loopback_stop(relay->loopback);
    free(relay);
}
