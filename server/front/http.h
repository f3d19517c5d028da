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
    struct sbx_rate_limit *tokens; /* limit of what one token may send; NULL: no limit */
    uint32_t token_rate;           /* requests per hour, for a token that has no limit of its own */
    struct sbx_metrics *metrics;
    uint32_t request_deadline_ms;
    unsigned connections_max;   /* at one time; below the process's limit of descriptors */
    struct sbx_proxies proxies; /* proxies in front; with any, no visitor counts as this machine */
};

/* Serve on `fd` (a listening socket; taken on success). Returns 0 or -errno with the reason. */
int sbx_http_start(int fd, const struct sbx_http_settings *settings, struct sbx_http **http_out, char *why,
                   size_t why_bytes);
/* Close the socket and every connection. No request runs afterwards. NULL is fine. */
void sbx_http_stop(struct sbx_http *http);

#endif
