/* SPDX-License-Identifier: Apache-2.0 */
/* redis_url.h - how an operator writes where Redis is.
 *
 *   redis://[USER@]HOST[:PORT][/DB]           one server; port 6379, database 0
 *   redis+cluster://[USER@]HOST[:PORT],...    some nodes of a cluster; the others are asked of them
 *   unix:PATH                                 one server, by its socket
 *
 * Each may end in ?ttl=DAYS: how long what nobody asks for is kept. An IPv6 address stands in brackets. There is no place for
 * a password: what stands on a command line can be read by everybody on the machine. */
#ifndef SBX_REDIS_URL_H
#define SBX_REDIS_URL_H

#include <stdbool.h>
#include <stddef.h>

enum {
    SBX_REDIS_HOST_BYTES = 256,
    SBX_REDIS_SEEDS_MAX = 32,
    SBX_REDIS_PORT = 6379,
    SBX_REDIS_SECRET_BYTES = 512,
    SBX_REDIS_TTL_DAYS_MAX = 3650
};

struct sbx_redis_address {
    char host[SBX_REDIS_HOST_BYTES]; /* with port 0: the path of a socket */
    unsigned port;
};

struct sbx_redis_url {
    bool is_cluster;
    bool connects_no_more; /* what is connected is used, and nothing else */
    struct sbx_redis_address seeds[SBX_REDIS_SEEDS_MAX];
    size_t seed_count;
    unsigned database, ttl_days;           /* ttl_days: 0 as usual */
    char user[SBX_REDIS_SECRET_BYTES];     /* "": the server's default */
    char password[SBX_REDIS_SECRET_BYTES]; /* "": none */
};

/* Whether `text` begins like one of the three, so that it is no folder. */
bool sbx_redis_url_is(const char *text);

/* Returns 0, or -EINVAL with words for a person. */
int sbx_redis_url_parse(const char *text, struct sbx_redis_url *url_out, char *why, size_t why_bytes);

/* The password, from the file that STALLBOX_REDIS_PASSWORD_FILE names, which nobody else may read, else from
 * STALLBOX_REDIS_PASSWORD; without either there is none. Returns 0, or -errno with words for a person. */
int sbx_redis_url_read_password(struct sbx_redis_url *url, char *why, size_t why_bytes);

#endif
