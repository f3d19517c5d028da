/* SPDX-License-Identifier: Apache-2.0 */
/* redis_node.h - one connection to one Redis server: commands that were put together leave together, and wait no longer
 * than they may.
 *
 * hiredis makes the connection, formats commands and reads replies; bytes are moved here, so that a server that stops
 * in the middle, drips, or sends more than anybody asked for is left, and one that closes raises no SIGPIPE. */
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
    int key;           /* which argument is the key; in a cluster it says who is asked. 0: `node` says */
    size_t node;       /* of a cluster: its how-manieth master, when there is no key */
    redisReply *reply; /* given (freeReplyObject); NULL: none came */
    int result;        /* 0, -EREMOTEIO: the reply is an error, or why there is none */
};

/* Put an argument behind those that are there; one more than there may be is left out. */
void sbx_redis_command_add(struct sbx_redis_command *command, const void *argument, size_t bytes);
/* Free the replies of `count` commands. */
void sbx_redis_commands_finish(struct sbx_redis_command *commands, size_t count);

struct sbx_redis_node {
    struct sbx_redis_address address;
    redisContext *context; /* NULL: not connected */
    redisReplyObjectFunctions plain, bounded;
    char *out; /* what is to be sent */
    size_t out_bytes, out_room, out_sent;
    struct sbx_redis_command **asked; /* NULL: nobody waits for that reply */
    size_t asked_count, asked_room, answered;
    uint64_t down_until_ms; /* not asked before; 0: it is */
    bool has_replica;       /* of a cluster */
    bool is_unsettled;      /* it was written to since */
    int result;             /* of the last exchange */
    char why[SBX_REDIS_WHY_BYTES];
};

uint64_t sbx_redis_now_ms(void); /* monotonic, never 0 */

/* Connect and log in. Returns 0, or -errno with words in node->why; -ENOTCONN where the URL says that nothing is connected any
 * more, with the words of before. */
int sbx_redis_node_connect(struct sbx_redis_node *node, const struct sbx_redis_url *url);
/* Leave the connection; the node may be connected anew. */
void sbx_redis_node_close(struct sbx_redis_node *node);
/* Close it and give everything back. */
void sbx_redis_node_finish(struct sbx_redis_node *node);

/* Put `command` behind what is to be asked. Returns 0 or -ENOMEM. */
int sbx_redis_node_ask(struct sbx_redis_node *node, struct sbx_redis_command *command);
/* The same for a word whose reply nobody wants ("ASKING"). */
int sbx_redis_node_say(struct sbx_redis_node *node, const char *word);

/* Send what was put together to all nodes at once and read all replies. A node that fails is closed: node->result and
 * node->why say why, its commands that have no reply keep none. It ends when for three seconds nothing came, and at
 * `until_ms` in any case. */
void sbx_redis_nodes_exchange(struct sbx_redis_node *const *nodes, size_t count, uint64_t until_ms);

/* The reply functions that take no array of more elements than anybody here asks for. `plain` is where those that they
 * rest on are kept; both must live as long as the reader. */
void sbx_redis_bound_reader(redisReader *reader, redisReplyObjectFunctions *plain, redisReplyObjectFunctions *bounded);

#endif
