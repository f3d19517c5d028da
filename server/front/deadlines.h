/* SPDX-License-Identifier: Apache-2.0 */
/* deadlines.h - every connection ends its request in time, or is cut.
 *
 * libmicrohttpd's own time-out starts anew with each byte, so a client that drips one byte a second stays for ever.
 * Here each connection has one absolute deadline per request: from connect, or from the end of the request before, to
 * the end of the answer. One thread sleeps until the earliest; with no connection it does not wake at all. */
#ifndef SBX_DEADLINES_H
#define SBX_DEADLINES_H

#include <stdint.h>

#include "metrics.h"

struct sbx_deadlines;
struct sbx_deadline; /* of one connection */

/* Starts the thread. `metrics` is borrowed until destroy. Returns 0 or -errno. */
int sbx_deadlines_create(uint32_t deadline_ms, struct sbx_metrics *metrics, struct sbx_deadlines **deadlines_out);
void sbx_deadlines_destroy(struct sbx_deadlines *deadlines); /* after the last sbx_deadline_close */

/* Watch `fd` (borrowed until close): at its deadline it is shut down, never closed, so that its number stays its own.
 * NULL without memory: the connection is then not watched. */
struct sbx_deadline *sbx_deadline_open(struct sbx_deadlines *deadlines, int fd);
void sbx_deadline_renew(struct sbx_deadlines *deadlines, struct sbx_deadline *deadline); /* NULL is fine */
/* The server works on it and nothing is awaited from the peer: there is no deadline until it is renewed. NULL is fine. */
void sbx_deadline_pause(struct sbx_deadlines *deadlines, struct sbx_deadline *deadline);
void sbx_deadline_close(struct sbx_deadlines *deadlines, struct sbx_deadline *deadline); /* NULL is fine */

#endif
