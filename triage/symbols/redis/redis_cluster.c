/* SPDX-License-Identifier: Apache-2.0 */
/* redis_cluster.c - slots, their owners, and commands that follow redirections. */
#include "redis_cluster.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    REDIRECTS_MAX = 16, /* of one command; a cluster whose redirections make a circle is given up */
    REST_MS = 50,       /* pause between two attempts */
    REST_MAX_MS = 400,
    DOWN_MS = 3000, /* a node without a replacement gets no commands of impatient callers for this time */
    ALL_DOWN_MS = 10000,
    SETTLE_MS = 1000
};

struct sbx_redis_cluster {
    const struct sbx_redis_url *url;
    struct sbx_redis_node *nodes[SBX_REDIS_NODES_MAX];
    size_t node_count;
    uint8_t is_master[SBX_REDIS_NODES_MAX];
    uint16_t owners[SBX_REDIS_SLOTS]; /* index into nodes, plus one; 0: no owner */
    bool has_map, wants_map;
    uint64_t down_until_ms;        /* no node answered: impatient callers do not try before */
    char why[SBX_REDIS_WHY_BYTES]; /* the reason why no node answered */
};

/* ---- slots ---- */

/* CRC-16/XMODEM: polynomial 0x1021, initial value 0, nothing reflected. */
static uint16_t crc16(const char *bytes, size_t count)
{
    uint16_t crc = 0;
    for (size_t i = 0; i < count; i++) {
        crc = (uint16_t)(crc ^ (uint16_t)((uint8_t)bytes[i] << 8));
        for (int bit = 0; bit < 8; bit++) {
            crc = (uint16_t)((crc & 0x8000) != 0 ? (crc << 1) ^ 0x1021 : crc << 1);
        }
    }
    return crc;
}

unsigned sbx_redis_slot(const char *key, size_t bytes)
{
    const char *open = memchr(key, '{', bytes);
    const char *close = open == NULL ? NULL : memchr(open + 1, '}', bytes - (size_t)(open + 1 - key));
    if (close != NULL && close > open + 1) {
        key = open + 1;
        bytes = (size_t)(close - key);
    }
    return crc16(key, bytes) % SBX_REDIS_SLOTS;
}

static bool is_same(const struct sbx_redis_address *a, const struct sbx_redis_address *b)
{
    return a->port == b->port && strcmp(a->host, b->host) == 0;
}

/* HOST of `bytes` bytes and a port. An empty host means the host of `asked`. */
static bool set_address(struct sbx_redis_address *out, const char *host, size_t bytes, long long port,
                        const struct sbx_redis_address *asked)
{
    if (port <= 0 || port > 65535 || bytes >= sizeof out->host || memchr(host, '\0', bytes) != NULL) {
        return false;
    }
    if (bytes == 0 || (bytes == 1 && host[0] == '?')) {
        *out = *asked;
    } else {
        memcpy(out->host, host, bytes);
        out->host[bytes] = '\0';
    }
    out->port = (unsigned)port;
    return true;
}

/* The number that the node in `reply`, [HOST, PORT, ...], has in the map. A new node is added. -1: invalid, or there
 * are too many. */
static int node_of_map(struct sbx_redis_map *map, const redisReply *reply, const struct sbx_redis_address *asked)
{
    struct sbx_redis_address address;
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements < 2 || reply->element[1]->type != REDIS_REPLY_INTEGER) {
        return -1;
    }
    const redisReply *host = reply->element[0];
    bool has_host = host->type == REDIS_REPLY_STRING || host->type == REDIS_REPLY_STATUS;
    if ((!has_host && host->type != REDIS_REPLY_NIL) ||
        !set_address(&address, has_host ? host->str : "", has_host ? (size_t)host->len : 0, reply->element[1]->integer,
                     asked)) {
        return -1;
    }
    for (size_t i = 0; i < map->node_count; i++) {
        if (is_same(&map->nodes[i], &address)) {
            return (int)i;
        }
    }
    if (map->node_count == SBX_REDIS_NODES_MAX) {
        return -1;
    }
    map->nodes[map->node_count] = address;
    return (int)map->node_count++;
}

