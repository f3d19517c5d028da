/* SPDX-License-Identifier: Apache-2.0 */
/* routes.c - one table of paths, and one small function for each. */
#include "routes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "active_replies.h"
#include "api_lists.h"
#include "assets.h"
#include "change_replies.h"
#include "compare_replies.h"
#include "fleet_replies.h"
#include "gate.h"
#include "issue_replies.h"
#include "pages.h"
#include "policy_replies.h"
#include "profile_replies.h"
#include "stall_replies.h"
#include "symbol_replies.h"
#include "wall_clock.h"

enum {
    PAGE_ISSUES = 25, /* on the first page; ?limit=N for more */
    PAGE_SNAPSHOTS_MAX = 50,
    PAGE_APPS = 10,
    METRICS_APPS = 50, /* the applications with the most stalls */
    LIST_DEFAULT = 100,
    ISSUES_AFTER_MAX = 8,
};

/* What the rest of a path names, after its prefix. */
struct target {
    uint8_t id[SBX_ID_BYTES];
    const char *suffix; /* "" or "json"; points into the path */
};

typedef void (*answer_function)(const struct sbx_routes *routes, const struct sbx_request *request,
                                const struct target *target, struct sbx_reply *reply);

static void give_html(struct sbx_reply *reply)
{
    reply->status = 200;
    reply->content_type = SBX_TEXT_HTML;
}

/* ---- pages ---- */

/* Read the snapshots of a page: those of one issue or of all. One more row than shown is read, to know whether there
 * are older ones. */
static int fill_snapshots(const struct sbx_request *request, const uint8_t *issue, struct sbx_snapshot_row *rows,
                          struct sbx_list_page *list)
{
    int64_t before = sbx_request_number(request->before, INT64_MAX, 0);
    int result =
        sbx_store_snapshots(&request->view, issue, before, rows, PAGE_SNAPSHOTS_MAX + 1, &list->snapshot_count);
    list->snapshots = rows;
    list->is_first = before == 0;
    list->now_ms = sbx_wall_clock_ms();
    if (list->snapshot_count > PAGE_SNAPSHOTS_MAX) {
        list->snapshot_count = PAGE_SNAPSHOTS_MAX;
        list->older_seq = rows[PAGE_SNAPSHOTS_MAX - 1].seq;
    }
    return result;
}

static void answer_list_page(const struct sbx_routes *routes, const struct sbx_request *request,
                             const struct target *target, struct sbx_reply *reply)
{
    (void)target;
    struct sbx_list_page list = {0};
    struct sbx_snapshot_row *rows = calloc(PAGE_SNAPSHOTS_MAX + 1, sizeof(*rows));
    size_t issues_max = (size_t)sbx_request_number(request->limit, SBX_ROWS_MAX, PAGE_ISSUES);
    struct sbx_issue_row *issues = calloc(issues_max, sizeof(*issues));
    int result = rows && issues ? fill_snapshots(request, NULL, rows, &list) : -ENOMEM;
    list.issues = issues;
    struct sbx_app_sum *apps = calloc(PAGE_APPS, sizeof(*apps));
    list.apps = apps;
    if (result == 0 && list.is_first)
        result = apps ? sbx_store_apps(&request->view, &(struct sbx_issue_span){.to_day = INT64_MAX}, apps, PAGE_APPS,
                                       &list.app_count)
                      : -ENOMEM;
    if (result == 0)
        result = sbx_store_count_shown(&request->view, &list.counts);
    list.min_machines = sbx_store_min_machines(request->view.store);
    struct sbx_sealed_counts sealed = {0};
    if (result == 0)
        result = sbx_sealed_store_count(routes->sealed, request->view.app, &sealed);
    list.counts.sealed = sealed.waiting;
    if (result == 0)
        result = sbx_store_issues(&request->view, issues, issues_max, &list.issue_count);
    if (result == 0) {
        give_html(reply);
        sbx_page_list(&list, &reply->body);
    } else {
        sbx_refuse_for(request, reply, result);
    }
    free(rows);
    free(issues);
    free(apps);
}

