/* SPDX-License-Identifier: Apache-2.0 */
/* symbol_replies.h - answers about symbols: an upload, the stored ones, the missing ones. */
#ifndef SBX_SYMBOL_REPLIES_H
#define SBX_SYMBOL_REPLIES_H

#include <stdbool.h>

#include "reply.h"
#include "store_symbols.h"
#include "symbol_intake.h"

/* The result of an upload: {"result","build_id",...}, or one line of text for the log of a pipeline. */
void sbx_symbol_reply_upload(const struct sbx_intake_answer *answer, bool as_text, struct sbx_reply *reply);

/* {"symbols":[...]} and {"missing":[...]}: what is stored, and what stalls lack, ordered by number of stalls. */
void sbx_symbol_reply_stored(const struct sbx_store_view *view, struct sbx_symbol_intake *intake,
                             struct sbx_reply *reply);
void sbx_symbol_reply_missing(const struct sbx_store_view *view, struct sbx_reply *reply);

/* The page of both. `host`: the Host of the request (NULL: missing). Returns 0, or -errno without a reply. */
int sbx_symbol_reply_page(const struct sbx_store_view *view, struct sbx_symbol_intake *intake, const char *host,
                          struct sbx_reply *reply);

/* Where the stalls of an issue are that no longer exists because symbols came: a redirect (302), or a list of issues
 * with status 300 (a page: 200). Returns 0; -ENOENT when no issue came from it, or another -errno, then without a
 * reply. */
int sbx_symbol_reply_moved(const struct sbx_store_view *view, const uint8_t issue[SBX_ID_BYTES], bool as_page,
                           struct sbx_reply *reply);

#endif
