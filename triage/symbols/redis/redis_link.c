/* SPDX-License-Identifier: Apache-2.0 */
/* redis_link.c - a connection to Redis, to one server or a cluster; commands are sent in batches. */
#include "redis_link.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redis_cluster.h"

enum {
    READ_MS = 5000,
    WRITE_MS = 30000,
    DOWN_MS = 10000
};

struct sbx_redis_link {
    pthread_mutex_t mutex; /* protects all fields below */
    struct sbx_redis_url url;
    struct sbx_redis_node node;        /* for one server */
    struct sbx_redis_cluster *cluster; /* NULL: it is not a cluster */
};

struct sbx_redis_link *sbx_redis_link_create(const struct sbx_redis_url *url)
{
    struct sbx_redis_link *link = calloc(1, sizeof *link);
    if (link == NULL) {
        return NULL;
    }
    link->url = *url;
    link->node.address = url->seeds[0];
    if (url->is_cluster && (link->cluster = sbx_redis_cluster_create(&link->url)) == NULL) {
        free(link);
        return NULL;
    }
    pthread_mutex_init(&link->mutex, NULL);
    return link;
}

void sbx_redis_link_destroy(struct sbx_redis_link *link)
{
    if (link == NULL) {
        return;
    }
    sbx_redis_node_finish(&link->node);
    sbx_redis_cluster_destroy(link->cluster);
    pthread_mutex_destroy(&link->mutex);
    explicit_bzero(&link->url, sizeof link->url);
    free(link);
}

/* Send the one server all commands that have no reply yet. Returns 0 or -errno. */
static int ask_server(struct sbx_redis_link *link, struct sbx_redis_command *commands, size_t count, uint64_t until_ms)
{
    struct sbx_redis_node *node = &link->node;
    int result = node->context != NULL ? 0 : sbx_redis_node_connect(node, &link->url);
    for (size_t i = 0; i < count && result == 0; i++) {
        result = commands[i].reply != NULL ? 0 : sbx_redis_node_ask(node, &commands[i]);
    }
    if (result == 0) {
        sbx_redis_nodes_exchange(&node, 1, until_ms);
        result = node->result;
    }
    return result;
}

static int run_server(struct sbx_redis_link *link, struct sbx_redis_command *commands, size_t count, uint64_t until_ms,
                      char why[SBX_REDIS_WHY_BYTES])
{
    struct sbx_redis_node *node = &link->node;
    int result = -EHOSTUNREACH;
    bool was_connected = node->context != NULL;
    if (sbx_redis_now_ms() >= node->down_until_ms) {
        result = ask_server(link, commands, count, until_ms);
        if (result != 0 && result != -EACCES && was_connected) {
            result = ask_server(link, commands, count, until_ms); /* it may have been restarted */
        }
        node->down_until_ms = result == 0 ? 0 : sbx_redis_now_ms() + DOWN_MS;
    }
    for (size_t i = 0; i < count; i++) {
        if (commands[i].reply == NULL) {
            commands[i].result = result;
        }
    }
    if (result != 0) {
        snprintf(why, SBX_REDIS_WHY_BYTES, "%s", node->why);
        return result;
    }
    for (size_t i = 0; i < count; i++) {
        if (commands[i].result != 0) {
            snprintf(why, SBX_REDIS_WHY_BYTES, "%.200s", commands[i].reply->str);
            return commands[i].result;
        }
    }
    return 0;
}

int sbx_redis_link_run(struct sbx_redis_link *link, struct sbx_redis_command *commands, size_t count,
                       enum sbx_redis_patience patience, char why[SBX_REDIS_WHY_BYTES])
{
    why[0] = '\0';
    if (count == 0) {
        return 0;
    }
    pthread_mutex_lock(&link->mutex);
    uint64_t until_ms = sbx_redis_now_ms() + (patience == SBX_REDIS_WRITE ? WRITE_MS : READ_MS);
    int result = link->cluster != NULL ? sbx_redis_cluster_run(link->cluster, commands, count, until_ms, why)
                                       : run_server(link, commands, count, until_ms, why);
    pthread_mutex_unlock(&link->mutex);
    for (char *c = why; *c != '\0'; c++) { /* text from a server must not control the terminal */
        *c = (unsigned char)*c < 0x20 || (unsigned char)*c >= 0x7f ? '?' : *c;
    }
    return result;
}

int sbx_redis_link_connect_once(struct sbx_redis_link *link)
{
    pthread_mutex_lock(&link->mutex);
    int result = link->cluster != NULL ? sbx_redis_cluster_connect(link->cluster)
                                       : sbx_redis_node_connect(&link->node, &link->url);
    link->url.connects_no_more = true;
    pthread_mutex_unlock(&link->mutex);
    return result;
}

size_t sbx_redis_link_masters(struct sbx_redis_link *link, char why[SBX_REDIS_WHY_BYTES])
{
    pthread_mutex_lock(&link->mutex);
    why[0] = '\0';
    size_t count = link->cluster == NULL ? 1 : sbx_redis_cluster_masters(link->cluster, why);
    pthread_mutex_unlock(&link->mutex);
    return count;
}

void sbx_redis_link_settle(struct sbx_redis_link *link)
{
    pthread_mutex_lock(&link->mutex);
    if (link->cluster != NULL) {
        sbx_redis_cluster_settle(link->cluster);
    }
    pthread_mutex_unlock(&link->mutex);
}
