/* SPDX-License-Identifier: Apache-2.0 */
/* page_parts.c - the house's look in one place; the colours are in style.css. */
#include "page_parts.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "html_writer.h"

void sbx_page_begin(struct sbx_byte_buffer *page, const char *title, unsigned refresh_s)
{
    sbx_html(page, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                   "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                   "<meta name=\"color-scheme\" content=\"light dark\">\n");
    if (refresh_s) {
        sbx_html(page, "<meta http-equiv=\"refresh\" content=\"");
        sbx_html_textf(page, "%u", refresh_s);
        sbx_html(page, "\">\n");
    }
    sbx_html(page, "<link rel=\"stylesheet\" href=\"/style.css\">\n"
                   "<link rel=\"icon\" href=\"/icon.svg\" type=\"image/svg+xml\">\n<title>");
    sbx_html_text(page, title);
    sbx_html(page, "</title>\n</head>\n<body>\n<header class=\"top\"><a class=\"brand\" href=\"/\">"
                   "<span class=\"mark\" aria-hidden=\"true\"></span>Stallbox</a>");
    sbx_html(page, "<nav><a href=\"/\">Stalls</a><a href=\"/metrics\">Metrics</a></nav></header>\n<main>\n");
}

void sbx_page_end(struct sbx_byte_buffer *page)
{
    sbx_html(page, "</main>\n</body>\n</html>\n");
}

void sbx_page_badge(struct sbx_byte_buffer *page, const char *cause)
{
    sbx_html(page, "<span class=\"badge cause-");
    sbx_html_text(page, cause && *cause ? cause : "unknown");
    sbx_html(page, "\">");
    sbx_page_word(page, cause && *cause ? cause : "unknown");
    sbx_html(page, "</span>");
}

void sbx_page_function(struct sbx_byte_buffer *page, const char *function)
{
    if (!function || !*function) {
        sbx_html(page, "<span class=\"quiet\">not established</span>");
        return;
    }
    /* <wbr> after :: and _ : long names wrap at their joints instead of widening the page. */
    sbx_html(page, "<code>");
    for (const char *part = function; *part;) {
        size_t bytes = strcspn(part, ":_");
        bytes += strspn(part + bytes, ":_");
        sbx_html_textf(page, "%.*s", (int)bytes, part);
        part += bytes;
        if (*part)
            sbx_html(page, "<wbr>");
    }
    sbx_html(page, "</code>");
}

void sbx_page_time(struct sbx_byte_buffer *page, int64_t when_ms, int64_t now_ms)
{
    char iso[32] = "";
    struct tm utc;
    time_t seconds = (time_t)(when_ms / 1000);
    int64_t age_s = (now_ms - when_ms) / 1000;
    if (gmtime_r(&seconds, &utc))
        strftime(iso, sizeof(iso), "%Y-%m-%d %H:%M:%S", &utc);
    sbx_html(page, "<time title=\"");
    sbx_html_textf(page, "%s UTC", iso);
    sbx_html(page, "\">");
    if (age_s < 10)
        sbx_html(page, "just now");
    else if (age_s < 120)
        sbx_html_textf(page, "%lld s ago", (long long)age_s);
    else if (age_s < 2 * 3600)
        sbx_html_textf(page, "%lld min ago", (long long)age_s / 60);
    else if (age_s < 2 * 86400)
        sbx_html_textf(page, "%lld h ago", (long long)age_s / 3600);
    else if (age_s < 60 * 86400)
        sbx_html_textf(page, "%lld days ago", (long long)age_s / 86400);
    else
        sbx_html_textf(page, "%.10s", iso);
    sbx_html(page, "</time>");
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

void sbx_page_duration(struct sbx_byte_buffer *page, int64_t duration_ns)
{
    char text[SBX_DURATION_TEXT_BYTES];
    sbx_duration_print(duration_ns, text);
    sbx_html_text(page, text);
}

void sbx_page_word(struct sbx_byte_buffer *page, const char *word)
{
    static const struct {
        const char *word, *spoken;
    } acronyms[] = {{"cpu", "CPU"}, {"on_cpu", "on CPU"}, {"off_cpu", "off CPU"}, {"io", "I/O"},
                    {"ipc", "IPC"}, {"gc", "GC"},         {"anr", "ANR"},         {"cpu_contention", "CPU contention"}};
    char spoken[40];
    for (size_t i = 0; i < sizeof(acronyms) / sizeof(acronyms[0]); i++) {
        if (strcmp(word, acronyms[i].word) == 0) {
            sbx_html_text(page, acronyms[i].spoken);
            return;
        }
    }
    snprintf(spoken, sizeof(spoken), "%s", word);
    for (char *c = spoken; *c; c++)
        if (*c == '_')
            *c = ' ';
    sbx_html_text(page, spoken);
}
