/* SPDX-License-Identifier: Apache-2.0 */
/* point_socket.c - sockets and name lookup. */
#include "point.h"

#include <netdb.h>
#include <sys/socket.h>

SBX_BLOCKING_HOOK(int, connect, (int fd, const struct sockaddr *to, socklen_t bytes), (fd, to, bytes),
                  SBX_GROUP_SOCKET, SBX_RECORD_SOCKET, SBX_OP_CONNECT, (uint64_t)fd + 1, 0, result < 0, fd)
SBX_BLOCKING_HOOK(int, accept, (int fd, struct sockaddr *from, socklen_t *bytes), (fd, from, bytes), SBX_GROUP_SOCKET, SBX_RECORD_SOCKET,
                  SBX_OP_ACCEPT, (uint64_t)fd + 1, 0, result < 0, fd)
SBX_BLOCKING_HOOK(int, accept4, (int fd, struct sockaddr *from, socklen_t *bytes, int flags), (fd, from, bytes, flags),
                  SBX_GROUP_SOCKET, SBX_RECORD_SOCKET, SBX_OP_ACCEPT, (uint64_t)fd + 1, 0, result < 0, fd)
SBX_BLOCKING_HOOK(ssize_t, send, (int fd, const void *buffer, size_t bytes, int flags), (fd, buffer, bytes, flags),
                  SBX_GROUP_SOCKET, SBX_RECORD_SOCKET, SBX_OP_SEND, (uint64_t)fd + 1, result > 0 ? result : 0, result < 0, fd)
SBX_BLOCKING_HOOK(ssize_t, recv, (int fd, void *buffer, size_t bytes, int flags), (fd, buffer, bytes, flags),
                  SBX_GROUP_SOCKET, SBX_RECORD_SOCKET, SBX_OP_RECV, (uint64_t)fd + 1, result > 0 ? result : 0, result < 0, fd)
SBX_BLOCKING_HOOK(ssize_t, recv_chk, (int fd, void *buffer, size_t bytes, size_t room, int flags),
                  (fd, buffer, bytes, room, flags), SBX_GROUP_SOCKET, SBX_RECORD_SOCKET, SBX_OP_RECV, (uint64_t)fd + 1,
                  result > 0 ? result : 0, result < 0, fd)
SBX_BLOCKING_HOOK(ssize_t, sendto,
                  (int fd, const void *buffer, size_t bytes, int flags, const struct sockaddr *to, socklen_t to_bytes),
                  (fd, buffer, bytes, flags, to, to_bytes), SBX_GROUP_SOCKET, SBX_RECORD_SOCKET, SBX_OP_SENDTO, (uint64_t)fd + 1,
                  result > 0 ? result : 0, result < 0, fd)
SBX_BLOCKING_HOOK(ssize_t, recvfrom,
                  (int fd, void *buffer, size_t bytes, int flags, struct sockaddr *from, socklen_t *from_bytes),
                  (fd, buffer, bytes, flags, from, from_bytes), SBX_GROUP_SOCKET, SBX_RECORD_SOCKET, SBX_OP_RECVFROM, (uint64_t)fd + 1,
                  result > 0 ? result : 0, result < 0, fd)
SBX_BLOCKING_HOOK(ssize_t, sendmsg, (int fd, const struct msghdr *message, int flags), (fd, message, flags),
                  SBX_GROUP_SOCKET, SBX_RECORD_SOCKET, SBX_OP_SENDMSG, (uint64_t)fd + 1, result > 0 ? result : 0, result < 0, fd)
SBX_BLOCKING_HOOK(ssize_t, recvmsg, (int fd, struct msghdr *message, int flags), (fd, message, flags),
                  SBX_GROUP_SOCKET, SBX_RECORD_SOCKET, SBX_OP_RECVMSG, (uint64_t)fd + 1, result > 0 ? result : 0, result < 0, fd)
SBX_BLOCKING_HOOK(int, getaddrinfo,
                  (const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **found),
                  (host, service, hints, found), SBX_GROUP_LOOKUP, SBX_RECORD_SOCKET, SBX_OP_GETADDRINFO, 0, 0, result != 0, -1)

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
    SBX_POINT("getaddrinfo", hook_getaddrinfo, real_getaddrinfo, SBX_GROUP_LOOKUP),
};
const struct sbx_point_list sbx_points_socket = SBX_POINT_LIST(points);
