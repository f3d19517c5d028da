/* SPDX-License-Identifier: Apache-2.0 */
/* routes.h - everything that can be read: from a method and a path to a reply. Does not know the HTTP library. Any
 * thread. */
#ifndef SBX_ROUTES_H
#define SBX_ROUTES_H

#include <stdbool.h>

#include "active_days.h"
#include "change_log.h"
#include "metrics.h"
#include "policy_shelf.h"
#include "request.h"
#include "sealed_store.h"
#include "settings_replies.h"
#include "store.h"
#include "symbol_intake.h"
#include "triager.h"

struct sbx_routes { /* all borrowed */
    struct sbx_store *store;
    struct sbx_sealed_store *sealed;
    struct sbx_renderings *renderings;
    struct sbx_triager *triager;
    struct sbx_metrics *metrics;
    struct sbx_policy_shelf *policies;
    struct sbx_symbol_intake *symbols;
    struct sbx_change_log *changes;
    struct sbx_active_days *active;
    struct sbx_eraser *eraser;
    const struct sbx_settings_view *settings;
};

/* Is it the path where snapshots are posted? */
bool sbx_route_is_collector(const char *path);
/* Is it the path of an application's policy? Then also its id. */
bool sbx_route_is_policy(const char *path, uint8_t app_id_out[SBX_ID_BYTES]);
/* Is it the path where symbols are put? */
bool sbx_route_is_symbols(const char *path);
/* The rights of which a request needs one: bits of enum sbx_right (gate.h). */
unsigned sbx_route_rights(const char *path, bool is_write);
/* Is it a path that tells nothing about any stall? It is served to everyone. */
bool sbx_route_is_open(const char *path);

/* Is it a path that tells about all applications together? */
bool sbx_route_is_of_all(const char *path);

/* All paths, for tests; NULL behind the last. A path that ends in '/' takes an id. */
const char *sbx_route_path(size_t index);

/* Do what a person posted to the path of an issue (issue_replies.h). */
void sbx_route_post_issue(const struct sbx_store_view *view, const char *path, const uint8_t issue[SBX_ID_BYTES],
                          const struct sbx_byte_buffer *form, struct sbx_reply *reply);

/* Is it the path where a machine asks for erasure? */
bool sbx_route_is_erasures(const char *path);

/* Is it the path where a machine reports that an application runs on it? */
bool sbx_route_is_active(const char *path);

/* Answer any request, including 404 and 405, except the posts of snapshots, erasures and machine-days and the puts of a
 * policy or of symbols. When the reply has no status afterwards, `need` tells what must be made first; call again with
 * it in `made`. */
void sbx_route(const struct sbx_routes *routes, const struct sbx_request *request, struct sbx_reply *reply);

#endif
