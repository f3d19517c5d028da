/* SPDX-License-Identifier: Apache-2.0 */
/* routes.h - everything that is read: from a method and a path to a reply. Knows no HTTP library. Any thread. */
#ifndef SBX_ROUTES_H
#define SBX_ROUTES_H

#include <stdbool.h>

#include "metrics.h"
#include "renderings.h"
#include "reply.h"
#include "store.h"
#include "triager.h"

struct sbx_routes { /* all borrowed */
    struct sbx_store *store;
    struct sbx_renderings *renderings;
    struct sbx_triager *triager;
    struct sbx_metrics *metrics;
};

struct sbx_request { /* all borrowed */
    const char *method;        /* "GET" */
    const char *path;          /* decoded, without the query */
    const char *before, *limit; /* query arguments as they came; NULL when missing */
};

/* The path under which snapshots are posted. */
bool sbx_route_is_collector(const char *path);
/* A path that tells nothing about any stall: served to anyone. */
bool sbx_route_is_open(const char *path);

/* Answer any request but a post to the collector: 404 and 405 included. */
void sbx_route(const struct sbx_routes *routes, const struct sbx_request *request, struct sbx_reply *reply);

#endif
