/* SPDX-License-Identifier: Apache-2.0 */
/* change_replies.c - changes as a feed and as JSON. */
#include "change_replies.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "change_watch.h"
#include "pages.h"
#include "request.h"

enum {
    EVENTS = 50
};

static int give_json(const struct sbx_change_event *events, size_t count, int64_t before, struct sbx_reply *reply)
{
    struct sbx_byte_buffer *out = &reply->body;
    sbx_byte_buffer_text(out, "{\"changes\":[");
    for (size_t i = 0; i < count; i++) {
        char *json = sbx_change_event_json(&events[i]);
        if (!json)
            return -ENOMEM;
        sbx_byte_buffer_format(out, "%s%s", i ? "," : "", json);
        free(json);
    }
    sbx_byte_buffer_text(out, "]");
    if (before > 1)
        sbx_byte_buffer_format(out, ",\"before\":%lld", (long long)before);
    sbx_byte_buffer_text(out, "}\n");
    reply->status = 200;
    reply->content_type = "application/json";
    return 0;
}

/* May the view see this change? 1, 0 or -errno. A change of all stalls together belongs to its application. */
static int is_seen(const struct sbx_store_view *view, const struct sbx_change_event *event)
{
    struct sbx_issue_row issue;
    struct sbx_app_sum app;
    size_t apps = 0;
    int result = 0;
    if (!sbx_change_event_is_whole(event)) {
        result = sbx_store_issue(view, event->issue, &issue);
        return result == -ENOENT ? 0 : result < 0 ? result : 1;
    }
    if (sbx_store_min_machines(view->store) > 1)
        return 0;
    if (view->app != 0) /* a reader with access to one application */
        result = sbx_store_apps(view, &(struct sbx_issue_span){"", 0, SBX_LAST_DAY, NULL}, &app, 1, &apps);
    return result < 0 ? result : view->app == 0 || (apps > 0 && strcmp(app.app, event->app) == 0);
}

int sbx_change_reply(struct sbx_change_log *log, const struct sbx_store_view *view,
                     const struct sbx_arguments *arguments, bool as_feed, struct sbx_reply *reply)
{
    int64_t before = 0;
    for (size_t i = 0; i < arguments->count; i++)
        if (strcmp(arguments->each[i].name, "before") == 0)
            before = sbx_request_number(arguments->each[i].value, INT64_MAX, 0);
    struct sbx_change_event *events = calloc(EVENTS, sizeof(*events));
    size_t count = 0, seen = 0;
    int result = events ? sbx_change_log_list(log, before, events, EVENTS, &count) : -ENOMEM;
    int64_t oldest = count == EVENTS ? events[count - 1].num : 0;
    for (size_t i = 0; i < count && result == 0; i++) { /* changes of other applications are skipped */
        result = is_seen(view, &events[i]);
        if (result > 0)
            events[seen++] = events[i];
        result = result > 0 ? 0 : result;
    }
    if (result == 0 && as_feed) {
        reply->status = 200;
        reply->content_type = "application/atom+xml; charset=utf-8";
        sbx_page_feed(events, seen, &reply->body);
    } else if (result == 0) {
        result = give_json(events, seen, oldest, reply);
    }
    free(events);
    return result;
}