/* There is no such issue: either its stalls were triaged anew, or a person merged it into another issue. */
static void answer_moved(const struct sbx_request *request, const struct target *target, struct sbx_reply *reply)
{
    uint8_t issue[SBX_ID_BYTES];
    char text[SBX_ID_TEXT_BYTES];
    int result = sbx_symbol_reply_moved(&request->view, target->id, sbx_request_is_page(request), reply);
    if (result == -ENOENT && sbx_store_find_address(&request->view, target->id, issue) == 0) {
        sbx_id_print(issue, text);
        sbx_reply_text(reply, 308, "this issue is %s now", text);
        snprintf(reply->location, sizeof(reply->location), "%s%s",
                 sbx_request_is_page(request) ? "/issues/" : "/v1/issues/", text);
        return;
    }
    if (result < 0)
        sbx_refuse_for(request, reply, result);
}

/* Read one issue's row, and the sums of its stalls in the span of the request. Returns 0, -EINVAL with the refusal in
 * `reply`, or -errno. */
static int sum_issue(const struct sbx_request *request, const uint8_t *id, struct sbx_issue_row *issue,
                     struct sbx_span_text *text, struct sbx_issue_sums *sums, struct sbx_reply *reply)
{
    int result = sums ? sbx_issue_reply_span(&request->arguments, text, reply) : -ENOMEM;
    if (result == 0)
        result = sbx_store_issue(&request->view, id, issue);
    if (result == 0)
        result = sbx_store_sum_issue(&request->view, id, &text->span, sums);
    return result == 0 ? sbx_store_sum_beside(&request->view, issue->newest.app, &text->span, sums) : result;
}

static void answer_issue_page(const struct sbx_routes *routes, const struct sbx_request *request,
                              const struct target *target, struct sbx_reply *reply)
{
    (void)routes;
    struct sbx_list_page list = {0};
    struct sbx_issue_row issue;
    struct sbx_span_text text;
    struct sbx_snapshot_row *rows = calloc(PAGE_SNAPSHOTS_MAX + 1, sizeof(*rows));
    struct sbx_issue_sums *sums = calloc(1, sizeof(*sums));
    int result = rows ? sum_issue(request, target->id, &issue, &text, sums, reply) : -ENOMEM;
    if (result == 0)
        result = fill_snapshots(request, target->id, rows, &list);
    struct sbx_issue_after after[ISSUES_AFTER_MAX];
    list.after = after;
    if (result == 0)
        result = sbx_store_issues_after(&request->view, target->id, after, ISSUES_AFTER_MAX, &list.after_count);
    struct sbx_merged_profile profile = {0};
    if (result == 0)
        result = sbx_merged_profile_init(&profile);
    if (result == 0)
        result = sbx_profile_read(&request->view, target->id, &text.span, SBX_MERGED_HERE, &profile);
    if (result == 0) {
        sbx_merged_profile_settle(&profile);
        list.profile = &profile;
        memcpy(list.version, text.version, sizeof(list.version));
        memcpy(list.since, text.since, sizeof(list.since));
        memcpy(list.until, text.until, sizeof(list.until));
        give_html(reply);
        sbx_page_issue(&issue, sums, text.words, &list, &reply->body);
    } else if (result == -ENOENT) {
        answer_moved(request, target, reply);
    } else if (result != -EINVAL) {
        sbx_refuse_for(request, reply, result);
    }
    sbx_merged_profile_finish(&profile);
    free(rows);
    free(sums);
}

static void answer_stall_page(const struct sbx_routes *routes, const struct sbx_request *request,
                              const struct target *target, struct sbx_reply *reply)
{
    sbx_stall_reply_page(routes->renderings, request, target->id, reply);
}

/* ---- lists for programs ---- */

static void answer_snapshots(const struct sbx_routes *routes, const struct sbx_request *request,
                             const struct target *target, struct sbx_reply *reply)
{
    (void)routes, (void)target;
    size_t max = (size_t)sbx_request_number(request->limit, SBX_ROWS_MAX, LIST_DEFAULT), count;
    struct sbx_snapshot_row *rows = calloc(max, sizeof(*rows));
    int result = rows ? sbx_store_snapshots(&request->view, NULL, sbx_request_number(request->before, INT64_MAX, 0),
                                            rows, max, &count)
                      : -ENOMEM;
    if (result == 0)
        sbx_api_snapshots(rows, count, sbx_store_min_machines(request->view.store), reply);
    else
        sbx_refuse_for(request, reply, result);
    free(rows);
}

