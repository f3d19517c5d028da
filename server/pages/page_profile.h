/* SPDX-License-Identifier: Apache-2.0 */
/* page_profile.h - where the time of many stalls went: a page, and a part of other pages. */
#ifndef SBX_PAGE_PROFILE_H
#define SBX_PAGE_PROFILE_H

#include <stdbool.h>

#include "byte_buffer.h"
#include "html_fill.h"
#include "merged_printers.h"

/* The request, as it stands in an address; "": any. */
struct sbx_profile_ask {
    char issue[40], app[80], version[40], since[16], until[16]; /* whose stalls */
    char find[100], function[512], at[20];                      /* at: path of a node in hex */
    /* rows that take all of the time are shown one by one, not joined */
    bool is_full;
};

/* `/profile` */
struct sbx_profile_page {
    struct sbx_profile_ask ask;
    const struct sbx_merged_profile *profile; /* settled */
    const char *words;                        /* which stalls, in words; "": all */
    bool is_withheld;
};
void sbx_page_profile(const struct sbx_profile_page *profile, struct sbx_byte_buffer *page);

/* Two sections: the callers of ask.function, and the functions it called. Returns false when the profile does not have
 * it. */
bool sbx_page_profile_around(struct sbx_byte_buffer *page, const struct sbx_profile_page *profile);

/* The picture as a section; nothing when no time is known. */
void sbx_page_profile_part(struct sbx_byte_buffer *page, const struct sbx_merged_profile *profile,
                           const struct sbx_profile_ask *ask);

/* One picture, into a place for parts. Without memory the page fails. */
void sbx_page_flame(struct sbx_fill *at, const struct sbx_merged_profile *profile, const struct sbx_merged_view *view);

#endif
