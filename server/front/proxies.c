/* SPDX-License-Identifier: Apache-2.0 */
/* proxies.c - addresses, compared as IPv6. */
#include "proxies.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

static struct in6_addr mapped(const struct in_addr *address)
{
    struct in6_addr six = {.s6_addr = {[10] = 0xff, [11] = 0xff}};
    memcpy(six.s6_addr + 12, address, 4);
    return six;
}

int sbx_proxies_add(struct sbx_proxies *proxies, const char *address)
{
    struct in_addr four;
    struct in6_addr six;
    if (inet_pton(AF_INET, address, &four) == 1)
        six = mapped(&four);
    else if (inet_pton(AF_INET6, address, &six) != 1)
        return -EINVAL;
    if (proxies->count == SBX_PROXIES_MAX)
        return -E2BIG;
    proxies->addresses[proxies->count++] = six;
    return 0;
}

bool sbx_proxies_has(const struct sbx_proxies *proxies, const struct sockaddr *peer)
{
    struct in6_addr six;
    if (peer && peer->sa_family == AF_INET)
        six = mapped(&((const struct sockaddr_in *)peer)->sin_addr);
    else if (peer && peer->sa_family == AF_INET6)
        six = ((const struct sockaddr_in6 *)peer)->sin6_addr;
    else
        return false;
    for (size_t i = 0; i < proxies->count; i++)
        if (memcmp(&proxies->addresses[i], &six, sizeof(six)) == 0)
            return true;
    return false;
}