static void answer_snapshot(const struct sbx_routes *routes, const struct sbx_request *request,
                            const struct target *target, struct sbx_reply *reply)
{
    if (*target->suffix)
        sbx_stall_reply_download(routes->renderings, request, target->id, target->suffix, reply);
    else
        sbx_stall_reply_json(request, target->id, reply);
}

static void answer_issues(const struct sbx_routes *routes, const struct sbx_request *request,
                          const struct target *target, struct sbx_reply *reply)
{
    (void)routes, (void)target;
    int result = sbx_issue_reply_list(&request->view, &request->arguments, sbx_request_is_page(request),
                                      sbx_wall_clock_ms(), reply);
    if (result < 0 && result != -EINVAL)
        sbx_refuse_for(request, reply, result);
}

static void answer_issue(const struct sbx_routes *routes, const struct sbx_request *request,
                         const struct target *target, struct sbx_reply *reply)
{
    (void)routes;
    struct sbx_issue_row issue;
    struct sbx_span_text text;
    size_t count = 0;
    struct sbx_snapshot_row *rows = calloc(LIST_DEFAULT, sizeof(*rows));
    struct sbx_issue_sums *sums = calloc(1, sizeof(*sums));
    int result = rows ? sum_issue(request, target->id, &issue, &text, sums, reply) : -ENOMEM;
    if (result == 0)
        result = sbx_store_snapshots(&request->view, target->id, sbx_request_number(request->before, INT64_MAX, 0),
                                     rows, LIST_DEFAULT, &count);
    if (result == 0)
        sbx_api_issue(&issue, sums, rows, count, reply);
    else if (result == -ENOENT)
        answer_moved(request, target, reply);
    else if (result != -EINVAL)
        sbx_refuse_for(request, reply, result);
    free(rows);
    free(sums);
}

static void answer_sums(const struct sbx_routes *routes, const struct sbx_request *request, const struct target *target,
                        struct sbx_reply *reply)
{
    (void)routes, (void)target;
    struct sbx_span_text text;
    struct sbx_issue_sums *sums = calloc(1, sizeof(*sums));
    int result = sums ? sbx_issue_reply_span(&request->arguments, &text, reply) : -ENOMEM;
    if (result == 0)
        result = sbx_store_sum_all(&request->view, &text.span, sums);
    if (result == 0)
        sbx_api_sums(sums, reply);
    else if (result != -EINVAL)
        sbx_refuse_for(request, reply, result);
    free(sums);
}

static void answer_overview(const struct sbx_routes *routes, const struct sbx_request *request,
                            const struct target *target, struct sbx_reply *reply)
{
    (void)routes, (void)target;
    int result = sbx_fleet_reply_overview(&request->view, &request->arguments, sbx_wall_clock_ms(), reply);
    if (result < 0 && result != -EINVAL)
        sbx_refuse_for(request, reply, result);
}

static void answer_function_page(const struct sbx_routes *routes, const struct sbx_request *request,
                                 const struct target *target, struct sbx_reply *reply)
{
    (void)routes, (void)target;
    int result = sbx_fleet_reply_function(&request->view, &request->arguments, sbx_wall_clock_ms(), reply);
    if (result < 0 && result != -EINVAL)
        sbx_refuse_for(request, reply, result);
}

static void answer_apps(const struct sbx_routes *routes, const struct sbx_request *request, const struct target *target,
                        struct sbx_reply *reply)
{
    (void)routes, (void)target;
    int result = sbx_fleet_reply_apps(&request->view, &request->arguments, reply);
    if (result < 0 && result != -EINVAL)
        sbx_refuse_for(request, reply, result);
}

static void answer_compare(const struct sbx_routes *routes, const struct sbx_request *request,
                           const struct target *target, struct sbx_reply *reply)
{
    (void)routes, (void)target;
    int result = sbx_compare_reply(&request->view, &request->arguments, sbx_request_is_page(request), reply);
    if (result < 0 && result != -EINVAL)
        sbx_refuse_for(request, reply, result);
}