int sbx_redis_map_read(const redisReply *reply, const struct sbx_redis_address *asked, struct sbx_redis_map *map_out)
{
    memset(map_out, 0, sizeof *map_out);
    if (reply->type != REDIS_REPLY_ARRAY) {
        return -EPROTO;
    }
    size_t ranges = 0;
    for (size_t i = 0; i < reply->elements; i++) {
        const redisReply *range = reply->element[i];
        if (range->type != REDIS_REPLY_ARRAY || range->elements < 3 || range->element[0]->type != REDIS_REPLY_INTEGER ||
            range->element[1]->type != REDIS_REPLY_INTEGER) {
            return -EPROTO;
        }
        long long first = range->element[0]->integer, last = range->element[1]->integer;
        int node = node_of_map(map_out, range->element[2], asked);
        if (first < 0 || last < first || last >= SBX_REDIS_SLOTS || node < 0) {
            return -EPROTO;
        }
        map_out->has_replica[node] = map_out->has_replica[node] || range->elements > 3;
        for (long long slot = first; slot <= last; slot++) {
            map_out->owners[slot] = (uint16_t)(node + 1);
        }
        ranges++;
    }
    return ranges > 0 ? 0 : -EPROTO;
}

enum sbx_redis_redirect sbx_redis_redirect_read(const char *text, const struct sbx_redis_address *asked,
                                                unsigned *slot_out, struct sbx_redis_address *to_out)
{
    enum sbx_redis_redirect kind = strncmp(text, "MOVED ", 6) == 0 ? SBX_REDIS_MOVED
                                   : strncmp(text, "ASK ", 4) == 0 ? SBX_REDIS_ASK
                                                                   : SBX_REDIS_STAYS;
    if (kind == SBX_REDIS_STAYS) {
        return kind;
    }
    const char *number = strchr(text, ' ') + 1, *space = strchr(number, ' ');
    const char *colon = space == NULL ? NULL : strrchr(space, ':'); /* the last colon: an IPv6 address has more */
    size_t digits = strspn(number, "0123456789");
    if (colon == NULL || digits == 0 || digits > 5 || number + digits != space) {
        return SBX_REDIS_STAYS;
    }
    long slot = strtol(number, NULL, 10);
    size_t port_digits = strspn(colon + 1, "0123456789");
    if (slot >= SBX_REDIS_SLOTS || port_digits == 0 || port_digits > 5 || colon[1 + port_digits] != '\0' ||
        !set_address(to_out, space + 1, (size_t)(colon - space - 1), strtol(colon + 1, NULL, 10), asked)) {
        return SBX_REDIS_STAYS;
    }
    *slot_out = (unsigned)slot;
    return kind;
}

/* ---- nodes ---- */

struct sbx_redis_cluster *sbx_redis_cluster_create(const struct sbx_redis_url *url)
{
    struct sbx_redis_cluster *cluster = calloc(1, sizeof *cluster);
    if (cluster != NULL) {
        cluster->url = url;
    }
    return cluster;
}

void sbx_redis_cluster_destroy(struct sbx_redis_cluster *cluster)
{
    if (cluster == NULL) {
        return;
    }
    for (size_t i = 0; i < cluster->node_count; i++) {
        sbx_redis_node_finish(cluster->nodes[i]);
        free(cluster->nodes[i]);
    }
    free(cluster);
}

/* The node of an address; a new one is added. -1: memory ran out, or there are too many. */
static int node_at(struct sbx_redis_cluster *cluster, const struct sbx_redis_address *address)
{
    for (size_t i = 0; i < cluster->node_count; i++) {
        if (is_same(&cluster->nodes[i]->address, address)) {
            return (int)i;
        }
    }
    struct sbx_redis_node *node =
        cluster->node_count == SBX_REDIS_NODES_MAX ? NULL : calloc(1, sizeof(struct sbx_redis_node));
    if (node == NULL) {
        return -1;
    }
    node->address = *address;
    cluster->nodes[cluster->node_count] = node;
    return (int)cluster->node_count++;
}

/* "HOST:PORT: WHY" of a node that failed. */
static void explain(const struct sbx_redis_node *node, char why[SBX_REDIS_WHY_BYTES])
{
    snprintf(why, SBX_REDIS_WHY_BYTES, "%s:%u: %.120s", node->address.host, node->address.port, node->why);
}

static bool connect_node(struct sbx_redis_cluster *cluster, struct sbx_redis_node *node)
{
    return node->context != NULL || sbx_redis_node_connect(node, cluster->url) == 0;
}

