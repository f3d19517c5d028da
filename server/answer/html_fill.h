/* SPDX-License-Identifier: Apache-2.0 */
/* html_fill.h - compiled templates and how C fills them: the only way to HTML.
 *
 * A template (server/pages/README.md) is compiled into a header with an enum and a constant for each of its fragments.
 * All markup comes from these headers. A fragment is written by a loop that stops at each place in turn:
 *
 *     SBX_FILL(page, badge, at)
 *     {
 *     case BADGE_CAUSE:
 *         sbx_fill_text(&at, cause);
 *         break;
 *     case BADGE_WORD:
 *         ...
 *     }
 *
 * It is a switch over the fragment's enum, and the pages are compiled with -Werror=switch-enum: the code does not
 * compile when it leaves out a place, or fills a place that the template does not have. A value is escaped as its
 * place demands. A place for parts takes fragments only. A violation sets sbx_byte_buffer.failed, and the page is
 * not sent. */
#ifndef SBX_HTML_FILL_H
#define SBX_HTML_FILL_H

#include <stdbool.h>
#include <stddef.h>

#include "byte_buffer.h"

enum sbx_place_kind {
    SBX_PLACE_TEXT,      /* a value between tags: & < > " ' are escaped */
    SBX_PLACE_ATTRIBUTE, /* a value in a quoted attribute: escaped in the same way */
    SBX_PLACE_URL,       /* a part of an address in such an attribute: all but letters, digits, - . _ ~ is %XX */
    SBX_PLACE_PARTS,     /* any number of fragments */
    SBX_PLACE_END,       /* the fragment ends here */
};

struct sbx_piece {
    const char *markup; /* the markup before the place */
    size_t markup_bytes;
    enum sbx_place_kind kind;
};

/* A fragment with places, and a fragment without any. Only the template compiler makes them. */
struct sbx_fragment {
    const struct sbx_piece *pieces; /* the last is END */
};
struct sbx_markup {
    const char *text;
    size_t bytes;
};

/* A fragment that is being written. Between two calls of sbx_fill_next() it stands at a place. */
struct sbx_fill {
    struct sbx_byte_buffer *page;
    const struct sbx_piece *piece; /* the next piece; at a place, the piece behind that place */
    int place;                     /* index of the place, which is its number in the enum; -1 before the first */
    enum sbx_place_kind kind;      /* kind of that place */
    size_t filled_to;              /* length of the page after the last sbx_fill_text() or similar call */
};

struct sbx_fill sbx_fill_begin(struct sbx_byte_buffer *page, const struct sbx_fragment *fragment);

/* Write the markup up to the next place. Returns false at the end of the fragment. */
bool sbx_fill_next(struct sbx_fill *fill);

#define SBX_FILL(page_, name, at)                                                             \
    for (struct sbx_fill at = sbx_fill_begin((page_), &name##_fragment); sbx_fill_next(&at);) \
        switch ((enum name)at.place)

/* Write a fragment that has no places. */
void sbx_fill_markup(struct sbx_byte_buffer *page, const struct sbx_markup *markup);

/* ---- into a place for a value ---- */

/* Invalid UTF-8 and characters that must not be shown become U+FFFD. NULL is empty. */
void sbx_fill_text(struct sbx_fill *fill, const char *text);
void sbx_fill_textf(struct sbx_fill *fill, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- into a place for parts: what is HTML already ---- */

/* One <svg> element, unchanged. It must come from sbx_print_timeline_svg, sbx_print_flame_svg or sbx_print_merged_svg,
 * which do their own escaping. Anything that does not start with "<svg" is refused. */
void sbx_fill_picture(struct sbx_fill *fill, const struct sbx_byte_buffer *svg);

/* A part of a page that fragments wrote earlier and the server kept: SBX_RENDERING_PAGE. */
void sbx_fill_rendering(struct sbx_fill *fill, const struct sbx_byte_buffer *rendering);

#endif
