/* SPDX-License-Identifier: Apache-2.0 */
/* deadlines.h - a connection that does not end its request in time is cut.
 *
 * The time-out of libmicrohttpd starts anew with each byte, so a client that sends one byte a second stays for ever.
 * Here each request has one absolute deadline: it starts at the connect or at the end of the previous request, and
 * covers everything up to the end of the answer. One thread sleeps until the earliest deadline. Without connections it
 * never wakes. */
#ifndef SBX_DEADLINES_H
#define SBX_DEADLINES_H

#include <stdint.h>

#include "metrics.h"

struct sbx_deadlines;
struct sbx_deadline; /* the deadline of one connection */

/* Starts the thread. `metrics` is borrowed until destroy. Returns 0 or -errno. */
int sbx_deadlines_create(uint32_t deadline_ms, struct sbx_metrics *metrics, struct sbx_deadlines **deadlines_out);
void sbx_deadlines_destroy(struct sbx_deadlines *deadlines); /* after the last sbx_deadline_close */

/* Watch `fd` (borrowed until close). At its deadline the socket is shut down but not closed, so that its number is not
 * used again. Returns NULL without memory; the connection is then not watched. */
struct sbx_deadline *sbx_deadline_open(struct sbx_deadlines *deadlines, int fd);
void sbx_deadline_renew(struct sbx_deadlines *deadlines, struct sbx_deadline *deadline); /* NULL is fine */
/* The server works, and the peer owes nothing: there is no deadline until the next renew. NULL is fine. */
void sbx_deadline_pause(struct sbx_deadlines *deadlines, struct sbx_deadline *deadline);
void sbx_deadline_close(struct sbx_deadlines *deadlines, struct sbx_deadline *deadline); /* NULL is fine */

#endif
