/* SPDX-License-Identifier: Apache-2.0 */
/* stall_replies.h - what is answered about one stall: its page, its verdict as JSON, its report and its payload as files. */
#ifndef SBX_STALL_REPLIES_H
#define SBX_STALL_REPLIES_H

#include "request.h"

/* The page. Where its report has to be made first, the reply has no status and the request's need says so. */
void sbx_stall_reply_page(struct sbx_renderings *renderings, const struct sbx_request *request,
                          const uint8_t id[SBX_ID_BYTES], struct sbx_reply *reply);

/* What triage said of it, as JSON. */
void sbx_stall_reply_json(const struct sbx_request *request, const uint8_t id[SBX_ID_BYTES], struct sbx_reply *reply);

/* What was made of it, by the suffix behind its id: "json", "perfetto", "pprof", "folded", "async.pprof", "async.folded"; or the envelope itself, "sbx". A
 * report that has to be made first: as for the page. */
void sbx_stall_reply_download(struct sbx_renderings *renderings, const struct sbx_request *request,
                              const uint8_t id[SBX_ID_BYTES], const char *suffix, struct sbx_reply *reply);

#endif
