/* SPDX-License-Identifier: Apache-2.0 */
/* point_socket.c - sockets and name lookup. */
#include "point.h"

#include <netdb.h>
#include <sys/socket.h>

#include "descriptor_hooks.h"
#include "message_loop.h"
#include "notify_socket.h"

/* A call on descriptor `fd` that receives `result` bytes. */
#define RECEIVES(name, parameters, arguments, op, asked) SBX_READ_HOOK(name, parameters, arguments, SOCKET, op, asked)
/* A call that sends. `seen` checks whether it went to the service manager's socket. */
#define SENDS(name, parameters, arguments, op, seen) SBX_WRITE_HOOK(name, parameters, arguments, SOCKET, op, seen)

/* The descriptor that accept() returns is a client's. A connected one is not. */
#define ACCEPTS(name, parameters, arguments, is_prompt)                                                         \
    static int(*real_##name) parameters;                                                                        \
    static int hook_##name parameters                                                                           \
    {                                                                                                           \
        struct sbx_blocking call;                                                                               \
        const struct sbx_polled polled = {.count = (uint32_t)fd, .form = SBX_POLLED_ACCEPT, .waits = true};     \
        SBX_SAVE_FRAME_POINTER();                                                                               \
        bool may_be_loops = sbx_accept_waits(fd);                                                               \
        if (may_be_loops) {                                                                                     \
            sbx_poll_begin(&call, SBX_OP_ACCEPT, (uint64_t)__builtin_return_address(0),                         \
                           (uint64_t)__builtin_dwarf_cfa(), &polled);                                           \
        } else {                                                                                                \
            sbx_blocking_begin(&call, SBX_GROUP_SOCKET, SBX_RECORD_SOCKET, SBX_OP_ACCEPT, (uint64_t)fd + 1, 0); \
        }                                                                                                       \
        sbx_client_awaited(&call);                                                                              \
        int result = real_##name arguments;                                                                     \
        sbx_client_came(result, is_prompt);                                                                     \
        if (may_be_loops) {                                                                                     \
            sbx_poll_end(&call, &polled, result < 0, call.is_loop ? -1 : fd);                                   \
        } else {                                                                                                \
            sbx_blocking_end(&call, 0, result < 0, fd);                                                         \
        }                                                                                                       \
        return result;                                                                                          \
    }

static int (*real_connect)(int, const struct sockaddr *, socklen_t);
static int hook_connect(int fd, const struct sockaddr *to, socklen_t bytes)
{
    struct sbx_blocking call;
    SBX_SAVE_FRAME_POINTER();
    sbx_client_went(fd);
    sbx_blocking_begin(&call, SBX_GROUP_SOCKET, SBX_RECORD_SOCKET, SBX_OP_CONNECT, (uint64_t)fd + 1, 0);
    int result = real_connect(fd, to, bytes);
    sbx_blocking_end(&call, 0, result < 0, fd);
    if (result == 0) {
        sbx_notify_connected(fd, to, bytes);
    }
    return result;
}

ACCEPTS(accept, (int fd, struct sockaddr *from, socklen_t *bytes), (fd, from, bytes), false)
ACCEPTS(accept4, (int fd, struct sockaddr *from, socklen_t *bytes, int flags), (fd, from, bytes, flags),
        (flags & SOCK_NONBLOCK) != 0)
SENDS(send, (int fd, const void *buffer, size_t bytes, int flags), (fd, buffer, bytes, flags), SBX_OP_SEND,
      sbx_notify_sent(fd, NULL, 0, buffer, (size_t)result))
RECEIVES(recv, (int fd, void *buffer, size_t bytes, int flags), (fd, buffer, bytes, flags), SBX_OP_RECV, bytes)
RECEIVES(recv_chk, (int fd, void *buffer, size_t bytes, size_t room, int flags), (fd, buffer, bytes, room, flags),
         SBX_OP_RECV, bytes)
SENDS(sendto, (int fd, const void *buffer, size_t bytes, int flags, const struct sockaddr *to, socklen_t to_bytes),
      (fd, buffer, bytes, flags, to, to_bytes), SBX_OP_SENDTO,
      sbx_notify_sent(fd, to, to_bytes, buffer, (size_t)result))
RECEIVES(recvfrom, (int fd, void *buffer, size_t bytes, int flags, struct sockaddr *from, socklen_t *from_bytes),
         (fd, buffer, bytes, flags, from, from_bytes), SBX_OP_RECVFROM, bytes)
RECEIVES(recvfrom_chk,
         (int fd, void *buffer, size_t bytes, size_t room, int flags, struct sockaddr *from, socklen_t *from_bytes),
         (fd, buffer, bytes, room, flags, from, from_bytes), SBX_OP_RECVFROM, bytes)
/* The first part of a message: sd_notify(3) sends one. */
SBX_HOOK_SAFE static void look_at_message(int fd, const struct msghdr *message, size_t sent)
{
    const struct iovec *parts = message->msg_iov;
    if (message->msg_iovlen != 0) {
        sbx_notify_sent(fd, message->msg_name, message->msg_namelen, parts[0].iov_base,
                        parts[0].iov_len < sent ? parts[0].iov_len : sent);
    }
}
SENDS(sendmsg, (int fd, const struct msghdr *message, int flags), (fd, message, flags), SBX_OP_SENDMSG,
      look_at_message(fd, message, (size_t)result))
RECEIVES(recvmsg, (int fd, struct msghdr *message, int flags), (fd, message, flags), SBX_OP_RECVMSG, SIZE_MAX)
#define MOVES(type, name, parameters, arguments, op) \
    SBX_MOVING_HOOK(type, name, parameters, arguments, SBX_GROUP_SOCKET, SBX_RECORD_SOCKET, op, (uint64_t)fd + 1, fd)
/* These two return a number of messages, not bytes, and so does the amount. */
MOVES(int, sendmmsg, (int fd, struct mmsghdr *messages, unsigned count, int flags), (fd, messages, count, flags),
      SBX_OP_SENDMMSG)
MOVES(int, recvmmsg, (int fd, struct mmsghdr *messages, unsigned count, int flags, struct timespec *timeout),
      (fd, messages, count, flags, timeout), SBX_OP_RECVMMSG)

/* Name lookups: they read files, or ask a cache daemon, or ask a name server that may not answer for five seconds. */
#define LOOKS_UP(type, name, parameters, arguments, op, failed) \
    SBX_BLOCKING_HOOK(type, name, parameters, arguments, SBX_GROUP_LOOKUP, SBX_RECORD_SOCKET, op, 0, 0, failed, -1)

LOOKS_UP(int, getaddrinfo,
         (const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **found),
         (host, service, hints, found), SBX_OP_GETADDRINFO, result != 0)
LOOKS_UP(int, getnameinfo,
         (const struct sockaddr *address, socklen_t bytes, char *host, socklen_t host_bytes, char *service,
          socklen_t service_bytes, int flags),
         (address, bytes, host, host_bytes, service, service_bytes, flags), SBX_OP_GETNAMEINFO, result != 0)
LOOKS_UP(struct hostent *, gethostbyname, (const char *host), (host), SBX_OP_GETHOSTBYNAME, result == NULL)
LOOKS_UP(struct hostent *, gethostbyname2, (const char *host, int family), (host, family), SBX_OP_GETHOSTBYNAME,
         result == NULL)
LOOKS_UP(struct hostent *, gethostbyaddr, (const void *address, socklen_t bytes, int family), (address, bytes, family),
         SBX_OP_GETHOSTBYNAME, result == NULL)
LOOKS_UP(int, gethostbyname_r,
         (const char *host, struct hostent *out, char *buffer, size_t bytes, struct hostent **found, int *error),
         (host, out, buffer, bytes, found, error), SBX_OP_GETHOSTBYNAME, result != 0)
LOOKS_UP(int, gethostbyname2_r,
         (const char *host, int family, struct hostent *out, char *buffer, size_t bytes, struct hostent **found,
          int *error),
         (host, family, out, buffer, bytes, found, error), SBX_OP_GETHOSTBYNAME, result != 0)
LOOKS_UP(int, gethostbyaddr_r,
         (const void *address, socklen_t address_bytes, int family, struct hostent *out, char *buffer, size_t bytes,
          struct hostent **found, int *error),
         (address, address_bytes, family, out, buffer, bytes, found, error), SBX_OP_GETHOSTBYNAME, result != 0)

static const struct sbx_point points[] = {
    SBX_POINT("connect", hook_connect, real_connect, SBX_GROUP_SOCKET),
    SBX_POINT("accept", hook_accept, real_accept, SBX_GROUP_SOCKET),
    SBX_POINT("accept4", hook_accept4, real_accept4, SBX_GROUP_SOCKET),
    SBX_POINT("send", hook_send, real_send, SBX_GROUP_SOCKET),
    SBX_POINT("recv", hook_recv, real_recv, SBX_GROUP_SOCKET),
    SBX_POINT("__recv_chk", hook_recv_chk, real_recv_chk, SBX_GROUP_SOCKET),
    SBX_POINT("sendto", hook_sendto, real_sendto, SBX_GROUP_SOCKET),
    SBX_POINT("recvfrom", hook_recvfrom, real_recvfrom, SBX_GROUP_SOCKET),
    SBX_POINT("sendmsg", hook_sendmsg, real_sendmsg, SBX_GROUP_SOCKET),
    SBX_POINT("recvmsg", hook_recvmsg, real_recvmsg, SBX_GROUP_SOCKET),
    SBX_POINT("__recvfrom_chk", hook_recvfrom_chk, real_recvfrom_chk, SBX_GROUP_SOCKET),
    SBX_POINT("sendmmsg", hook_sendmmsg, real_sendmmsg, SBX_GROUP_SOCKET),
    SBX_POINT("recvmmsg", hook_recvmmsg, real_recvmmsg, SBX_GROUP_SOCKET),
    SBX_POINT("getaddrinfo", hook_getaddrinfo, real_getaddrinfo, SBX_GROUP_LOOKUP),
    SBX_POINT("getnameinfo", hook_getnameinfo, real_getnameinfo, SBX_GROUP_LOOKUP),
    SBX_POINT("gethostbyname", hook_gethostbyname, real_gethostbyname, SBX_GROUP_LOOKUP),
    SBX_POINT("gethostbyname2", hook_gethostbyname2, real_gethostbyname2, SBX_GROUP_LOOKUP),
    SBX_POINT("gethostbyaddr", hook_gethostbyaddr, real_gethostbyaddr, SBX_GROUP_LOOKUP),
    SBX_POINT("gethostbyname_r", hook_gethostbyname_r, real_gethostbyname_r, SBX_GROUP_LOOKUP),
    SBX_POINT("gethostbyname2_r", hook_gethostbyname2_r, real_gethostbyname2_r, SBX_GROUP_LOOKUP),
    SBX_POINT("gethostbyaddr_r", hook_gethostbyaddr_r, real_gethostbyaddr_r, SBX_GROUP_LOOKUP),
};
const struct sbx_point_list sbx_points_socket = SBX_POINT_LIST(points);
