/* SPDX-License-Identifier: Apache-2.0 */
/* page_parts.c - the common look of all pages; the colours are in style.css. */
#include "page_parts.h"
#include "store_issues.h"

#include <stdbool.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "frame.html.h"
#include "parts.html.h"

static void put_refresh(struct sbx_byte_buffer *page, unsigned refresh_s)
{
    SBX_FILL(page, frame_refresh, at) {
    case FRAME_REFRESH_SECONDS:
        sbx_fill_textf(&at, "%u", refresh_s);
        break;
    }
}

static struct sbx_fill begin(struct sbx_byte_buffer *page, const char *title, unsigned refresh_s, bool has_pictures)
{
    SBX_FILL(page, frame, at) {
    case FRAME_REFRESH:
        if (refresh_s)
            put_refresh(page, refresh_s);
        break;
    case FRAME_TITLE:
        sbx_fill_text(&at, title);
        break;
    case FRAME_PICTURES:
        if (has_pictures)
            sbx_fill_markup(page, &frame_pictures_markup);
        break;
    case FRAME_CONTENT:
        return at;
    }
    return (struct sbx_fill){.page = page, .kind = SBX_PLACE_END}; /* the page is marked as failed */
}

struct sbx_fill sbx_page_begin(struct sbx_byte_buffer *page, const char *title, unsigned refresh_s)
{
    return begin(page, title, refresh_s, false);
}

struct sbx_fill sbx_page_begin_with_pictures(struct sbx_byte_buffer *page, const char *title)
{
    return begin(page, title, 0, true);
}

void sbx_page_end(struct sbx_fill *frame)
{
    if (sbx_fill_next(frame)) /* the content is the last place */
        frame->page->failed = true;
}

void sbx_page_badge(struct sbx_byte_buffer *page, const char *cause)
{
    const char *word = cause && *cause ? cause : "unknown";
    SBX_FILL(page, parts_badge, at) {
    case PARTS_BADGE_CAUSE:
        sbx_fill_text(&at, word);
        break;
    case PARTS_BADGE_WORD:
        sbx_page_word(&at, word);
        break;
    }
}

static void put_joint(struct sbx_byte_buffer *page, const char *part, size_t bytes)
{
    SBX_FILL(page, parts_joint, at) {
    case PARTS_JOINT_PART:
        sbx_fill_textf(&at, "%.*s", (int)bytes, part);
        break;
    case PARTS_JOINT_BREAK:
        if (part[bytes])
            sbx_fill_markup(page, &parts_break_markup);
        break;
    }
}

void sbx_page_function(struct sbx_byte_buffer *page, const char *function)
{
    if (!function || !*function) {
        sbx_fill_markup(page, &parts_no_function_markup);
        return;
    }
    SBX_FILL(page, parts_function, at) {
    case PARTS_FUNCTION_JOINTS:
        for (const char *part = function; *part;) {
            size_t bytes = strcspn(part, ":_");
            bytes += strspn(part + bytes, ":_");
            put_joint(page, part, bytes);
            part += bytes;
        }
        break;
    }
}

void sbx_page_module(struct sbx_byte_buffer *page, const char *module)
{
    if (!module || !*module)
        return;
    SBX_FILL(page, parts_module, at) {
    case PARTS_MODULE_NAME:
        sbx_fill_text(&at, module);
        break;
    }
}

void sbx_page_place(struct sbx_byte_buffer *page, const char *file, unsigned line)
{
    if (!file || !line)
        return;
    SBX_FILL(page, parts_place, at) {
    case PARTS_PLACE_FILE:
        sbx_fill_text(&at, file);
        break;
    case PARTS_PLACE_LINE:
        sbx_fill_textf(&at, "%u", line);
        break;
    }
}

static void put_age(struct sbx_fill *at, int64_t age_s, const char *iso)
{
    if (age_s < 10)
        sbx_fill_text(at, "just now");
    else if (age_s < 120)
        sbx_fill_textf(at, "%lld s ago", (long long)age_s);
    else if (age_s < 2 * 3600)
        sbx_fill_textf(at, "%lld min ago", (long long)age_s / 60);
    else if (age_s < 2 * 86400)
        sbx_fill_textf(at, "%lld h ago", (long long)age_s / 3600);
    else if (age_s < 60 * 86400)
        sbx_fill_textf(at, "%lld days ago", (long long)age_s / 86400);
    else
        sbx_fill_textf(at, "%.10s", iso);
}

void sbx_page_time(struct sbx_byte_buffer *page, int64_t when_ms, int64_t now_ms)
{
    char iso[32] = "";
    struct tm utc;
    time_t seconds = (time_t)(when_ms / 1000);
    if (gmtime_r(&seconds, &utc))
        strftime(iso, sizeof(iso), "%Y-%m-%d %H:%M:%S", &utc);
    SBX_FILL(page, parts_time, at) {
    case PARTS_TIME_FULL:
        sbx_fill_text(&at, iso);
        break;
    case PARTS_TIME_AGE:
        put_age(&at, (now_ms - when_ms) / 1000, iso);
        break;
    }
}

