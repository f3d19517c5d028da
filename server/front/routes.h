/* SPDX-License-Identifier: Apache-2.0 */
/* routes.h - everything that is read: from a method and a path to a reply. Knows no HTTP library. Any thread. */
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

/* The path under which snapshots are posted. */
bool sbx_route_is_collector(const char *path);
/* A path under which an application's policy is put; its id then. */
bool sbx_route_is_policy(const char *path, uint8_t app_id_out[SBX_ID_BYTES]);
/* The path under which symbols are put. */
bool sbx_route_is_symbols(const char *path);
/* The rights of which one suffices for a request: bits of enum sbx_right (gate.h). */
unsigned sbx_route_rights(const char *path, bool is_write);
/* A path that tells nothing about any stall: served to anyone. */
bool sbx_route_is_open(const char *path);

/* A path that tells of all applications together. */
bool sbx_route_is_of_all(const char *path);

/* The paths that there are, for tests; NULL behind the last. Those that end in '/' have an id behind them. */
const char *sbx_route_path(size_t index);

/* Do what a person posts to an issue's path (issue_replies.h). */
void sbx_route_post_issue(const struct sbx_store_view *view, const char *path, const uint8_t issue[SBX_ID_BYTES],
                          const struct sbx_byte_buffer *form, struct sbx_reply *reply);

/* A path under which a machine asks to be forgotten. */
bool sbx_route_is_erasures(const char *path);

/* The path under which a machine says that an application runs on it. */
bool sbx_route_is_active(const char *path);

/* Answer any request but a post to the collector, of erasures or of a machine-day and a put of a policy or symbols: 404 and 405 included. Where
 * the reply has no status then, `need` says what is to be made first; the next call with it in `made` answers. */
void sbx_route(const struct sbx_routes *routes, const struct sbx_request *request, struct sbx_reply *reply);

#endif