static void answer_changes(const struct sbx_routes *routes, const struct sbx_request *request,
                           const struct target *target, struct sbx_reply *reply)
{
    (void)target;
    int result =
        sbx_change_reply(routes->changes, &request->view, &request->arguments, sbx_request_is_page(request), reply);
    if (result < 0 && result != -EINVAL)
        sbx_refuse_for(request, reply, result);
}

/* Answer one form of a profile; the end of the path tells which. */
static void answer_profile(const struct sbx_routes *routes, const struct sbx_request *request,
                           const struct target *target, struct sbx_reply *reply)
{
    static const char *const paths[SBX_PROFILE_FORMS] = {[SBX_PROFILE_PAGE] = "/profile",
                                                         [SBX_PROFILE_JSON] = "/v1/profile",
                                                         [SBX_PROFILE_FOLDED] = "/v1/profile.folded",
                                                         [SBX_PROFILE_PPROF] = "/v1/profile.pprof",
                                                         [SBX_PROFILE_SPEEDSCOPE] = "/v1/profile.speedscope"};
    (void)routes, (void)target;
    int form = 0;
    while (form + 1 < SBX_PROFILE_FORMS && strcmp(paths[form], request->path) != 0)
        form++;
    int result = sbx_profile_reply(&request->view, &request->arguments, (enum sbx_profile_form)form, reply);
    if (result < 0 && result != -EINVAL)
        sbx_refuse_for(request, reply, result);
}

void sbx_route_post_issue(const struct sbx_store_view *view, const char *path, const uint8_t issue[SBX_ID_BYTES],
                          const struct sbx_byte_buffer *form, struct sbx_reply *reply)
{
    sbx_issue_reply_words(view, issue, strncmp(path, "/v1/", 4) != 0, form, sbx_wall_clock_ms(), reply);
}

/* ---- policies ---- */

static void answer_policy(const struct sbx_routes *routes, const struct sbx_request *request,
                          const struct target *target, struct sbx_reply *reply)
{
    sbx_policy_reply_read(routes->policies, request, target->id, reply);
}

bool sbx_route_is_policy(const char *path, uint8_t app_id_out[SBX_ID_BYTES])
{
    static const char prefix[] = "/v1/policy/";
    return strncmp(path, prefix, sizeof(prefix) - 1) == 0 &&
           sbx_id_parse(path + sizeof(prefix) - 1, strlen(path) - (sizeof(prefix) - 1), app_id_out);
}

/* ---- symbols ---- */

static void answer_symbols(const struct sbx_routes *routes, const struct sbx_request *request,
                           const struct target *target, struct sbx_reply *reply)
{
    (void)target;
    sbx_symbol_reply_stored(&request->view, routes->symbols, reply);
}

static void answer_missing(const struct sbx_routes *routes, const struct sbx_request *request,
                           const struct target *target, struct sbx_reply *reply)
{
    (void)routes, (void)target;
    sbx_symbol_reply_missing(&request->view, reply);
}

static void answer_symbols_page(const struct sbx_routes *routes, const struct sbx_request *request,
                                const struct target *target, struct sbx_reply *reply)
{
    (void)target;
    int result = sbx_symbol_reply_page(&request->view, routes->symbols, request->host, reply);
    if (result < 0)
        sbx_refuse_for(request, reply, result);
}

static void answer_settings(const struct sbx_routes *routes, const struct sbx_request *request,
                            const struct target *target, struct sbx_reply *reply)
{
    (void)target;
    int result = sbx_settings_reply(routes->settings, sbx_wall_clock_ms(), reply);
    if (result < 0)
        sbx_refuse_for(request, reply, result);
}

/* ---- erasures ---- */

bool sbx_route_is_active(const char *path)
{
    return strcmp(path, SBX_ACTIVE_PATH) == 0;
}

bool sbx_route_is_erasures(const char *path)
{
    return strcmp(path, SBX_ERASURES_PATH) == 0;
}

