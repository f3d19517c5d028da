/* SPDX-License-Identifier: Apache-2.0 */
/* reply.h - an answer as a value: routes and the collector make it, http.c sends it. */
#ifndef SBX_REPLY_H
#define SBX_REPLY_H

#include <stdbool.h>

#include "byte_buffer.h"

struct sbx_reply {
    unsigned status;          /* 0: not made yet */
    const char *content_type; /* a literal */
    struct sbx_byte_buffer body;
    const char *allow;      /* a literal for 405, else NULL */
    const char *challenge;  /* a literal for 401, else NULL */
    unsigned retry_after_s; /* 0: no such header */
    char location[64];      /* the new address, with a status 30x; "": none. Made of ids and literals only */
    char cookie[192];       /* Set-Cookie; "": none. Made of literals and hex only */
    bool may_be_cached;     /* the same for everyone until the server is updated */
    bool is_immutable;      /* never changes, because its path contains its version */
    /* ETag, with its quotes; "": none. A browser may keep the answer, but must ask again each time */
    char tag[24];
    char file_name[64]; /* "" unless it is a download; made of ids and literals only */
};

#define SBX_TEXT_PLAIN "text/plain; charset=utf-8"
#define SBX_TEXT_HTML  "text/html; charset=utf-8"

/* A short answer in plain text: "404: ..." and a newline. */
void sbx_reply_text(struct sbx_reply *reply, unsigned status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Release what a reply holds, when it is not sent. */
void sbx_reply_finish(struct sbx_reply *reply);

#endif
