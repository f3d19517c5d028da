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

/* Start a server on a free port; `option` (may be NULL) is an additional argument with `value`. It ends with the test.
 * Fails the test when it does not answer within half a minute. */
void redis_server_start(struct redis_server *server, bool is_clustered, const char *option, const char *value);
/* Start it again on the same port, empty. */
void redis_server_restart(struct redis_server *server, const char *option, const char *value);
void redis_server_kill(struct redis_server *server); /* as a loss of power would */
void redis_server_stop(struct redis_server *server); /* and remove its folder */

/* Send one command in printf format; fails the test when there is no answer. Given (freeReplyObject). */
redisReply *redis_server_ask(const struct redis_server *server, const char *format, ...);
/* The same for a reply that is an integer or text, as a number; -1 for anything else. */
long long redis_server_number(const struct redis_server *server, const char *format, ...);
/* The number after `name` in the reply to INFO `section`; -1 when there is none. */
long long redis_server_info(const struct redis_server *server, const char *section, const char *name);

/* Three masters (0 to 2) and, if wanted, a replica of each (3 to 5). */
struct redis_servers {
    struct redis_server servers[6];
    size_t count;
};
void redis_servers_start(struct redis_servers *cluster, bool with_replicas);
void redis_servers_stop(struct redis_servers *cluster);

#endif
