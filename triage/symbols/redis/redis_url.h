/* SPDX-License-Identifier: Apache-2.0 */
/* redis_url.h - the form in which an operator writes the address of Redis.
 *
 *  redis://[USER@]HOST[:PORT][/DB]           one server; port 6379, database 0
 *  redis+cluster://[USER@]HOST[:PORT],...    some nodes of a cluster; they tell the others
 *  unix:PATH                                 one server, by its socket
 *
 * Each may end in ?ttl=DAYS: how long unused images are kept. An IPv6 address is written in brackets. There is no place
 * for a password, because every user of the machine can read a command line. */
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
    char host[SBX_REDIS_HOST_BYTES]; /* if the port is 0: the path of a socket */
    unsigned port;
};

struct sbx_redis_url {
    bool is_cluster;
    bool connects_no_more; /* only the present connections are used, no new ones */
    struct sbx_redis_address seeds[SBX_REDIS_SEEDS_MAX];
    size_t seed_count;
    unsigned database, ttl_days;           /* ttl_days: 0: default */
    char user[SBX_REDIS_SECRET_BYTES];     /* "": the server's default */
    char password[SBX_REDIS_SECRET_BYTES]; /* "": none */
};

/* Whether `text` begins like one of the three forms, so that it is not a folder. */
bool sbx_redis_url_is(const char *text);

/* Returns 0, or -EINVAL with a text for a person. */
int sbx_redis_url_parse(const char *text, struct sbx_redis_url *url_out, char *why, size_t why_bytes);

/* The password: from the file in STALLBOX_REDIS_PASSWORD_FILE, which only the user may be able to read, else from
 * STALLBOX_REDIS_PASSWORD. If both are not set, there is no password. Returns 0, or -errno with a text for a person. */
int sbx_redis_url_read_password(struct sbx_redis_url *url, char *why, size_t why_bytes);

#endif
