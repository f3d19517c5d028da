/* SPDX-License-Identifier: Apache-2.0 */
/* svg_writer.c - the few SVG elements that the pictures need, and the colours of states.
 *
 * Errors of the stream are not checked here: a FILE keeps them, and the printers check once at the end. */
#include "svg_writer.h"

#include <stdlib.h>
#include <string.h>

#include "clean_text.h"

static const double SHORTEST_CUT = 7;    /* characters; a shorter rest of a name tells less than its tooltip */
static const double CHARACTER_EM = 0.58; /* mean width of a character of a sans-serif face; names have few wide ones */

/* Colours that people with the common colour weaknesses can distinguish (after Okabe and Ito), darkened under white
 * text. Waits of all kinds are cool, computing is warm. */
static const struct {
    const char *fill, *ink;
} looks[SBX_SPAN_STATES] = {
    [SBX_SPAN_UNKNOWN] = {"#f0f2f5", SBX_SVG_INK},  [SBX_SPAN_ON_CPU] = {"#e8833a", SBX_SVG_INK},
    [SBX_SPAN_RUNNABLE] = {"#f3d36b", SBX_SVG_INK}, [SBX_SPAN_LOCK] = {"#8e3b8a", SBX_SVG_PAPER},
    [SBX_SPAN_WAIT] = {"#2f6fb0", SBX_SVG_PAPER},   [SBX_SPAN_SLEEP] = {"#5a5fb8", SBX_SVG_PAPER},
    [SBX_SPAN_IO] = {"#00756a", SBX_SVG_PAPER},     [SBX_SPAN_NETWORK] = {"#4fb0c9", SBX_SVG_INK},
    [SBX_SPAN_OFF_CPU] = {"#8793a1", SBX_SVG_INK},  [SBX_SPAN_IDLE] = {"#e3e8ee", SBX_SVG_INK},
};

const char *sbx_svg_state_fill(enum sbx_span_state state)
{
    return looks[(unsigned)state < SBX_SPAN_STATES ? state : SBX_SPAN_UNKNOWN].fill;
}

const char *sbx_svg_state_ink(enum sbx_span_state state)
{
    return looks[(unsigned)state < SBX_SPAN_STATES ? state : SBX_SPAN_UNKNOWN].ink;
}

/* Dark colours become darker, light ones lighter. */
void sbx_svg_state_shade(enum sbx_span_state state, const char *name, char fill_out[8])
{
    unsigned hash = 2166136261u, channels[3];
    for (const char *at = name; *at != '\0'; at++) {
        hash = (hash ^ (unsigned char)*at) * 16777619u;
    }
    double amount = (double)(hash >> 16 & 7) / 7 * 0.22;
    bool lighter = sbx_svg_state_ink(state)[1] != 'f'; /* its text is dark */
    unsigned colour = (unsigned)strtoul(sbx_svg_state_fill(state) + 1, NULL, 16);
    for (unsigned i = 0; i < 3; i++) {
        unsigned channel = colour >> (16 - 8 * i) & 0xff;
        double target = lighter ? 255 : 0;
        channels[i] = (unsigned)(channel + (target - channel) * amount + 0.5) & 0xff;
    }
    snprintf(fill_out, 8, "#%02x%02x%02x", channels[0], channels[1], channels[2]);
}

void sbx_svg_put_escaped(FILE *out, const char *text)
{
    char clean[SBX_CLEAN_TEXT_BYTES];
    sbx_clean_text(text, clean, sizeof clean);
    for (const char *at = clean; *at != '\0'; at++) {
        switch (*at) {
        case '&':
            fputs("&amp;", out);
            break;
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '"':
            fputs("&quot;", out);
            break;
        case '\'':
            fputs("&#39;", out);
            break;
        default:
            fputc(*at, out);
        }
    }
}

static void begin(FILE *out, double width, double height, const char *role, const char *label)
{
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" "
            "font-family=\"system-ui, 'DejaVu Sans', sans-serif\" role=\"%s\" aria-label=\"",
            width, height, width, height, role);
    sbx_svg_put_escaped(out, label);
    fputs("\">\n", out);
    sbx_svg_rect(out, 0, 0, width, height, SBX_SVG_PAPER);
}

void sbx_svg_begin(FILE *out, double width, double height, const char *label)
{
    begin(out, width, height, "img", label);
}

void sbx_svg_begin_linked(FILE *out, double width, double height, const char *label)
{
    begin(out, width, height, "group", label);
}

void sbx_svg_end(FILE *out)
{
    fputs("</svg>\n", out);
}

void sbx_svg_rect(FILE *out, double x, double y, double width, double height, const char *fill)
{
    fprintf(out, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"%s\"/>\n", x, y, width, height,
            fill);
}

