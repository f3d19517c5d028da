/* SPDX-License-Identifier: Apache-2.0 */
/* redis_link.h - a connection to Redis, to one server or a cluster; commands are sent in batches.
 *
 * Connections are made when they are needed. A lost connection is made again once. A server that does not answer is not
 * tried for ten seconds, so that many lookups do not wait one after the other. Several threads may use a link; they
 * take turns. */
#ifndef SBX_REDIS_LINK_H
#define SBX_REDIS_LINK_H

#include "redis_node.h"

struct sbx_redis_link;

/* `url` is copied. NULL if memory runs out. */
struct sbx_redis_link *sbx_redis_link_create(const struct sbx_redis_url *url);
void sbx_redis_link_destroy(struct sbx_redis_link *link);

enum sbx_redis_patience {
    SBX_REDIS_READ, /* five seconds, because a user waits for names */
    SBX_REDIS_WRITE /* thirty seconds: for writes it is better to wait until a cluster has recovered */
};
/* Run all commands. Then each has a reply, or a result with the reason why not. A command whose reply was lost may run
 * twice. Returns 0, or the first error, with a text in `why`. */
int sbx_redis_link_run(struct sbx_redis_link *link, struct sbx_redis_command *commands, size_t count,
                       enum sbx_redis_patience patience, char why[SBX_REDIS_WHY_BYTES]);

/* Connect now, and never again: for a process that gives up its right to connect. A connection that is lost later stays
 * lost. Returns 0, or -errno if a connection failed; the next command then gives the text. */
int sbx_redis_link_connect_once(struct sbx_redis_link *link);

/* The number of servers whose keys must be listed. 0: none answered, with a text in `why`. */
size_t sbx_redis_link_masters(struct sbx_redis_link *link, char why[SBX_REDIS_WHY_BYTES]);

/* Wait until replicas have the writes, for two seconds at most. Only for a cluster; does nothing for one server. */
void sbx_redis_link_settle(struct sbx_redis_link *link);

#endif
