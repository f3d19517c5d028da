/* SPDX-License-Identifier: Apache-2.0 */
/* redis_node.c - one connection to one Redis server. */
#include "redis_node.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define REPLY_BYTES_MAX \
    ((size_t)64 << 20) /* of one reply that is not whole yet: the head of an image has 33 MB at most */
#define ALL_BYTES_MAX ((size_t)256 << 20) /* of one exchange */

enum {
    CONNECT_MS = 1000,
    IDLE_MS = 3000,
    ELEMENTS_MAX = 1 << 16, /* elements of an array: pages of SCAN and maps of slots have fewer */
    READ_BYTES = 1 << 16,
    NODES_MAX = 256
};

uint64_t sbx_redis_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000 + 1;
}

void sbx_redis_command_add(struct sbx_redis_command *command, const void *argument, size_t bytes)
{
    if (command->count < SBX_REDIS_ARGUMENTS_MAX) {
        command->arguments[command->count] = argument;
        command->bytes[command->count++] = bytes;
    }
}

void sbx_redis_commands_finish(struct sbx_redis_command *commands, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (commands[i].reply != NULL) {
            freeReplyObject(commands[i].reply);
            commands[i].reply = NULL;
        }
    }
}

/* ---- connection ---- */

static void *create_bounded_array(const redisReadTask *task, int elements)
{
    const redisReplyObjectFunctions *plain = task->privdata;
    return elements > ELEMENTS_MAX ? NULL : plain->createArray(task, elements);
}

void sbx_redis_bound_reader(redisReader *reader, redisReplyObjectFunctions *plain, redisReplyObjectFunctions *bounded)
{
    *plain = *bounded = *reader->fn;
    bounded->createArray = create_bounded_array;
    reader->fn = bounded;
    reader->privdata = plain;
}

void sbx_redis_node_close(struct sbx_redis_node *node)
{
    if (node->context != NULL) {
        redisFree(node->context);
        node->context = NULL;
    }
    node->out_bytes = node->out_sent = 0;
    node->asked_count = node->answered = 0;
}

void sbx_redis_node_finish(struct sbx_redis_node *node)
{
    sbx_redis_node_close(node);
    free(node->out);
    free(node->asked);
    node->out = NULL;
    node->asked = NULL;
    node->out_room = node->asked_room = 0;
}

/* Close the connection and store the reason `why`. */
static int fail(struct sbx_redis_node *node, int result, const char *why)
{
    char copy[128]; /* `why` may lie in memory that is freed */
    snprintf(copy, sizeof copy, "%.127s", why);
    sbx_redis_node_close(node);
    snprintf(node->why, sizeof node->why, "%s", copy);
    node->result = result;
    return result;
}

/* Send the first commands of a new connection. Returns 0 or -errno. */
static int log_in(struct sbx_redis_node *node, const struct sbx_redis_url *url)
{
    struct sbx_redis_command hello[2] = {{.count = 0}, {.count = 0}};
    char database[16];
    size_t count = 0;
    if (url->password[0] != '\0') {
        struct sbx_redis_command *command = &hello[count++];
        sbx_redis_command_add(command, "AUTH", 4);
        if (url->user[0] != '\0') {
            sbx_redis_command_add(command, url->user, strlen(url->user));
        }
        sbx_redis_command_add(command, url->password, strlen(url->password));
    }
    if (url->database != 0) {
        int bytes = snprintf(database, sizeof database, "%u", url->database);
        struct sbx_redis_command *command = &hello[count++];
        sbx_redis_command_add(command, "SELECT", 6);
        sbx_redis_command_add(command, database, (size_t)bytes);
    }
    for (size_t i = 0; i < count; i++) {
        if (sbx_redis_node_ask(node, &hello[i]) != 0) {
            return fail(node, -ENOMEM, strerror(ENOMEM));
        }
    }
    if (count > 0) {
        sbx_redis_nodes_exchange(&node, 1, sbx_redis_now_ms() + IDLE_MS);
    }
    int result = node->result;
    for (size_t i = 0; i < count && result == 0; i++) {
        if (hello[i].result != 0) {
            result = fail(node, -EACCES, hello[i].reply == NULL ? "no answer" : hello[i].reply->str);
        }
    }
    sbx_redis_commands_finish(hello, 2);
    return result;
}