static void answer_posts_only(const struct sbx_routes *routes, const struct sbx_request *request,
                              const struct target *target, struct sbx_reply *reply)
{
    (void)routes, (void)target;
    sbx_refuse(request, reply, 405, "this path takes POST");
    reply->allow = "POST";
}

/* ---- the server itself ---- */

static void answer_health(const struct sbx_routes *routes, const struct sbx_request *request,
                          const struct target *target, struct sbx_reply *reply)
{
    (void)routes, (void)target;
    int result = sbx_store_look(request->view.store);
    if (result < 0) {
        sbx_refuse_for(request, reply, result);
        return;
    }
    reply->status = 200;
    reply->content_type = SBX_TEXT_PLAIN;
    sbx_byte_buffer_text(&reply->body, "ok\n");
}

static void answer_metrics(const struct sbx_routes *routes, const struct sbx_request *request,
                           const struct target *target, struct sbx_reply *reply)
{
    (void)target;
    struct sbx_store_counts counts;
    struct sbx_sealed_counts sealed;
    int result = sbx_store_count(&request->view, &counts);
    if (result == 0)
        result = sbx_sealed_store_count(routes->sealed, request->view.app, &sealed);
    if (result < 0) {
        sbx_refuse_for(request, reply, result);
        return;
    }
    counts.sealed = sealed.waiting;
    counts.unsealing_failed = sealed.failed;
    reply->status = 200;
    reply->content_type = "text/plain; version=0.0.4; charset=utf-8";
    sbx_metrics_print(routes->metrics, &counts, sbx_renderings_bytes(routes->renderings), &reply->body);
    struct sbx_app_sum *apps = calloc(METRICS_APPS, sizeof(*apps));
    const struct sbx_issue_span week = {
        .version = "", .from_day = sbx_wall_clock_ms() / 86400000 - 6, .to_day = SBX_LAST_DAY};
    size_t app_count = 0;
    if (apps && sbx_store_apps(&request->view, &week, apps, METRICS_APPS, &app_count) == 0)
        sbx_metrics_print_machine_days(apps, app_count, &reply->body);
    free(apps);
    struct sbx_change_counts changes;
    if (request->view.app == 0 &&
        sbx_change_log_count(routes->changes, &changes) == 0) /* these count all applications together */
        sbx_metrics_print_changes(&changes, &reply->body);
}

static void give_asset(struct sbx_reply *reply, const char *content_type, const void *bytes, size_t count)
{
    reply->status = 200;
    reply->content_type = content_type;
    reply->may_be_cached = true;
    sbx_byte_buffer_append(&reply->body, bytes, count);
}

static void answer_style(const struct sbx_routes *routes, const struct sbx_request *request,
                         const struct target *target, struct sbx_reply *reply)
{
    (void)routes, (void)request, (void)target;
    give_asset(reply, "text/css; charset=utf-8", sbx_style_css, sbx_style_css_bytes);
}

static void answer_icon(const struct sbx_routes *routes, const struct sbx_request *request, const struct target *target,
                        struct sbx_reply *reply)
{
    (void)routes, (void)request, (void)target;
    give_asset(reply, "image/svg+xml", sbx_icon_svg, sbx_icon_svg_bytes);
}

static const char JAVASCRIPT[] = "text/javascript; charset=utf-8";

static void answer_flame_script(const struct sbx_routes *routes, const struct sbx_request *request,
                                const struct target *target, struct sbx_reply *reply)
{
    (void)routes, (void)request, (void)target;
    give_asset(reply, JAVASCRIPT, sbx_flame_js, sbx_flame_js_bytes);
}

static void answer_timeline_script(const struct sbx_routes *routes, const struct sbx_request *request,
                                   const struct target *target, struct sbx_reply *reply)
{
    (void)routes, (void)request, (void)target;
    give_asset(reply, JAVASCRIPT, sbx_timeline_js, sbx_timeline_js_bytes);
}

static void answer_tabs_script(const struct sbx_routes *routes, const struct sbx_request *request,
                               const struct target *target, struct sbx_reply *reply)
{
    (void)routes, (void)request, (void)target;
    give_asset(reply, JAVASCRIPT, sbx_tabs_js, sbx_tabs_js_bytes);
}

