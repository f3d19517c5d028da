/* SPDX-License-Identifier: Apache-2.0 */
/* redis_servers.c - real redis-server processes on loopback ports. */
#include "redis_servers.h"

#include <arpa/inet.h>
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
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum {
    PATIENCE_MS = 30000,
    REST_MS = 20,
    BUS = 10000 /* a clustered server also listens on its port plus this */
};

static bool is_free(unsigned port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    bool is = fd >= 0 && bind(fd, (const struct sockaddr *)&address, sizeof address) == 0;
    close(fd);
    return is;
}

/* A port below those that the kernel gives to connections. */
static unsigned free_port(void)
{
    for (int tries = 0; tries < 200; tries++) {
        uint32_t random = 0;
        (void)getrandom(&random, sizeof random, 0);
        unsigned port = 11000 + random % 11000;
        if (is_free(port) && is_free(port + BUS)) {
            return port;
        }
    }
    fail_msg("no port is free");
    return 0;
}

static redisContext *connect_to(const struct redis_server *server)
{
    const struct timeval limit = {2, 0};
    redisContext *context = redisConnectWithTimeout("127.0.0.1", (int)server->port, limit);
    if (context != NULL && context->err != 0) {
        redisFree(context);
        return NULL;
    }
    if (context != NULL) {
        (void)redisSetTimeout(context, limit);
    }
    return context;
}

/* Whether it answers at all, including an answer that it needs a password. */
static bool answers(const struct redis_server *server)
{
    redisContext *context = connect_to(server);
    redisReply *reply = context == NULL ? NULL : redisCommand(context, "PING");
    bool did = reply != NULL;
    if (reply != NULL) {
        freeReplyObject(reply);
    }
    if (context != NULL) {
        redisFree(context);
    }
    return did;
}

static void launch(struct redis_server *server, const char *option, const char *value)
{
    char port[16], log[96];
    const char *arguments[40] = {"redis-server",
                                 "--port",
                                 port,
                                 "--bind",
                                 "127.0.0.1",
                                 "--save",
                                 "",
                                 "--appendonly",
                                 "no",
                                 "--daemonize",
                                 "no",
                                 "--dir",
                                 server->folder,
                                 "--logfile",
                                 log,
                                 "--repl-diskless-sync-delay",
                                 "0"};
    size_t count = 17;
    snprintf(port, sizeof port, "%u", server->port);
    snprintf(log, sizeof log, "%s/log", server->folder);
    if (server->is_clustered) {
        static const char *const more[] = {
            "--cluster-enabled", "yes", "--cluster-node-timeout", "1000", "--cluster-require-full-coverage", "no"};
        memcpy(arguments + count, more, sizeof more);
        count += sizeof more / sizeof more[0];
    }
    if (option != NULL) {
        arguments[count++] = option;
        arguments[count++] = value;
    }
    pid_t parent = getpid();
    server->pid = fork();
    assert_true(server->pid >= 0);
    if (server->pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == parent) {
            execvp("redis-server", (char *const *)arguments);
        }
        _exit(127);
    }
    for (int waited = 0; !answers(server); waited += REST_MS) {
        if (waited > PATIENCE_MS || waitpid(server->pid, NULL, WNOHANG) == server->pid) {
            fail_msg("redis-server does not answer (is it installed? scripts/install-deps)");
        }
        usleep(REST_MS * 1000);
    }
}

void redis_server_start(struct redis_server *server, bool is_clustered, const char *option, const char *value)
{
    *server = (struct redis_server){.port = free_port(), .is_clustered = is_clustered};
    strcpy(server->folder, "/tmp/redis_server.XXXXXX");
    assert_non_null(mkdtemp(server->folder));
    launch(server, option, value);
}

void redis_server_restart(struct redis_server *server, const char *option, const char *value)
{
    assert_int_equal(server->pid, 0);
    launch(server, option, value);
}

void redis_server_kill(struct redis_server *server)
{
    if (server->pid > 0) {
        (void)kill(server->pid, SIGKILL);
        (void)waitpid(server->pid, NULL, 0);
        server->pid = 0;
    }
}

void redis_server_stop(struct redis_server *server)
{
    char command[128];
    redis_server_kill(server);
    if (server->folder[0] != '\0') {
        snprintf(command, sizeof command, "rm -rf %s", server->folder);
        (void)!system(command);
        server->folder[0] = '\0';
    }
}