int sbx_redis_node_connect(struct sbx_redis_node *node, const struct sbx_redis_url *url)
{
    const struct timeval limit = {CONNECT_MS / 1000, CONNECT_MS % 1000 * 1000};
    sbx_redis_node_close(node);
    if (url->connects_no_more) {
        return fail(node, -ENOTCONN, node->why[0] != '\0' ? node->why : "it is not connected");
    }
    node->result = 0;
    node->context = node->address.port == 0
                        ? redisConnectUnixWithTimeout(node->address.host, limit)
                        : redisConnectWithTimeout(node->address.host, (int)node->address.port, limit);
    if (node->context == NULL) {
        return fail(node, -ENOMEM, strerror(ENOMEM));
    }
    if (node->context->err != 0) {
        return fail(node, -EHOSTUNREACH, node->context->errstr);
    }
    (void)redisEnableKeepAlive(node->context);
    sbx_redis_bound_reader(node->context->reader, &node->plain, &node->bounded);
    return log_in(node, url);
}

/* ---- adding commands ---- */

static int append(struct sbx_redis_node *node, const char *bytes, size_t count)
{
    if (count > node->out_room - node->out_bytes) {
        size_t room = node->out_room == 0 ? 4096 : node->out_room;
        while (room < node->out_bytes + count) {
            room *= 2;
        }
        char *grown = realloc(node->out, room);
        if (grown == NULL) {
            return -ENOMEM;
        }
        node->out = grown;
        node->out_room = room;
    }
    memcpy(node->out + node->out_bytes, bytes, count);
    node->out_bytes += count;
    return 0;
}

static int put(struct sbx_redis_node *node, int count, const char **arguments, const size_t *bytes,
               struct sbx_redis_command *command)
{
    if (node->asked_count == node->asked_room) {
        size_t room = node->asked_room == 0 ? 64 : node->asked_room * 2;
        struct sbx_redis_command **grown = realloc(node->asked, room * sizeof(struct sbx_redis_command *));
        if (grown == NULL) {
            return -ENOMEM;
        }
        node->asked = grown;
        node->asked_room = room;
    }
    char *formatted = NULL;
    int length = redisFormatCommandArgv(&formatted, count, arguments, bytes);
    int result = length < 0 ? -ENOMEM : append(node, formatted, (size_t)length);
    redisFreeCommand(formatted);
    if (result == 0) {
        node->asked[node->asked_count++] = command;
    }
    return result;
}

int sbx_redis_node_ask(struct sbx_redis_node *node, struct sbx_redis_command *command)
{
    return put(node, command->count, command->arguments, command->bytes, command);
}

int sbx_redis_node_say(struct sbx_redis_node *node, const char *word)
{
    size_t bytes = strlen(word);
    return put(node, 1, &word, &bytes, NULL);
}

/* ---- the exchange ---- */

static bool is_busy(const struct sbx_redis_node *node)
{
    return node->context != NULL && node->answered < node->asked_count;
}

static void send_some(struct sbx_redis_node *node)
{
    while (node->out_sent < node->out_bytes) {
        ssize_t sent = send(node->context->fd, node->out + node->out_sent, node->out_bytes - node->out_sent,
                            MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno == EINTR) {
            continue;
        }
        if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            return;
        }
        if (sent <= 0) {
            (void)fail(node, -EPIPE, sent < 0 ? strerror(errno) : "it takes nothing");
            return;
        }
        node->out_sent += (size_t)sent;
    }
}

/* Give complete replies to their commands. */
static void take_replies(struct sbx_redis_node *node)
{
    while (node->answered < node->asked_count) {
        void *reply = NULL;
        if (redisReaderGetReply(node->context->reader, &reply) != REDIS_OK) {
            (void)fail(node, -EPROTO, node->context->reader->errstr);
            return;
        }
        if (reply == NULL) {
            if (node->context->reader->len > REPLY_BYTES_MAX) {
                (void)fail(node, -EPROTO, "an answer larger than any that was asked for");
            }
            return;
        }
        struct sbx_redis_command *command = node->asked[node->answered++];
        if (command == NULL) {
            freeReplyObject(reply);
            continue;
        }
        command->reply = reply;
        command->result = command->reply->type == REDIS_REPLY_ERROR ? -EREMOTEIO : 0;
    }
}

