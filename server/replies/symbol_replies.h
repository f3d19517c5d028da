/* SPDX-License-Identifier: Apache-2.0 */
/* symbol_replies.h - what is said about symbols: of an upload, of what is stored, of what is missing. */
#ifndef SBX_SYMBOL_REPLIES_H
#define SBX_SYMBOL_REPLIES_H

#include <stdbool.h>

#include "reply.h"
#include "store_symbols.h"
#include "symbol_intake.h"

/* What became of an upload: {"result","build_id",...}, or one line of text, which a pipeline's log can have as it is. */
void sbx_symbol_reply_upload(const struct sbx_intake_answer *answer, bool as_text, struct sbx_reply *reply);

/* {"symbols":[...]} and {"missing":[...]}: what is stored, and what stalls lack, that of the most stalls first. */
void sbx_symbol_reply_stored(const struct sbx_store_view *view, struct sbx_symbol_intake *intake,
                             struct sbx_reply *reply);
void sbx_symbol_reply_missing(const struct sbx_store_view *view, struct sbx_reply *reply);

/* The page of both. `host` is what the request was sent to (NULL: not told); 0, or -errno and no reply. */
int sbx_symbol_reply_page(const struct sbx_store_view *view, struct sbx_symbol_intake *intake, const char *host,
                          struct sbx_reply *reply);

/* Where the stalls of an issue are that is no more, because symbols came: 302, or a list of them with 300 (a page: 200). 0,
 * -ENOENT when none came from it, or -errno; then there is no reply. */
int sbx_symbol_reply_moved(const struct sbx_store_view *view, const uint8_t issue[SBX_ID_BYTES], bool as_page,
                           struct sbx_reply *reply);

#endif