static void take_map(struct sbx_redis_cluster *cluster, const struct sbx_redis_map *map)
{
    int nodes[SBX_REDIS_NODES_MAX];
    memset(cluster->is_master, 0, sizeof cluster->is_master);
    for (size_t i = 0; i < map->node_count; i++) {
        nodes[i] = node_at(cluster, &map->nodes[i]);
        if (nodes[i] >= 0) {
            cluster->is_master[nodes[i]] = 1;
            cluster->nodes[nodes[i]]->has_replica = map->has_replica[i];
        }
    }
    for (unsigned slot = 0; slot < SBX_REDIS_SLOTS; slot++) {
        int node = map->owners[slot] == 0 ? -1 : nodes[map->owners[slot] - 1];
        cluster->owners[slot] = (uint16_t)(node + 1);
    }
    cluster->has_map = true;
    cluster->wants_map = false;
}

/* Request the map from one node. */
static bool ask_map(struct sbx_redis_cluster *cluster, struct sbx_redis_node *node, char why[SBX_REDIS_WHY_BYTES])
{
    struct sbx_redis_command command = {.count = 0};
    struct sbx_redis_map *map = malloc(sizeof *map);
    sbx_redis_command_add(&command, "CLUSTER", 7);
    sbx_redis_command_add(&command, "SLOTS", 5);
    bool got = false;
    if (map != NULL && connect_node(cluster, node) && sbx_redis_node_ask(node, &command) == 0) {
        sbx_redis_nodes_exchange(&node, 1, sbx_redis_now_ms() + 2000);
        got =
            command.reply != NULL && command.result == 0 && sbx_redis_map_read(command.reply, &node->address, map) == 0;
        if (got) {
            take_map(cluster, map);
        } else if (command.reply != NULL) {
            snprintf(node->why, sizeof node->why, "%s",
                     command.result != 0 ? command.reply->str : "it has no map of a cluster's slots");
        }
    }
    if (!got) {
        explain(node, why);
    }
    sbx_redis_commands_finish(&command, 1);
    free(map);
    return got;
}

/* Request the map: from connected nodes first, then from the others. The nodes of the URL are among them. */
static bool find_map(struct sbx_redis_cluster *cluster, uint64_t until_ms, char why[SBX_REDIS_WHY_BYTES])
{
    for (size_t i = 0; i < cluster->url->seed_count; i++) {
        (void)node_at(cluster, &cluster->url->seeds[i]);
    }
    for (int connected = 1; connected >= 0; connected--) {
        for (size_t i = 0; i < cluster->node_count; i++) {
            if (sbx_redis_now_ms() < until_ms && (cluster->nodes[i]->context != NULL) == (connected == 1) &&
                ask_map(cluster, cluster->nodes[i], why)) {
                return true;
            }
        }
    }
    return false;
}

size_t sbx_redis_cluster_masters(struct sbx_redis_cluster *cluster, char why[SBX_REDIS_WHY_BYTES])
{
    size_t count = 0;
    if (!cluster->has_map && !find_map(cluster, sbx_redis_now_ms() + 4000, why)) {
        return 0;
    }
    for (size_t i = 0; i < cluster->node_count; i++) {
        count += cluster->is_master[i];
    }
    return count;
}

int sbx_redis_cluster_connect(struct sbx_redis_cluster *cluster)
{
    char why[SBX_REDIS_WHY_BYTES];
    int result = sbx_redis_cluster_masters(cluster, why) > 0 ? 0 : -EHOSTUNREACH;
    for (size_t i = 0; i < cluster->node_count; i++) {
        if (cluster->is_master[i] != 0 && !connect_node(cluster, cluster->nodes[i])) {
            result = -EHOSTUNREACH;
        }
    }
    return result;
}

/* ---- commands ---- */

/* The state of one command. */
struct trip {
    struct sbx_redis_command *command;
    int node;      /* the node that was asked last, -1 none */
    int ask;       /* the node of an ASK redirection, for one try; -1: the owner */
    unsigned slot; /* SBX_REDIS_SLOTS: the command names a master */
    int redirects;
    bool is_done;
};

