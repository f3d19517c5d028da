/* SPDX-License-Identifier: Apache-2.0 */
/* redis_node.h - one connection to one Redis server: commands are sent together, and their wait has a limit.
 *
 * hiredis makes the connection, formats commands and reads replies. Bytes are sent and received here, for three
 * reasons: the connection is closed if a server stops in the middle, sends too slowly, or sends more than was
 * requested, and a closed connection raises no SIGPIPE. */
#ifndef SBX_REDIS_NODE_H
#define SBX_REDIS_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hiredis/hiredis.h>

#include "redis_url.h"

enum {
    SBX_REDIS_ARGUMENTS_MAX = 8,
    SBX_REDIS_WHY_BYTES = 400
};

struct sbx_redis_command {
    const char *arguments[SBX_REDIS_ARGUMENTS_MAX]; /* borrowed */
    size_t bytes[SBX_REDIS_ARGUMENTS_MAX];
    int count;
    int key;           /* number of the argument that is the key, which selects the node of a cluster. 0: `node` does */
    size_t node;       /* for a cluster, if there is no key: number of the master */
    redisReply *reply; /* given (freeReplyObject); NULL: no reply */
    int result;        /* 0; -EREMOTEIO: the reply is an error; or why there is no reply */
};

/* Append an argument. Arguments beyond the maximum are dropped. */
void sbx_redis_command_add(struct sbx_redis_command *command, const void *argument, size_t bytes);
/* Free the replies of `count` commands. */
void sbx_redis_commands_finish(struct sbx_redis_command *commands, size_t count);

struct sbx_redis_node {
    struct sbx_redis_address address;
    redisContext *context; /* NULL: not connected */
    redisReplyObjectFunctions plain, bounded;
    char *out; /* bytes to send */
    size_t out_bytes, out_room, out_sent;
    struct sbx_redis_command **asked; /* NULL: the reply is dropped */
    size_t asked_count, asked_room, answered;
    uint64_t down_until_ms; /* not used before this time; 0: no limit */
    bool has_replica;       /* of a cluster */
    bool is_unsettled;      /* there were commands, perhaps writes, since the last wait for replicas */
    int result;             /* result of the last exchange */
    char why[SBX_REDIS_WHY_BYTES];
};

uint64_t sbx_redis_now_ms(void); /* monotonic, never 0 */

/* Connect and log in. Returns 0, or -errno with a text in node->why. -ENOTCONN if new connections are not allowed any
 * more (see the URL); then node->why keeps the earlier text. */
int sbx_redis_node_connect(struct sbx_redis_node *node, const struct sbx_redis_url *url);
/* Close the connection. The node may be connected again. */
void sbx_redis_node_close(struct sbx_redis_node *node);
/* Close the connection and free everything. */
void sbx_redis_node_finish(struct sbx_redis_node *node);

/* Append `command` to the commands to send. Returns 0 or -ENOMEM. */
int sbx_redis_node_ask(struct sbx_redis_node *node, struct sbx_redis_command *command);
/* The same for a word whose reply is dropped ("ASKING"). */
int sbx_redis_node_say(struct sbx_redis_node *node, const char *word);

/* Send the commands of all nodes at the same time and read all replies. A node that fails is closed: node->result and
 * node->why have the reason, and its other commands get no reply. Ends if nothing was sent or received for three
 * seconds, and at `until_ms` in any case. */
void sbx_redis_nodes_exchange(struct sbx_redis_node *const *nodes, size_t count, uint64_t until_ms);

/* Reply functions that refuse arrays with more elements than any command here needs. `plain` gets the original
 * functions that they call. Both must live as long as the reader. */
void sbx_redis_bound_reader(redisReader *reader, redisReplyObjectFunctions *plain, redisReplyObjectFunctions *bounded);

#endif
