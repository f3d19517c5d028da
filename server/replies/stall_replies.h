/* SPDX-License-Identifier: Apache-2.0 */
/* stall_replies.h - answers about one stall: its page, its verdict as JSON, its report and its payload as files. */
#ifndef SBX_STALL_REPLIES_H
#define SBX_STALL_REPLIES_H

#include "request.h"

/* The page. When its report must be made first, the reply has no status, and the need of the request names the
 * report. */
void sbx_stall_reply_page(struct sbx_renderings *renderings, const struct sbx_request *request,
                          const uint8_t id[SBX_ID_BYTES], struct sbx_reply *reply);

/* The verdict of triage, as JSON. */
void sbx_stall_reply_json(const struct sbx_request *request, const uint8_t id[SBX_ID_BYTES], struct sbx_reply *reply);

/* A file made of the stall, by the suffix behind its id: "json", "perfetto", "pprof", "folded", "async.pprof",
 * "async.folded"; or the envelope itself, "sbx". When a report must be made first, it is as for the page. */
void sbx_stall_reply_download(struct sbx_renderings *renderings, const struct sbx_request *request,
                              const uint8_t id[SBX_ID_BYTES], const char *suffix, struct sbx_reply *reply);

#endif