void sbx_duration_print(int64_t duration_ns, char text_out[SBX_DURATION_TEXT_BYTES])
{
    static const struct {
        double ns;
        const char *unit;
    } units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "\xC2\xB5s"}, {1, "ns"}};
    double ns = (double)duration_ns, magnitude = ns < 0 ? -ns : ns;
    if (magnitude >= 60e9) {
        int64_t seconds = (int64_t)(magnitude / 1e9 + 0.5);
        int length =
            snprintf(text_out, SBX_DURATION_TEXT_BYTES, "%s%lld min", ns < 0 ? "-" : "", (long long)seconds / 60);
        if (seconds % 60)
            snprintf(text_out + length, SBX_DURATION_TEXT_BYTES - (size_t)length, " %lld s", (long long)seconds % 60);
        return;
    }
    size_t unit = 0;
    while (unit < 3 && magnitude < units[unit].ns * 0.9995)
        unit++;
    double value = ns / units[unit].ns, size = magnitude / units[unit].ns;
    if (duration_ns == 0)
        snprintf(text_out, SBX_DURATION_TEXT_BYTES, "0");
    else
        snprintf(text_out, SBX_DURATION_TEXT_BYTES, "%.*f %s",
                 unit == 3 || size >= 99.95 ? 0
                 : size >= 9.995            ? 1
                                            : 2,
                 value, units[unit].unit);
}

void sbx_page_duration(struct sbx_fill *at, int64_t duration_ns)
{
    char text[SBX_DURATION_TEXT_BYTES];
    sbx_duration_print(duration_ns, text);
    sbx_fill_text(at, text);
}

void sbx_page_word(struct sbx_fill *at, const char *word)
{
    static const struct {
        const char *word, *spoken;
    } acronyms[] = {{"cpu", "CPU"}, {"on_cpu", "on CPU"}, {"off_cpu", "off CPU"}, {"io", "I/O"},
                    {"ipc", "IPC"}, {"gc", "GC"},         {"anr", "ANR"},         {"cpu_contention", "CPU contention"}};
    char spoken[40];
    for (size_t i = 0; i < sizeof(acronyms) / sizeof(acronyms[0]); i++) {
        if (strcmp(word, acronyms[i].word) == 0) {
            sbx_fill_text(at, acronyms[i].spoken);
            return;
        }
    }
    snprintf(spoken, sizeof(spoken), "%s", word);
    for (char *c = spoken; *c; c++)
        if (*c == '_')
            *c = ' ';
    sbx_fill_text(at, spoken);
}

void sbx_page_count(struct sbx_fill *at, int64_t count, const char *one, const char *ending)
{
    sbx_fill_textf(at, "%lld %s%s", (long long)count, one, count == 1 ? "" : ending);
}

enum {
    TREND_DAYS = 30
};

void sbx_page_trend(struct sbx_fill *at, const struct sbx_issue_sums *sums)
{
    static const char *const columns[] = {"\u2581", "\u2582", "\u2583", "\u2584",
                                          "\u2585", "\u2586", "\u2587", "\u2588"};
    char text[TREND_DAYS * 3 + 1] = "";
    int64_t most = 1, last = sums->day_count ? sums->days[sums->day_count - 1].day : 0;
    int64_t first = sums->day_count ? sums->days[0].day : 1;
    size_t at_day = 0, used = 0;
    first = first < last - (TREND_DAYS - 1) ? last - (TREND_DAYS - 1) : first;
    for (size_t i = 0; i < sums->day_count; i++)
        if (sums->days[i].day >= first && sums->days[i].weight > most)
            most = sums->days[i].weight;
    for (int64_t day = first; day <= last; day++) {
        while (sums->days[at_day].day < day)
            at_day++;
        int64_t weight = sums->days[at_day].day == day ? sums->days[at_day].weight : 0;
        const char *column = weight == 0 ? "\u00b7" : columns[weight * 7 / most];
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s", column);
    }
    sbx_fill_text(at, text);
}

void sbx_page_trend_words(struct sbx_fill *at, const struct sbx_issue_sums *sums)
{
    char first[16], last[16];
    if (sums->day_count == 0)
        return;
    sbx_day_print(sums->days[0].day, first);
    sbx_day_print(sums->days[sums->day_count - 1].day, last);
    sbx_fill_textf(at, "%s to %s, %lld stalls on the last of these days", first, last,
                   (long long)sums->days[sums->day_count - 1].weight);
}

void sbx_page_penetration(struct sbx_fill *at, const struct sbx_penetration *penetration)
{
    double percent = 100 * sbx_penetration_share(penetration);
    if (!isnan(percent))
        sbx_fill_textf(at,
                       percent > 0 && percent < 0.001 ? "< 0.001 %%"
                       : percent < 1                  ? "%.3f %%"
                                                      : "%.1f %%",
                       percent);
}

void sbx_day_print(int64_t day, char text_out[16])
{
    time_t seconds = (time_t)(day * 86400);
    struct tm date;
    if (!gmtime_r(&seconds, &date) || strftime(text_out, 16, "%Y-%m-%d", &date) == 0)
        snprintf(text_out, 16, "%s", "?");
}

const char *sbx_issue_state_name(int state)
{
    static const char *const names[] = {[SBX_ISSUE_OPEN] = "open",
                                        [SBX_ISSUE_MUTED] = "muted",
                                        [SBX_ISSUE_RESOLVED] = "resolved",
                                        [SBX_ISSUE_REOPENED] = "reopened"};
    return state >= 0 && state < SBX_ISSUE_STATES ? names[state] : "?";
}
