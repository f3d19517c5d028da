/* SPDX-License-Identifier: Apache-2.0 */
/* redis_servers.h - real redis-server processes on loopback ports, in folders of their own, for tests. */
#ifndef SBX_REDIS_SERVERS_H
#define SBX_REDIS_SERVERS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include <hiredis/hiredis.h>

struct redis_server {
    pid_t pid; /* 0: it does not run */
    unsigned port;
    bool is_clustered;
    char folder[64];
};

/* Start one on a free port; `option` (may be NULL) is one more argument with `value`. It ends with the test. Fails the
 * test when it does not answer within half a minute. */
void redis_server_start(struct redis_server *server, bool is_clustered, const char *option, const char *value);
/* Start it again on its port, empty. */
void redis_server_restart(struct redis_server *server, const char *option, const char *value);
void redis_server_kill(struct redis_server *server); /* as a machine that loses power */
void redis_server_stop(struct redis_server *server); /* and give back its folder */

/* Ask it one thing, as printf has it; fails the test when it is not there. Given (freeReplyObject). */
redisReply *redis_server_ask(const struct redis_server *server, const char *format, ...);
/* The same for an integer or text, as a number; -1 for anything else. */
long long redis_server_number(const struct redis_server *server, const char *format, ...);
/* The number behind `name` in what INFO `section` says; -1 when it is not there. */
long long redis_server_info(const struct redis_server *server, const char *section, const char *name);

/* Three masters (0 to 2) and, where wanted, a replica of each (3 to 5). */
struct redis_servers {
    struct redis_server servers[6];
    size_t count;
};
void redis_servers_start(struct redis_servers *cluster, bool with_replicas);
void redis_servers_stop(struct redis_servers *cluster);

#endif