/* The node that the command goes to; -1: its slot has no owner. */
static int node_for(const struct sbx_redis_cluster *cluster, const struct trip *trip)
{
    if (trip->ask >= 0) {
        return trip->ask;
    }
    if (trip->slot < SBX_REDIS_SLOTS) {
        return (int)cluster->owners[trip->slot] - 1;
    }
    size_t wanted = trip->command->node;
    for (size_t i = 0; i < cluster->node_count; i++) {
        if (cluster->is_master[i] != 0 && wanted-- == 0) {
            return (int)i;
        }
    }
    return -1;
}

static void end(struct trip *trip, int result)
{
    trip->is_done = true;
    trip->command->result = result;
}

/* Add each command to its node. If a node cannot be reached, a new map is wanted. */
static void put_commands(struct sbx_redis_cluster *cluster, struct trip *trips, size_t count, bool is_patient,
                         char why[SBX_REDIS_WHY_BYTES])
{
    uint64_t now = sbx_redis_now_ms();
    uint8_t is_away[SBX_REDIS_NODES_MAX] = {0};
    for (size_t i = 0; i < count; i++) {
        struct trip *trip = &trips[i];
        trip->node = trip->is_done ? -1 : node_for(cluster, trip);
        if (trip->is_done) {
            continue;
        }
        if (trip->node < 0) {
            cluster->wants_map = true;
            snprintf(why, SBX_REDIS_WHY_BYTES, "no node of the cluster has slot %u", trip->slot);
            continue;
        }
        struct sbx_redis_node *node = cluster->nodes[trip->node];
        if (node->down_until_ms > now && !is_patient) {
            explain(node, why);
            end(trip, -EHOSTUNREACH);
            continue;
        }
        if (is_away[trip->node] != 0 || !connect_node(cluster, node)) {
            is_away[trip->node] = 1;
            cluster->wants_map = true;
            explain(node, why);
            trip->node = -1;
            continue;
        }
        if ((trip->ask >= 0 && sbx_redis_node_say(node, "ASKING") != 0) ||
            sbx_redis_node_ask(node, trip->command) != 0) {
            end(trip, -ENOMEM);
        }
    }
}

/* The beginnings of errors that may be temporary. */
static bool is_passing(const char *error)
{
    static const char *const words[] = {"TRYAGAIN", "CLUSTERDOWN", "LOADING", "MASTERDOWN", "READONLY"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strncmp(error, words[i], strlen(words[i])) == 0) {
            return true;
        }
    }
    return false;
}

/* Handle the reply to one command. Returns whether it continues at once. */
static bool take_reply(struct sbx_redis_cluster *cluster, struct trip *trip, char why[SBX_REDIS_WHY_BYTES])
{
    struct sbx_redis_node *node = cluster->nodes[trip->node];
    struct sbx_redis_command *command = trip->command;
    struct sbx_redis_address to;
    unsigned slot;
    trip->ask = -1;
    if (command->reply == NULL) {
        cluster->wants_map = true;
        explain(node, why);
        return false;
    }
    node->down_until_ms = 0;
    if (command->result == 0) {
        node->is_unsettled = true;
        end(trip, 0);
        return true;
    }
    enum sbx_redis_redirect kind = sbx_redis_redirect_read(command->reply->str, &node->address, &slot, &to);
    bool passes = kind == SBX_REDIS_STAYS && is_passing(command->reply->str);
    if ((kind == SBX_REDIS_STAYS && !passes) || (kind != SBX_REDIS_STAYS && ++trip->redirects > REDIRECTS_MAX)) {
        snprintf(why, SBX_REDIS_WHY_BYTES, "%s:%u: %.120s", node->address.host, node->address.port,
                 command->reply->str);
        end(trip, -EREMOTEIO);
        return true;
    }
    if (passes) {
        snprintf(why, SBX_REDIS_WHY_BYTES, "%s:%u: %.120s", node->address.host, node->address.port,
                 command->reply->str);
        cluster->wants_map = true;
    } else {
        int other = node_at(cluster, &to);
        trip->ask = kind == SBX_REDIS_ASK ? other : -1;
        if (kind == SBX_REDIS_MOVED && other >= 0) {
            cluster->owners[slot] = (uint16_t)(other + 1);
            cluster->wants_map = true; /* if one slot moved, others probably did, too */
        }
    }
    sbx_redis_commands_finish(command, 1);
    return !passes;
}

