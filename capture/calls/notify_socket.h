/* SPDX-License-Identifier: Apache-2.0 */
/* notify_socket.h - what the program tells its service manager (sd_notify(3)), including the pings of its watchdog.
 *
 * The manager names a socket in the environment. libsystemd sends to its address each time. Other programs (sshd)
 * connect to it and write. So a call is recognised by the address it names, or by the descriptor that was connected to
 * that address. Every other call costs one load of a pointer that is NULL, or a comparison of addresses. The text is
 * read after the kernel has read it. */
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
    SBX_NOTIFY_STOPPING /* STOPPING=1: the program may take its time from now on */
};

struct sbx_notify_socket {
    void (*told)(enum sbx_notify_word word, uint64_t value); /* NULL: there is no such socket. Must be hook-safe */
    struct sockaddr_un address;
    uint32_t path_bytes; /* of its path, without a final zero byte; an abstract path begins with one */
    int descriptor;      /* connected to it; -1: none */
};

extern struct sbx_notify_socket sbx_the_notify_socket __attribute__((visibility("hidden")));

/* Look for the socket that NOTIFY_SOCKET names ("/path" or "@abstract") from now on. Call it before any hook is set.
 * Any other text is ignored. */
void sbx_notify_socket_start(const char *name, void (*told)(enum sbx_notify_word word, uint64_t value));

/* Reads the sent text line by line, at most 4 KiB of it. */
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

/* `text` was sent through descriptor `fd` to an address (NULL: the call named none). */
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
