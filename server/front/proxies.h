/* SPDX-License-Identifier: Apache-2.0 */
/* proxies.h - the proxies in front that the operator named. Only their word about a visitor is trusted. */
#ifndef SBX_PROXIES_H
#define SBX_PROXIES_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

enum {
    SBX_PROXIES_MAX = 16
};

struct sbx_proxies {
    struct in6_addr addresses[SBX_PROXIES_MAX]; /* IPv4 addresses are mapped to IPv6 */
    size_t count;
};

/* Add a numeric address. Returns 0, -EINVAL when it is not an address, or -E2BIG. */
int sbx_proxies_add(struct sbx_proxies *proxies, const char *address);
/* Is this peer one of the proxies? NULL is not. */
bool sbx_proxies_has(const struct sbx_proxies *proxies, const struct sockaddr *peer);

#endif
