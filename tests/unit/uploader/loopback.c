/* SPDX-License-Identifier: Apache-2.0 */
/* loopback.c - listen, poll, accept; a byte in a pipe ends the thread. */
#include "loopback.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

struct sbx_loopback {
    int listener, stop_pipe[2];
    uint16_t port;
    void (*serve)(void *context, int connection);
    void *context;
    pthread_t thread;
};

static _Noreturn void give_up(const char *what)
{
    perror(what);
    abort();
}

static int listen_on(uint16_t port, uint16_t *port_out)
{
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof address;
    int yes = 1;
    if (listener < 0 || setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
        bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 16) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &bytes) != 0) {
        give_up("loopback: listen");
    }
    *port_out = ntohs(address.sin_port);
    return listener;
}

static void *run(void *context)
{
    struct sbx_loopback *loopback = context;
    for (;;) {
        struct pollfd ends[2] = {{.fd = loopback->listener, .events = POLLIN},
                                 {.fd = loopback->stop_pipe[0], .events = POLLIN}};
        if (poll(ends, 2, -1) < 0) {
            if (errno != EINTR) {
                give_up("loopback: poll");
            }
            continue;
        }
        if (ends[1].revents != 0) {
            return NULL;
        }
        int connection = accept4(loopback->listener, NULL, NULL, SOCK_CLOEXEC);
        if (connection >= 0) {
            loopback->serve(loopback->context, connection);
            close(connection);
        }
    }
}

struct sbx_loopback *sbx_loopback_start(uint16_t port, void (*serve)(void *context, int connection), void *context)
{
    struct sbx_loopback *loopback = calloc(1, sizeof *loopback);
    if (loopback == NULL || pipe2(loopback->stop_pipe, 0) != 0) {
        give_up("loopback: pipe");
    }
    loopback->listener = listen_on(port, &loopback->port);
    loopback->serve = serve;
    loopback->context = context;
    if (pthread_create(&loopback->thread, NULL, run, loopback) != 0) {
        give_up("loopback: pthread_create");
    }
    return loopback;
}

uint16_t sbx_loopback_port(const struct sbx_loopback *loopback)
{
    return loopback->port;
}

void sbx_loopback_stop(struct sbx_loopback *loopback)
{
    if (write(loopback->stop_pipe[1], "x", 1) != 1) {
        give_up("loopback: write");
    }
    pthread_join(loopback->thread, NULL);
    close(loopback->listener);
    close(loopback->stop_pipe[0]);
    close(loopback->stop_pipe[1]);
    free(loopback);
}

uint16_t sbx_loopback_free_port(void)
{
    uint16_t port;
    close(listen_on(0, &port));
    return port;
}
