/* SPDX-License-Identifier: Apache-2.0 */
/* redis_cluster.h - what a client of Redis Cluster has to know, because Debian's hiredis does not: which node has which
 * slot, where it went when it moved, and what to do when a node dies.
 *
 * A key's slot is a CRC-16 of it, or of what stands between its first braces where something does. The map of slots is
 * asked of any node; MOVED mends it, ASK is followed once, and when a node does not answer the map is asked anew until
 * another has taken over or the time is over. A cluster is believed about where its nodes are. */
#ifndef SBX_REDIS_CLUSTER_H
#define SBX_REDIS_CLUSTER_H

#include "redis_node.h"

enum {
    SBX_REDIS_SLOTS = 16384,
    SBX_REDIS_NODES_MAX = 256
};

unsigned sbx_redis_slot(const char *key, size_t bytes);

/* Who has which slot. */
struct sbx_redis_map {
    struct sbx_redis_address nodes[SBX_REDIS_NODES_MAX];
    bool has_replica[SBX_REDIS_NODES_MAX];
    size_t node_count;
    uint16_t owners[SBX_REDIS_SLOTS]; /* index into nodes, and one; 0: nobody */
};
/* Read the reply to CLUSTER SLOTS that `asked` gave. Returns 0, or -EPROTO when it is none. */
int sbx_redis_map_read(const redisReply *reply, const struct sbx_redis_address *asked, struct sbx_redis_map *map_out);

/* Read "MOVED SLOT HOST:PORT" or "ASK SLOT HOST:PORT", which `asked` said. */
enum sbx_redis_redirect {
    SBX_REDIS_STAYS, /* it is neither */
    SBX_REDIS_MOVED,
    SBX_REDIS_ASK
};
enum sbx_redis_redirect sbx_redis_redirect_read(const char *text, const struct sbx_redis_address *asked,
                                                unsigned *slot_out, struct sbx_redis_address *to_out);

struct sbx_redis_cluster;

/* `url` is borrowed until destroy. NULL without memory. */
struct sbx_redis_cluster *sbx_redis_cluster_create(const struct sbx_redis_url *url);
void sbx_redis_cluster_destroy(struct sbx_redis_cluster *cluster);

/* How many masters there are, as far as is known; asks when nothing is. 0: nobody answers. */
size_t sbx_redis_cluster_masters(struct sbx_redis_cluster *cluster, char why[SBX_REDIS_WHY_BYTES]);

/* Connect to all masters. Returns 0, or -EHOSTUNREACH when one is not to be had. */
int sbx_redis_cluster_connect(struct sbx_redis_cluster *cluster);

/* Have all commands done, until `until_ms`; a command whose answer did not come may be done twice. Returns 0 when each has
 * a reply, else the first result that is none, with words. */
int sbx_redis_cluster_run(struct sbx_redis_cluster *cluster, struct sbx_redis_command *commands, size_t count,
                          uint64_t until_ms, char why[SBX_REDIS_WHY_BYTES]);

/* Wait until what was written has reached a replica of each master that has one, a second at most: then it outlives the
 * death of the master. */
void sbx_redis_cluster_settle(struct sbx_redis_cluster *cluster);

#endif
