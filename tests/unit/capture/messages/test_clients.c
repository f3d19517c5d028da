/* SPDX-License-Identifier: Apache-2.0 */
/* test_clients.c - sends a question, waits for the answer, and repeats. */
#include "test_clients.h"

#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

#include "recorded_process.h"

enum {
    CLIENTS_MOST = 16
};

struct client {
    int count;
    long pause_ms;
    int is_one_connection;
    pthread_t thread;
};

static struct sockaddr_in address;
static struct client clients[CLIENTS_MOST];
static int client_count;

int child_listen(void)
{
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t bytes = sizeof address;
    bool listens = listener >= 0 && bind(listener, (struct sockaddr *)&address, bytes) == 0 &&
                   listen(listener, 16) == 0 && getsockname(listener, (struct sockaddr *)&address, &bytes) == 0;
    child_expect(listens, "a listening socket");
    return listener;
}

static int connect_to_server(void)
{
    int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    child_expect(connect(connection, (struct sockaddr *)&address, sizeof address) == 0, "a connection");
    return connection;
}

static void *ask(void *argument)
{
    const struct client *client = argument;
    int connection = -1;
    for (int i = 0; i < client->count; i++) {
        char answer;
        child_pause_ms(client->pause_ms);
        connection = connection < 0 ? connect_to_server() : connection;
        child_expect(send(connection, "q", 1, MSG_NOSIGNAL) == 1, "a question sent");
        if (client->is_one_connection == 2) { /* it does not look at the answer for a while */
            child_pause_ms(client->pause_ms);
        }
        if (client->is_one_connection == 3 && i + 1 < client->count) {
            continue;
        }
        (void)recv(connection, &answer, 1, 0);
        if (client->is_one_connection == 0) {
            close(connection);
            connection = -1;
        }
    }
    if (connection >= 0) {
        close(connection);
    }
    return NULL;
}

void child_ask_later(int count, long pause_ms, int is_one_connection)
{
    struct client *client = &clients[client_count++];
    *client = (struct client){.count = count, .pause_ms = pause_ms, .is_one_connection = is_one_connection};
    child_expect(pthread_create(&client->thread, NULL, ask, client) == 0, "a thread");
}

void child_await_clients(void)
{
    while (client_count > 0) {
        pthread_join(clients[--client_count].thread, NULL);
    }
}
