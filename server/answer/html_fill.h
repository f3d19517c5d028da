/* SPDX-License-Identifier: Apache-2.0 */
/* html_fill.h - compiled templates and how C fills them: the only way to HTML.
 *
 * A template (server/pages/README.md) is compiled into a header with an enum and a constant for each of its fragments. Markup
 * comes from there and from nowhere else. A fragment is written by a loop that stops at each place in turn:
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
 * It is a switch over the fragment's enum, and the pages are compiled with -Werror=switch-enum: a place that is not filled, and
 * one that the template does not have, do not compile. What is put into a place for a value is escaped as the place demands; into
 * a place for parts go fragments only. A violation fails the page (sbx_byte_buffer.failed), and it is not sent. */
#ifndef SBX_HTML_FILL_H
#define SBX_HTML_FILL_H

#include <stdbool.h>
#include <stddef.h>

#include "byte_buffer.h"

enum sbx_place_kind {
    SBX_PLACE_TEXT,      /* a value between tags: & < > " ' are escaped */
    SBX_PLACE_ATTRIBUTE, /* a value in a quoted attribute: likewise */
    SBX_PLACE_URL,       /* a part of an address in such an attribute: all but letters, digits, - . _ ~ is %XX */
    SBX_PLACE_PARTS,     /* fragments, as many as C says */
    SBX_PLACE_END,       /* the fragment ends here */
};

struct sbx_piece {
    const char *markup; /* up to the place */
    size_t markup_bytes;
    enum sbx_place_kind kind;
};

/* A fragment with places, and one without. Made by the compiler of templates only. */
struct sbx_fragment {
    const struct sbx_piece *pieces; /* the last is END */
};
struct sbx_markup {
    const char *text;
    size_t bytes;
};

/* A fragment being written. Stands at a place between two calls of sbx_fill_next(). */
struct sbx_fill {
    struct sbx_byte_buffer *page;
    const struct sbx_piece *piece; /* the next one, or the one behind `place` */
    int place;                     /* index of the place, which is its number in the enum; -1 before the first */
    enum sbx_place_kind kind;      /* of the place */
    size_t filled_to;              /* the page's bytes as sbx_fill_text() and its like left them */
};

struct sbx_fill sbx_fill_begin(struct sbx_byte_buffer *page, const struct sbx_fragment *fragment);

/* Write the markup up to the next place. False: the fragment is complete. */
bool sbx_fill_next(struct sbx_fill *fill);

#define SBX_FILL(page_, name, at)                                                             \
    for (struct sbx_fill at = sbx_fill_begin((page_), &name##_fragment); sbx_fill_next(&at);) \
        switch ((enum name)at.place)

/* A fragment that has no place. */
void sbx_fill_markup(struct sbx_byte_buffer *page, const struct sbx_markup *markup);

/* ---- into a place for a value ---- */

/* What is no well-formed, showable UTF-8 becomes U+FFFD. NULL is empty. */
void sbx_fill_text(struct sbx_fill *fill, const char *text);
void sbx_fill_textf(struct sbx_fill *fill, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- into a place for parts: what is HTML already ---- */

/* One <svg> element as it is. It must come from sbx_print_timeline_svg, sbx_print_flame_svg or sbx_print_merged_svg, which escape for
 * themselves; anything that does not start with "<svg" is refused. */
void sbx_fill_picture(struct sbx_fill *fill, const struct sbx_byte_buffer *svg);

/* A page's part that was written by fragments before and kept since: SBX_RENDERING_PAGE. */
void sbx_fill_rendering(struct sbx_fill *fill, const struct sbx_byte_buffer *rendering);

#endif
