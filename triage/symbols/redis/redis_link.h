/* SPDX-License-Identifier: Apache-2.0 */
/* redis_link.h - Redis, one server or a cluster, asked in batches.
 *
 * Nothing is connected before it is needed. A server that went away is connected to once more; one that stays away is not
 * asked for ten seconds, so that many questions do not wait one after the other. Several threads may use a link, which
 * then take turns. */
#ifndef SBX_REDIS_LINK_H
#define SBX_REDIS_LINK_H

#include "redis_node.h"

struct sbx_redis_link;

/* `url` is copied. NULL without memory. */
struct sbx_redis_link *sbx_redis_link_create(const struct sbx_redis_url *url);
void sbx_redis_link_destroy(struct sbx_redis_link *link);

enum sbx_redis_patience {
    SBX_REDIS_READ, /* five seconds: somebody waits for names */
    SBX_REDIS_WRITE /* thirty: what is written is worth to wait until a cluster has found itself again */
};
/* Have all commands done. Each has then a reply, or a result that says why there is none; an answer that did not come may
 * mean that the command is done twice. Returns 0, or the first of their results, with words in `why`. */
int sbx_redis_link_run(struct sbx_redis_link *link, struct sbx_redis_command *commands, size_t count,
                       enum sbx_redis_patience patience, char why[SBX_REDIS_WHY_BYTES]);

/* Connect to what there is, and from now on to nothing: for a process that gives up its right to connect. A server that
 * goes away then stays away. Returns 0, or -errno when not all were to be had, which a question then says in words. */
int sbx_redis_link_connect_once(struct sbx_redis_link *link);

/* Of how many servers the keys have to be listed. 0: nobody answers, with words in `why`. */
size_t sbx_redis_link_masters(struct sbx_redis_link *link, char why[SBX_REDIS_WHY_BYTES]);

/* Wait a moment until replicas have what was written. */
void sbx_redis_link_settle(struct sbx_redis_link *link);

#endif