/* One round: each command that is not done is sent once. Returns whether the remaining ones continue at once. */
static bool go_round(struct sbx_redis_cluster *cluster, struct trip *trips, size_t count, uint64_t until_ms,
                     bool is_patient, char why[SBX_REDIS_WHY_BYTES])
{
    bool at_once = true;
    put_commands(cluster, trips, count, is_patient, why);
    sbx_redis_nodes_exchange(cluster->nodes, cluster->node_count, until_ms);
    for (size_t i = 0; i < count; i++) {
        if (!trips[i].is_done && trips[i].node >= 0) {
            at_once = take_reply(cluster, &trips[i], why) && at_once;
        } else if (!trips[i].is_done) {
            at_once = false;
        }
    }
    return at_once;
}

static size_t count_left(const struct trip *trips, size_t count)
{
    size_t left = 0;
    for (size_t i = 0; i < count; i++) {
        left += !trips[i].is_done;
    }
    return left;
}

static void rest(uint64_t ms)
{
    const struct timespec time = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};
    (void)nanosleep(&time, NULL);
}

int sbx_redis_cluster_run(struct sbx_redis_cluster *cluster, struct sbx_redis_command *commands, size_t count,
                          uint64_t until_ms, char why[SBX_REDIS_WHY_BYTES])
{
    struct trip *trips = calloc(count + 1, sizeof *trips);
    bool is_patient = until_ms > sbx_redis_now_ms() + 10000;
    uint64_t rest_ms = REST_MS;
    int result = 0;
    if (trips == NULL) {
        snprintf(why, SBX_REDIS_WHY_BYTES, "%s", strerror(ENOMEM));
        return -ENOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        int key = commands[i].key;
        commands[i].result = -EHOSTUNREACH;
        trips[i] = (struct trip){.command = &commands[i], .node = -1, .ask = -1, .slot = SBX_REDIS_SLOTS};
        trips[i].slot = key > 0 ? sbx_redis_slot(commands[i].arguments[key], commands[i].bytes[key]) : SBX_REDIS_SLOTS;
    }
    cluster->wants_map = cluster->wants_map || !cluster->has_map;
    if (!is_patient && sbx_redis_now_ms() < cluster->down_until_ms) {
        until_ms = 0;
        snprintf(why, SBX_REDIS_WHY_BYTES, "%s", cluster->why);
    }
    while (count_left(trips, count) > 0 && sbx_redis_now_ms() < until_ms) {
        bool has_map = !cluster->wants_map || find_map(cluster, until_ms, why);
        if (!has_map && !is_patient) { /* no node answers, so it is not one dead node */
            cluster->down_until_ms = sbx_redis_now_ms() + ALL_DOWN_MS;
            snprintf(cluster->why, sizeof cluster->why, "%s", why);
            break;
        }
        bool at_once = (has_map || cluster->has_map) && go_round(cluster, trips, count, until_ms, is_patient, why);
        if (!at_once && count_left(trips, count) > 0) {
            rest(rest_ms);
            rest_ms = rest_ms * 2 > REST_MAX_MS ? REST_MAX_MS : rest_ms * 2;
        }
    }
    for (size_t i = 0; i < count; i++) {
        int node = trips[i].is_done ? -1 : node_for(cluster, &trips[i]);
        if (node >= 0) { /* no other node took over in time */
            cluster->nodes[node]->down_until_ms = sbx_redis_now_ms() + DOWN_MS;
        }
        result = result == 0 ? commands[i].result : result;
    }
    free(trips);
    return result;
}

void sbx_redis_cluster_settle(struct sbx_redis_cluster *cluster)
{
    struct sbx_redis_command commands[SBX_REDIS_NODES_MAX] = {{.count = 0}};
    for (size_t i = 0; i < cluster->node_count; i++) {
        struct sbx_redis_node *node = cluster->nodes[i];
        if (cluster->is_master[i] != 0 && node->has_replica && node->is_unsettled && node->context != NULL) {
            sbx_redis_command_add(&commands[i], "WAIT", 4);
            sbx_redis_command_add(&commands[i], "1", 1);
            sbx_redis_command_add(&commands[i], "1000", 4);
            (void)sbx_redis_node_ask(node, &commands[i]);
        }
        node->is_unsettled = false;
    }
    sbx_redis_nodes_exchange(cluster->nodes, cluster->node_count, sbx_redis_now_ms() + SETTLE_MS * 2);
    sbx_redis_commands_finish(commands, cluster->node_count);
}
