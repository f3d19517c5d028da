/* SPDX-License-Identifier: Apache-2.0 */
/* redis_cluster.h - the client side of Redis Cluster, which Debian's hiredis does not have: which node has which slot,
 * where a slot moved, and what to do when a node dies.
 *
 * A key's slot is a CRC-16 of the key, or of the part between its first braces if that is not empty. Any node can give
 * the map of slots. MOVED corrects the map, and ASK is followed once. If a node does not answer, the map is requested
 * again until another node has taken over or the time is over. The addresses that a cluster gives for its nodes are
 * trusted. */
#ifndef SBX_REDIS_CLUSTER_H
#define SBX_REDIS_CLUSTER_H

#include "redis_node.h"

enum {
    SBX_REDIS_SLOTS = 16384,
    SBX_REDIS_NODES_MAX = 256
};

unsigned sbx_redis_slot(const char *key, size_t bytes);

/* The owners of the slots. */
struct sbx_redis_map {
    struct sbx_redis_address nodes[SBX_REDIS_NODES_MAX];
    bool has_replica[SBX_REDIS_NODES_MAX];
    size_t node_count;
    uint16_t owners[SBX_REDIS_SLOTS]; /* index into nodes, plus one; 0: no owner */
};
/* Read the reply of `asked` to CLUSTER SLOTS. Returns 0, or -EPROTO if it is no such reply. */
int sbx_redis_map_read(const redisReply *reply, const struct sbx_redis_address *asked, struct sbx_redis_map *map_out);

/* Read "MOVED SLOT HOST:PORT" or "ASK SLOT HOST:PORT" from `asked`. */
enum sbx_redis_redirect {
    SBX_REDIS_STAYS, /* it is neither of the two */
    SBX_REDIS_MOVED,
    SBX_REDIS_ASK
};
enum sbx_redis_redirect sbx_redis_redirect_read(const char *text, const struct sbx_redis_address *asked,
                                                unsigned *slot_out, struct sbx_redis_address *to_out);

struct sbx_redis_cluster;

/* `url` is borrowed until destroy. NULL if memory runs out. */
struct sbx_redis_cluster *sbx_redis_cluster_create(const struct sbx_redis_url *url);
void sbx_redis_cluster_destroy(struct sbx_redis_cluster *cluster);

/* The number of masters, as far as known; requests the map if nothing is known. 0: no node answered. */
size_t sbx_redis_cluster_masters(struct sbx_redis_cluster *cluster, char why[SBX_REDIS_WHY_BYTES]);

/* Connect to all masters. Returns 0, or -EHOSTUNREACH if one cannot be reached. */
int sbx_redis_cluster_connect(struct sbx_redis_cluster *cluster);

/* Run all commands, until `until_ms`. A command whose reply was lost may run twice. Returns 0 if each has a reply that
 * is not an error, else the first error, with a text. */
int sbx_redis_cluster_run(struct sbx_redis_cluster *cluster, struct sbx_redis_command *commands, size_t count,
                          uint64_t until_ms, char why[SBX_REDIS_WHY_BYTES]);

/* Wait until a replica of each master that has one received all writes. A master waits a second at most for its
 * replica, and this function waits two seconds at most for the masters. If the writes were received, they survive the
 * death of a master. */
void sbx_redis_cluster_settle(struct sbx_redis_cluster *cluster);

#endif
