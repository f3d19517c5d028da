/* SPDX-License-Identifier: Apache-2.0 */
/* listener.h - "ADDR:PORT" to a listening socket, and whether only this machine can reach it. */
#ifndef SBX_LISTENER_H
#define SBX_LISTENER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sbx_listener {
    int fd;           /* given: the caller closes it or passes it on */
    uint16_t port;    /* the real one, also when 0 was asked for */
    bool is_loopback; /* bound to 127.0.0.0/8 or ::1 */
};

/* Is `listen` an address that only this machine can reach? Returns 0 and the answer, or -EINVAL with the reason. */
int sbx_listen_is_loopback(const char *listen, bool *is_loopback_out, char *why, size_t why_bytes);

/* Open it. Returns 0 or -errno with the reason; on failure there is nothing to close. */
int sbx_listener_open(const char *listen, struct sbx_listener *listener_out, char *why, size_t why_bytes);

#endif
