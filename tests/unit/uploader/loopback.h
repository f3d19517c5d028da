/* SPDX-License-Identifier: Apache-2.0 */
/* loopback.h - a thread that accepts connections on 127.0.0.1, one at a time, for servers that differ in how they serve
 * one. */
#ifndef SBX_TEST_LOOPBACK_H
#define SBX_TEST_LOOPBACK_H

#include <stdint.h>

struct sbx_loopback;

/* Listen on `port` (0: any) and call `serve` on the thread for each connection, which is closed afterwards. Ends the
 * program on failure, as the other functions do. */
struct sbx_loopback *sbx_loopback_start(uint16_t port, void (*serve)(void *context, int connection), void *context);
uint16_t sbx_loopback_port(const struct sbx_loopback *loopback);
/* Returns when the current connection is served. */
void sbx_loopback_stop(struct sbx_loopback *loopback);

/* A port on which no server listens now. */
uint16_t sbx_loopback_free_port(void);

#endif