static void answer_d3(const struct sbx_routes *routes, const struct sbx_request *request, const struct target *target,
                      struct sbx_reply *reply)
{
    (void)routes, (void)request, (void)target;
    give_asset(reply, JAVASCRIPT, sbx_vendor_d3, sbx_vendor_d3_bytes);
    reply->is_immutable = true;
}

static void answer_d3_flame_graph(const struct sbx_routes *routes, const struct sbx_request *request,
                                  const struct target *target, struct sbx_reply *reply)
{
    (void)routes, (void)request, (void)target;
    give_asset(reply, JAVASCRIPT, sbx_vendor_d3_flame_graph, sbx_vendor_d3_flame_graph_bytes);
    reply->is_immutable = true;
}

static void answer_openapi(const struct sbx_routes *routes, const struct sbx_request *request,
                           const struct target *target, struct sbx_reply *reply)
{
    (void)routes, (void)request, (void)target;
    give_asset(reply, "application/json", sbx_openapi_json, sbx_openapi_json_bytes);
}

/* ---- the table ---- */

/* Arguments of lists, in the order in which a refusal lists them. */
#define SPAN      "version since until"
#define OF_ISSUES "q app version cause scene state since until sort limit cursor"
#define OF_SIDES  "app version since until base base_since base_until"
#define OF_STALLS "issue app version since until"

static const struct route {
    const char *path;
    bool has_id;          /* the path ends in '/' and an id follows */
    bool may_have_suffix; /* "." and a word may follow */
    const char *allow;
    answer_function answer;
    /* the arguments it takes; NULL: it ignores arguments, so the answer is the same for everybody */
    const char *arguments;
} table[] = {
    {"/", false, false, "GET, HEAD", answer_list_page, "before limit"},
    {"/stalls/", true, false, "GET, HEAD", answer_stall_page, "stacks view"},
    {"/issues", false, false, "GET, HEAD", answer_issues, OF_ISSUES},
    {"/issues/", true, false, "GET, HEAD, POST", answer_issue_page, SPAN " before"},
    {"/v1/snapshots", false, false, "GET, HEAD, POST", answer_snapshots, "before limit"},
    {"/v1/snapshots/", true, true, "GET, HEAD", answer_snapshot, ""},
    {"/v1/issues", false, false, "GET, HEAD", answer_issues, OF_ISSUES},
    {"/overview", false, false, "GET, HEAD", answer_overview, "app " SPAN},
    {"/function", false, false, "GET, HEAD", answer_function_page, "name app " SPAN},
    {"/profile", false, false, "GET, HEAD", answer_profile, OF_STALLS " find function at full"},
    {"/compare", false, false, "GET, HEAD", answer_compare, OF_SIDES},
    {"/v1/compare", false, false, "GET, HEAD", answer_compare, OF_SIDES},
    {"/feed.atom", false, false, "GET, HEAD", answer_changes, "before"},
    {"/v1/changes", false, false, "GET, HEAD", answer_changes, "before"},
    {"/v1/profile", false, false, "GET, HEAD", answer_profile, OF_STALLS},
    {"/v1/profile.folded", false, false, "GET, HEAD", answer_profile, OF_STALLS},
    {"/v1/profile.pprof", false, false, "GET, HEAD", answer_profile, OF_STALLS},
    {"/v1/profile.speedscope", false, false, "GET, HEAD", answer_profile, OF_STALLS},
    {"/v1/apps", false, false, "GET, HEAD", answer_apps, "since until"},
    {"/v1/sums", false, false, "GET, HEAD", answer_sums, "app " SPAN},
    {"/v1/issues/", true, false, "GET, HEAD, POST", answer_issue, SPAN " before"},
    {"/v1/policy/", true, false, "GET, HEAD, PUT", answer_policy, NULL},
    {"/symbols", false, false, "GET, HEAD", answer_symbols_page, ""},
    {"/settings", false, false, "GET, HEAD", answer_settings, ""},
    {"/v1/symbols", false, false, "GET, HEAD, PUT", answer_symbols, ""},
    {"/v1/symbols/missing", false, false, "GET, HEAD", answer_missing, ""},
    {SBX_ERASURES_PATH, false, false, "POST", answer_posts_only, NULL},
    {SBX_ACTIVE_PATH, false, false, "POST", answer_posts_only, NULL},
    {"/healthz", false, false, "GET, HEAD", answer_health, NULL},
    {"/metrics", false, false, "GET, HEAD", answer_metrics, NULL},
    {"/v1/openapi.json", false, false, "GET, HEAD", answer_openapi, NULL},
    {"/style.css", false, false, "GET, HEAD", answer_style, NULL},
    {"/icon.svg", false, false, "GET, HEAD", answer_icon, NULL},
    {"/flame.js", false, false, "GET, HEAD", answer_flame_script, NULL},
    {"/timeline.js", false, false, "GET, HEAD", answer_timeline_script, NULL},
    {"/tabs.js", false, false, "GET, HEAD", answer_tabs_script, NULL},
    {"/d3-7.9.2.min.js", false, false, "GET, HEAD", answer_d3, NULL},
    {"/d3-flame-graph-5.0.0.min.js", false, false, "GET, HEAD", answer_d3_flame_graph, NULL},
};

