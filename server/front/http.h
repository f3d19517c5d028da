/* SPDX-License-Identifier: Apache-2.0 */
/* http.h - HTTP/1.1 over libmicrohttpd: the only file that knows the library. */
#ifndef SBX_HTTP_H
#define SBX_HTTP_H

#include <stddef.h>
#include <stdint.h>

#include "collector.h"
#include "gate.h"
#include "metrics.h"
#include "proxies.h"
#include "routes.h"

struct sbx_http;

struct sbx_http_settings { /* pointers are borrowed until stop */
    struct sbx_gate gate;
    struct sbx_routes routes;
    struct sbx_collector *collector;
    struct sbx_rate_limit *tokens; /* what one token may send; NULL: as much as it likes */
    uint32_t token_rate;           /* an hour, of a token that says nothing of it */
    struct sbx_metrics *metrics;
    uint32_t request_deadline_ms;
    unsigned connections_max;   /* at a time; below the process's limit of descriptors */
    struct sbx_proxies proxies; /* that are in front; with any, nobody is taken for this machine itself */
};

/* Serve on `fd` (a listening socket; taken on success). Returns 0 or -errno with the reason. */
int sbx_http_start(int fd, const struct sbx_http_settings *settings, struct sbx_http **http_out, char *why,
                   size_t why_bytes);
/* Closes the socket and every connection; no request runs afterwards. NULL is fine. */
void sbx_http_stop(struct sbx_http *http);

#endif
