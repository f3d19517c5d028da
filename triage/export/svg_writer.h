/* SPDX-License-Identifier: Apache-2.0 */
/* svg_writer.h - the few SVG elements that the pictures need, and the colours of states.
 *
 * The pictures are shown in pages whose content security policy forbids scripts and inline styles. So they have only
 * elements with presentation attributes, no ids (several pictures may share a page), and no external content. The width
 * of a text is not measured here. Text is clipped by an estimate that is rather too wide. */
#ifndef SBX_SVG_WRITER_H
#define SBX_SVG_WRITER_H

#include <stdio.h>

#include "thread_spans.h"

enum sbx_svg_anchor {
    SBX_SVG_LEFT,
    SBX_SVG_MIDDLE,
    SBX_SVG_RIGHT
};

struct sbx_svg_text_look {
    double size; /* font size in px */
    const char *fill;
    enum sbx_svg_anchor anchor;
    bool bold;
};

#define SBX_SVG_INK   "#1b2430" /* text */
#define SBX_SVG_FAINT "#56606d" /* secondary text */
#define SBX_SVG_RULE  "#d5dae1" /* grid lines */
#define SBX_SVG_ALERT "#b3261e" /* the trigger */
#define SBX_SVG_PAPER "#ffffff"

/* Open and close the element; `label` is the text for a screen reader. */
void sbx_svg_begin(FILE *out, double width, double height, const char *label);
/* The same for a picture with links, so that a screen reader reads its parts. */
void sbx_svg_begin_linked(FILE *out, double width, double height, const char *label);
void sbx_svg_end(FILE *out);

/* Text from strangers: cleaned (clean_text.h) and escaped, for content and attributes. */
void sbx_svg_put_escaped(FILE *out, const char *text);

void sbx_svg_rect(FILE *out, double x, double y, double width, double height, const char *fill);
void sbx_svg_line(FILE *out, double x1, double y1, double x2, double y2, const char *stroke, double width,
                  const char *dashes); /* dashes NULL: a solid line */
void sbx_svg_text(FILE *out, double x, double y, const struct sbx_svg_text_look *look, const char *text);

/* Like sbx_svg_text, but cut to `width` px with an ellipsis. Writes nothing if too few characters fit. */
void sbx_svg_text_within(FILE *out, double x, double y, double width, const struct sbx_svg_text_look *look,
                         const char *text);
double sbx_svg_text_width(double size, const char *text); /* estimated px */

/* A group whose tooltip is `title`: it contains all elements up to the end call. */
void sbx_svg_group_begin(FILE *out, const char *title);
/* The same for a box of a flame graph: a page's script builds the tree from the names and times. */
void sbx_svg_box_begin(FILE *out, const char *title, const char *name, double us);
void sbx_svg_group_end(FILE *out);

/* The fill of a state, and a text colour with a contrast of at least 4.5:1 on it. */
const char *sbx_svg_state_fill(enum sbx_span_state state);
const char *sbx_svg_state_ink(enum sbx_span_state state);

/* A state's colour, slightly different for each name so that neighbours look separate. The text colour keeps its
 * contrast. */
void sbx_svg_state_shade(enum sbx_span_state state, const char *name, char fill_out[8]);

/* A row of colour samples with the names of the states whose bit is set; returns the x after the last. */
double sbx_svg_legend(FILE *out, double x, double y, unsigned states);

#define SBX_SVG_MINUS "\xe2\x88\x92" /* U+2212, as wide as a digit */

/* "1 987 ms" or "0.42 ms": as many digits as a reader needs. */
void sbx_svg_ms(char *out, size_t out_bytes, int64_t ns);

#endif
