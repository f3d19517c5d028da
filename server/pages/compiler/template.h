/* SPDX-License-Identifier: Apache-2.0 */
/* template.h - a template of a page as the compiler sees it: fragments, each a sequence of pieces of markup and places.
 *
 * README.md has the language. This code runs at build time only; the server does not read templates. */
#ifndef SBX_TEMPLATE_H
#define SBX_TEMPLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum {
    SBX_TEMPLATE_NAME_BYTES = 64,
    SBX_TEMPLATE_WHY_BYTES = 300,
    SBX_TEMPLATE_FRAGMENTS_MAX = 80, /* per file */
    SBX_TEMPLATE_PLACES_MAX = 32,    /* per fragment */
};

/* What may be put into a place: the kinds of enum sbx_place_kind in html_fill.h. */
enum sbx_template_kind {
    SBX_TEMPLATE_TEXT,
    SBX_TEMPLATE_ATTRIBUTE,
    SBX_TEMPLATE_URL,
    SBX_TEMPLATE_PARTS,
    SBX_TEMPLATE_END, /* no place: the markup behind the last one */
};

struct sbx_template_piece {
    char *markup; /* the markup before the place */
    size_t markup_bytes;
    enum sbx_template_kind kind;
    char name[SBX_TEMPLATE_NAME_BYTES]; /* name of the place; "" for END */
};

struct sbx_template_fragment {
    char name[2 * SBX_TEMPLATE_NAME_BYTES]; /* FILE, or FILE_SECTION */
    size_t line;                            /* where it begins, for error messages */
    struct sbx_template_piece pieces[SBX_TEMPLATE_PLACES_MAX + 1];
    size_t piece_count; /* the last is END */
};

struct sbx_template {
    struct sbx_template_fragment fragments[SBX_TEMPLATE_FRAGMENTS_MAX]; /* the file itself first, then its sections */
    size_t fragment_count;
};

/* Read a template. `file` is its name in error messages; the last part of `file` without ".html" names the fragments.
 * Returns the template (given: sbx_template_destroy), or NULL with "FILE:LINE: reason" in `why`. */
struct sbx_template *sbx_template_read(const char *file, const char *text, size_t bytes,
                                       char why[SBX_TEMPLATE_WHY_BYTES]);
void sbx_template_destroy(struct sbx_template *page);

/* Write the template as a C header: for each fragment an enum of its places, and its pieces. The caller checks `out`
 * for errors. */
void sbx_template_write(const struct sbx_template *page, const char *file, FILE *out);

#endif
