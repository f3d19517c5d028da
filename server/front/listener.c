/* SPDX-License-Identifier: Apache-2.0 */
/* listener.c - parse, bind, listen. This is apart from the HTTP library so that each error has its own message. */
#include "listener.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    BACKLOG = 256
};

static bool is_loopback(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr) >> 24 == 127;
    return address->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)address)->sin6_addr);
}

/* Resolve `listen` to one address (given: freeaddrinfo). No name service is asked, because the server must start
 * without one. "localhost" is the only name. */
static int resolve(const char *listen, struct addrinfo **address_out, char *why, size_t why_bytes)
{
    char host[80], *end;
    const char *colon = strrchr(listen, ':');
    size_t host_bytes = colon ? (size_t)(colon - listen) : 0;
    unsigned long port = colon && colon[1] >= '0' && colon[1] <= '9' ? strtoul(colon + 1, &end, 10) : 65536;
    if (!colon || port > 65535 || *end || host_bytes == 0 || host_bytes >= sizeof(host)) {
        snprintf(why, why_bytes, "cannot listen on \"%s\": write ADDRESS:PORT, like 127.0.0.1:8321 or [::1]:8321",
                 listen);
        return -EINVAL;
    }
    if (listen[0] == '[' && listen[host_bytes - 1] == ']')
        snprintf(host, sizeof(host), "%.*s", (int)host_bytes - 2, listen + 1);
    else
        snprintf(host, sizeof(host), "%.*s", (int)host_bytes, listen);

    struct addrinfo hints = {
        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
    int code = getaddrinfo(strcmp(host, "localhost") == 0 ? "127.0.0.1" : host, colon + 1, &hints, address_out);
    if (code != 0) {
        snprintf(why, why_bytes,
                 "cannot listen on \"%s\": \"%s\" is no address of this machine in numbers, nor localhost", listen,
                 host);
        return -EINVAL;
    }
    return 0;
}

int sbx_listen_is_loopback(const char *listen, bool *is_loopback_out, char *why, size_t why_bytes)
{
    struct addrinfo *address;
    int result = resolve(listen, &address, why, why_bytes);
    if (result == 0) {
        *is_loopback_out = is_loopback(address->ai_addr);
        freeaddrinfo(address);
    }
    return result;
}

int sbx_listener_open(const char *listen_text, struct sbx_listener *listener_out, char *why, size_t why_bytes)
{
    struct addrinfo *address;
    struct sockaddr_storage bound;
    socklen_t bound_bytes = sizeof(bound);
    const int on = 1;
    int result = resolve(listen_text, &address, why, why_bytes);
    if (result < 0)
        return result;

    int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        goto say_why;
    /* A restarted server gets its port again although old connections linger. */
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
        bind(fd, address->ai_addr, address->ai_addrlen) < 0 || listen(fd, BACKLOG) < 0 ||
        getsockname(fd, (struct sockaddr *)&bound, &bound_bytes) < 0)
        goto say_why;

    listener_out->fd = fd;
    listener_out->is_loopback = is_loopback((struct sockaddr *)&bound);
    listener_out->port = ntohs(bound.ss_family == AF_INET ? ((struct sockaddr_in *)&bound)->sin_port
                                                          : ((struct sockaddr_in6 *)&bound)->sin6_port);
    freeaddrinfo(address);
    return 0;

say_why:
    result = -errno;
    snprintf(why, why_bytes, "cannot listen on %s: %s", listen_text, strerror(-result));
    if (fd >= 0)
        close(fd);
    freeaddrinfo(address);
    return result;
}