void sbx_svg_line(FILE *out, double x1, double y1, double x2, double y2, const char *stroke, double width,
                  const char *dashes)
{
    fprintf(out, "<line x1=\"%.2f\" y1=\"%.2f\" x2=\"%.2f\" y2=\"%.2f\" stroke=\"%s\" stroke-width=\"%.2f\"", x1, y1,
            x2, y2, stroke, width);
    if (dashes != NULL) {
        fprintf(out, " stroke-dasharray=\"%s\"", dashes);
    }
    fputs("/>\n", out);
}

void sbx_svg_text(FILE *out, double x, double y, const struct sbx_svg_text_look *look, const char *text)
{
    static const char *const anchors[] = {
        [SBX_SVG_LEFT] = "start", [SBX_SVG_MIDDLE] = "middle", [SBX_SVG_RIGHT] = "end"};
    fprintf(out, "<text x=\"%.2f\" y=\"%.2f\" font-size=\"%.1f\" fill=\"%s\" text-anchor=\"%s\"%s>", x, y, look->size,
            look->fill, anchors[look->anchor], look->bold ? " font-weight=\"600\"" : "");
    sbx_svg_put_escaped(out, text);
    fputs("</text>\n", out);
}

/* Count characters, not bytes: continuation bytes of UTF-8 have no width. */
static size_t character_count(const char *text)
{
    size_t count = 0;
    for (; *text != '\0'; text++) {
        count += (*text & 0xc0) != 0x80;
    }
    return count;
}

double sbx_svg_text_width(double size, const char *text)
{
    return (double)character_count(text) * size * CHARACTER_EM;
}

void sbx_svg_text_within(FILE *out, double x, double y, double width, const struct sbx_svg_text_look *look,
                         const char *text)
{
    char clean[SBX_CLEAN_TEXT_BYTES + 4];
    sbx_clean_text(text, clean, SBX_CLEAN_TEXT_BYTES);
    double room = width / (look->size * CHARACTER_EM);
    bool fits = (double)character_count(clean) <= room;
    if (!fits && room < SHORTEST_CUT) {
        return;
    }
    if (!fits) {
        size_t at = 0, characters = 0;
        while (clean[at] != '\0' && (double)(characters + 2) <= room) { /* room for one more and the ellipsis */
            at++;
            while ((clean[at] & 0xc0) == 0x80) {
                at++;
            }
            characters++;
        }
        memcpy(clean + at, "\xe2\x80\xa6", sizeof "\xe2\x80\xa6");
    }
    sbx_svg_text(out, x, y, look, clean);
}

void sbx_svg_group_begin(FILE *out, const char *title)
{
    fputs("<g><title>", out);
    sbx_svg_put_escaped(out, title);
    fputs("</title>\n", out);
}

void sbx_svg_box_begin(FILE *out, const char *title, const char *name, double us)
{
    fprintf(out, "<g data-us=\"%.0f\" data-name=\"", us);
    sbx_svg_put_escaped(out, name);
    fputs("\"><title>", out);
    sbx_svg_put_escaped(out, title);
    fputs("</title>\n", out);
}

void sbx_svg_group_end(FILE *out)
{
    fputs("</g>\n", out);
}

double sbx_svg_legend(FILE *out, double x, double y, unsigned states)
{
    enum {
        SWATCH = 12,
        GAP = 6,
        BETWEEN = 18
    };
    const struct sbx_svg_text_look look = {.size = 11, .fill = SBX_SVG_FAINT};
    for (enum sbx_span_state state = SBX_SPAN_UNKNOWN + 1; state < SBX_SPAN_STATES; state++) {
        if ((states & 1u << state) == 0) {
            continue;
        }
        sbx_svg_rect(out, x, y - SWATCH + 2, SWATCH, SWATCH, sbx_svg_state_fill(state));
        sbx_svg_text(out, x + SWATCH + GAP, y, &look, sbx_span_state_name(state));
        x += SWATCH + GAP + sbx_svg_text_width(look.size, sbx_span_state_name(state)) + BETWEEN;
    }
    return x;
}

void sbx_svg_ms(char *out, size_t out_bytes, int64_t ns)
{
    const char *sign = ns / 1000 < 0 ? SBX_SVG_MINUS : "";
    long long us = llabs(ns / 1000), ms = us / 1000;
    if (us < 10000) {
        snprintf(out, out_bytes, "%s%.2f ms", sign, (double)us / 1e3);
    } else if (ms < 1000) {
        snprintf(out, out_bytes, "%s%.1f ms", sign, (double)us / 1e3);
    } else if (ms < 1000000) {
        snprintf(out, out_bytes, "%s%lld\xe2\x80\xaf%03lld ms", sign, ms / 1000, ms % 1000); /* a thin space */
    } else {
        snprintf(out, out_bytes, "%s%lld s", sign, ms / 1000);
    }
}