static redisReply *ask_with(const struct redis_server *server, const char *format, va_list arguments)
{
    redisContext *context = connect_to(server);
    assert_non_null(context);
    redisReply *reply = redisvCommand(context, format, arguments);
    redisFree(context);
    assert_non_null(reply);
    return reply;
}

redisReply *redis_server_ask(const struct redis_server *server, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    redisReply *reply = ask_with(server, format, arguments);
    va_end(arguments);
    return reply;
}

long long redis_server_number(const struct redis_server *server, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    redisReply *reply = ask_with(server, format, arguments);
    va_end(arguments);
    long long number = reply->type == REDIS_REPLY_INTEGER  ? reply->integer
                       : reply->type == REDIS_REPLY_STRING ? atoll(reply->str)
                                                           : -1;
    freeReplyObject(reply);
    return number;
}

long long redis_server_info(const struct redis_server *server, const char *section, const char *name)
{
    redisReply *reply = redis_server_ask(server, "INFO %s", section);
    const char *at = reply->type == REDIS_REPLY_STRING ? strstr(reply->str, name) : NULL;
    long long number = at == NULL ? -1 : atoll(at + strlen(name));
    freeReplyObject(reply);
    return number;
}

/* ---- a cluster ---- */

static void must(const struct redis_server *server, const char *command)
{
    redisReply *reply = redis_server_ask(server, command);
    if (reply->type == REDIS_REPLY_ERROR) {
        fail_msg("%s: %s", command, reply->str);
    }
    freeReplyObject(reply);
}

/* Wait until CLUSTER INFO or INFO of each server from `from` to `count` contains `words`. */
static void wait_for(const struct redis_servers *cluster, size_t from, size_t count, const char *command,
                     const char *words)
{
    for (size_t i = from; i < from + count; i++) {
        bool does = false;
        for (int waited = 0; !does; waited += REST_MS) {
            redisReply *reply = redis_server_ask(&cluster->servers[i], command);
            does = reply->type == REDIS_REPLY_STRING && strstr(reply->str, words) != NULL;
            freeReplyObject(reply);
            if (waited > PATIENCE_MS) {
                fail_msg("server %zu never says %s", i, words);
            }
            usleep(does ? 0 : REST_MS * 1000);
        }
    }
}

void redis_servers_start(struct redis_servers *cluster, bool with_replicas)
{
    char command[128], known[64];
    memset(cluster, 0, sizeof *cluster);
    cluster->count = with_replicas ? 6 : 3;
    for (size_t i = 0; i < cluster->count; i++) {
        redis_server_start(&cluster->servers[i], true, NULL, NULL);
    }
    for (unsigned i = 0; i < 3; i++) {
        snprintf(command, sizeof command, "CLUSTER ADDSLOTSRANGE %u %u", 16384 * i / 3, 16384 * (i + 1) / 3 - 1);
        must(&cluster->servers[i], command);
        snprintf(command, sizeof command, "CLUSTER SET-CONFIG-EPOCH %u", i + 1);
        must(&cluster->servers[i], command);
    }
    for (size_t i = 1; i < cluster->count; i++) {
        snprintf(command, sizeof command, "CLUSTER MEET 127.0.0.1 %u", cluster->servers[i].port);
        must(&cluster->servers[0], command);
    }
    snprintf(known, sizeof known, "cluster_known_nodes:%zu", cluster->count);
    wait_for(cluster, 0, cluster->count, "CLUSTER INFO", known);
    for (size_t i = 3; i < cluster->count; i++) {
        redisReply *id = redis_server_ask(&cluster->servers[i - 3], "CLUSTER MYID");
        redisReply *reply = redis_server_ask(&cluster->servers[i], "CLUSTER REPLICATE %s", id->str);
        assert_int_not_equal(reply->type, REDIS_REPLY_ERROR);
        freeReplyObject(reply);
        freeReplyObject(id);
    }
    wait_for(cluster, 0, cluster->count, "CLUSTER INFO", "cluster_state:ok");
    if (with_replicas) {
        wait_for(cluster, 3, 3, "INFO replication", "master_link_status:up");
        wait_for(cluster, 0, 3, "INFO replication", "connected_slaves:1");
    }
}

void redis_servers_stop(struct redis_servers *cluster)
{
    for (size_t i = 0; i < cluster->count; i++) {
        redis_server_stop(&cluster->servers[i]);
    }
}