/* Does the path fit the route? A malformed id does not fit, so it gets a 404. */
static bool is_route(const struct route *route, const char *path, struct target *target_out)
{
    size_t prefix_bytes = strlen(route->path);
    if (!route->has_id)
        return strcmp(path, route->path) == 0;
    if (strncmp(path, route->path, prefix_bytes) != 0)
        return false;
    const char *id = path + prefix_bytes;
    size_t id_bytes = strcspn(id, ".");
    target_out->suffix = id + id_bytes;
    if (*target_out->suffix == '.') {
        target_out->suffix++;
        if (!route->may_have_suffix || !*target_out->suffix)
            return false;
    }
    return sbx_id_parse(id, id_bytes, target_out->id);
}

bool sbx_route_is_collector(const char *path)
{
    return strcmp(path, "/v1/snapshots") == 0;
}

bool sbx_route_is_symbols(const char *path)
{
    return strcmp(path, "/v1/symbols") == 0;
}

unsigned sbx_route_rights(const char *path, bool is_write)
{
    bool is_about_symbols = strcmp(path, "/symbols") == 0 || strncmp(path, "/v1/symbols", 11) == 0;
    if (strcmp(path, "/settings") == 0) /* it shows the tokens and their rights */
        return SBX_RIGHT_ADMIN;
    if (!is_write)
        return is_about_symbols ? SBX_RIGHT_READ | SBX_RIGHT_SYMBOLS : SBX_RIGHT_READ;
    if (sbx_route_is_collector(path) || sbx_route_is_erasures(path) || sbx_route_is_active(path))
        return SBX_RIGHT_SEND;
    return is_about_symbols ? SBX_RIGHT_SYMBOLS : SBX_RIGHT_ADMIN;
}

bool sbx_route_is_of_all(const char *path)
{
    return strcmp(path, "/metrics") == 0 || strcmp(path, "/settings") == 0;
}

const char *sbx_route_path(size_t index)
{
    return index < sizeof(table) / sizeof(table[0]) ? table[index].path : NULL;
}

bool sbx_route_is_open(const char *path)
{
    uint8_t app_id[SBX_ID_BYTES];
    return strcmp(path, "/healthz") == 0 || sbx_route_is_policy(path, app_id);
}

void sbx_route(const struct sbx_routes *routes, const struct sbx_request *request, struct sbx_reply *reply)
{
    bool is_read = strcmp(request->method, "GET") == 0 || strcmp(request->method, "HEAD") == 0;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        struct target target = {.suffix = ""};
        if (!is_route(&table[i], request->path, &target))
            continue;
        if (is_read && table[i].arguments && !sbx_request_takes(request, table[i].arguments, reply))
            return;
        if (is_read) {
            table[i].answer(routes, request, &target, reply);
        } else {
            sbx_refuse(request, reply, 405, "this path does not take this method");
            reply->allow = table[i].allow;
        }
        return;
    }
    sbx_refuse(request, reply, 404, "nothing is here");
}
