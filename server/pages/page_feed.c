/* SPDX-License-Identifier: Apache-2.0 */
/* page_feed.c - changes, for feed readers. */
#include "pages.h"

#include "feed.html.h"
#include "page_parts.h"
#include "regression.h"
#include "wall_clock.h"

static void put_time(struct sbx_fill *at, int64_t ms)
{
    char text[SBX_WALL_CLOCK_BYTES];
    sbx_wall_clock_print(ms, text);
    sbx_fill_text(at, text);
}

static void put_issue(struct sbx_byte_buffer *page, const struct sbx_change_event *event)
{
    char issue[SBX_ID_TEXT_BYTES];
    sbx_id_print(event->issue, issue);
    SBX_FILL(page, feed_issue, at) {
    case FEED_ISSUE_ID:
        sbx_fill_text(&at, issue);
        break;
    }
}

/* The sum of all stalls: of a day, or of a version. */
static void put_day(struct sbx_byte_buffer *page, const struct sbx_change_event *event)
{
    SBX_FILL(page, feed_day, at) {
    case FEED_DAY_APP:
        sbx_fill_text(&at, event->app);
        break;
    case FEED_DAY_SINCE:
    case FEED_DAY_UNTIL:
        sbx_fill_text(&at, event->version);
        break;
    }
}

static void put_version(struct sbx_byte_buffer *page, const struct sbx_change_event *event)
{
    SBX_FILL(page, feed_version, at) {
    case FEED_VERSION_APP:
        sbx_fill_text(&at, event->app);
        break;
    case FEED_VERSION_NUMBER:
        sbx_fill_text(&at, event->version);
        break;
    case FEED_VERSION_BASE:
        sbx_fill_text(&at, event->base);
        break;
    }
}

static void put_entry(struct sbx_byte_buffer *page, const struct sbx_change_event *event)
{
    SBX_FILL(page, feed_entry, at) {
    case FEED_ENTRY_NUMBER:
        sbx_fill_textf(&at, "%lld", (long long)event->num);
        break;
    case FEED_ENTRY_AT:
        sbx_fill_textf(&at, "%lld", (long long)event->at_ms);
        break;
    case FEED_ENTRY_TEXT:
        sbx_fill_text(&at, event->text);
        break;
    case FEED_ENTRY_WHEN:
        put_time(&at, event->at_ms);
        break;
    case FEED_ENTRY_LINK:
        if (!sbx_change_event_is_whole(event))
            put_issue(page, event);
        else if (event->kind == SBX_CHANGE_SURGING)
            put_day(page, event);
        else
            put_version(page, event);
        break;
    case FEED_ENTRY_CHANGE:
        sbx_fill_text(&at, sbx_change_name((enum sbx_change)event->kind));
        break;
    case FEED_ENTRY_CHANCE:
        sbx_fill_textf(&at, "%.2g", event->chance);
        break;
    }
}

void sbx_page_feed(const struct sbx_change_event *events, size_t count, struct sbx_byte_buffer *page)
{
    SBX_FILL(page, feed, at) {
    case FEED_WHEN:
        put_time(&at, count > 0 ? events[0].at_ms : 0);
        break;
    case FEED_ENTRY:
        for (size_t i = 0; i < count; i++)
            put_entry(page, &events[i]);
        break;
    }
}
