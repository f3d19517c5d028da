/* SPDX-License-Identifier: Apache-2.0 */
/* notify_socket.h - what the program tells its service manager (sd_notify(3)): pings of its watchdog among it.
 *
 * The manager names a socket in the environment. libsystemd sends to its address each time; others (sshd) connect to it and
 * write. A call is recognised by the address it names or the descriptor that was connected to it; for every other call that is one
 * load of a pointer that is NULL, or a comparison of addresses. What is sent is read after the kernel has read it. */
#ifndef SBX_NOTIFY_SOCKET_H
#define SBX_NOTIFY_SOCKET_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "marks.h"
#include "order.h"

enum sbx_notify_word {
    SBX_NOTIFY_PING,    /* WATCHDOG=1 */
    SBX_NOTIFY_TIMEOUT, /* WATCHDOG_USEC=value */
    SBX_NOTIFY_STOPPING /* STOPPING=1: what comes now may take its time */
};

struct sbx_notify_socket {
    void (*told)(enum sbx_notify_word word, uint64_t value); /* NULL: there is no such socket. Hook-safe */
    struct sockaddr_un address;
    uint32_t path_bytes; /* of its path, without a zero at the end; an abstract one begins with a zero */
    int descriptor;      /* connected to it; -1: none */
};

extern struct sbx_notify_socket sbx_the_notify_socket __attribute__((visibility("hidden")));

/* Begin to look, for the socket that NOTIFY_SOCKET names ("/path" or "@abstract"). Before there are hooks. Another text is ignored. */
void sbx_notify_socket_start(const char *name, void (*told)(enum sbx_notify_word word, uint64_t value));

/* One line after the other of what was sent; at most 4 KiB are read. */
SBX_HOOK_SAFE void sbx_notify_socket_read(const char *text, size_t bytes);

SBX_HOOK_SAFE int sbx_notify_socket_is(const void *address, size_t bytes);

/* A descriptor was connected. */
SBX_HOOK_SAFE static inline void sbx_notify_connected(int fd, const void *address, size_t bytes)
{
    if (SBX_UNLIKELY(sbx_the_notify_socket.told != NULL) && sbx_notify_socket_is(address, bytes)) {
        sbx_store_relaxed(&sbx_the_notify_socket.descriptor,
                          fd); /* relaxed: the thread that writes to it has connected it */
    }
}

/* `text` was sent to an address (NULL: none was named), by a descriptor. */
SBX_HOOK_SAFE static inline void sbx_notify_sent(int fd, const void *address, size_t address_bytes, const void *text,
                                                 size_t bytes)
{
    if (SBX_UNLIKELY(sbx_the_notify_socket.told != NULL) &&
        (fd == sbx_load_relaxed(&sbx_the_notify_socket.descriptor) || /* relaxed: as above */
         (address != NULL && sbx_notify_socket_is(address, address_bytes)))) {
        sbx_notify_socket_read(text, bytes);
    }
}

#endif