/* Returns the number of bytes received. */
static size_t receive_some(struct sbx_redis_node *node)
{
    char bytes[READ_BYTES];
    ssize_t got = recv(node->context->fd, bytes, sizeof bytes, MSG_DONTWAIT);
    if (got < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK)) {
        return 0;
    }
    if (got <= 0) {
        (void)fail(node, got == 0 ? -ECONNRESET : -errno,
                   got == 0 ? "the server closed the connection" : strerror(errno));
        return 0;
    }
    if (redisReaderFeed(node->context->reader, bytes, (size_t)got) != REDIS_OK) {
        (void)fail(node, -ENOMEM, node->context->reader->errstr);
        return 0;
    }
    take_replies(node);
    return (size_t)got;
}

/* Wait until one of the nodes is ready, and continue with those that are. Returns the number of bytes moved; sets
 * *busy_out. */
static size_t turn(struct sbx_redis_node *const *nodes, size_t count, uint64_t wait_ms, bool *busy_out)
{
    struct pollfd waits[NODES_MAX];
    struct sbx_redis_node *waiting[NODES_MAX];
    nfds_t busy = 0;
    size_t moved = 0;
    for (size_t i = 0; i < count && busy < NODES_MAX; i++) {
        if (is_busy(nodes[i])) {
            short events = (short)(POLLIN | (nodes[i]->out_sent < nodes[i]->out_bytes ? POLLOUT : 0));
            waiting[busy] = nodes[i];
            waits[busy++] = (struct pollfd){.fd = nodes[i]->context->fd, .events = events};
        }
    }
    *busy_out = busy > 0;
    if (busy == 0 || poll(waits, busy, (int)wait_ms) <= 0) {
        return 0;
    }
    for (nfds_t i = 0; i < busy; i++) {
        size_t sent = waiting[i]->out_sent;
        if ((waits[i].revents & POLLOUT) != 0) {
            send_some(waiting[i]);
            moved += waiting[i]->context != NULL ? waiting[i]->out_sent - sent : 0;
        }
        if (waiting[i]->context != NULL && (waits[i].revents & (POLLIN | POLLHUP | POLLERR)) != 0) {
            moved += receive_some(waiting[i]);
        }
    }
    return moved;
}

static void give_up(struct sbx_redis_node *const *nodes, size_t count, int result, const char *why)
{
    for (size_t i = 0; i < count; i++) {
        if (is_busy(nodes[i])) {
            (void)fail(nodes[i], result, why);
        }
    }
}

void sbx_redis_nodes_exchange(struct sbx_redis_node *const *nodes, size_t count, uint64_t until_ms)
{
    uint64_t moved_ms = sbx_redis_now_ms();
    size_t total = 0;
    bool busy = true;
    for (size_t i = 0; i < count; i++) {
        nodes[i]->result = nodes[i]->context == NULL ? -ENOTCONN : 0;
        if (is_busy(nodes[i])) {
            send_some(nodes[i]); /* most of it fits into the socket's buffer */
        }
    }
    while (busy) {
        uint64_t now = sbx_redis_now_ms(), end = moved_ms + IDLE_MS < until_ms ? moved_ms + IDLE_MS : until_ms;
        if (now >= end || total > ALL_BYTES_MAX) {
            give_up(nodes, count, now >= end ? -ETIMEDOUT : -EPROTO,
                    now >= end ? "it does not answer in time" : "answers larger than what was asked for");
            break;
        }
        size_t moved = turn(nodes, count, end - now, &busy);
        total += moved;
        moved_ms = moved > 0 ? sbx_redis_now_ms() : moved_ms;
    }
    for (size_t i = 0; i < count; i++) {
        nodes[i]->out_bytes = nodes[i]->out_sent = 0;
        nodes[i]->asked_count = nodes[i]->answered = 0;
    }
}
