/* SPDX-License-Identifier: Apache-2.0 */
/* request.h - what is asked for, and a refusal in the form of its path. Knows no HTTP library. Any thread. */
#ifndef SBX_REQUEST_H
#define SBX_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "arguments.h"
#include "renderings.h"
#include "reply.h"
#include "store.h"
#include "triager.h"

enum {
    SBX_STORE_AGAIN_S = 5, /* when to ask again while the store does not answer */
    SBX_ROWS_MAX = 1000,   /* of a list, at a time */
};

/* A rendering that has to be made before a request can be answered. */
struct sbx_need {
    bool is_there; /* there is such a one */
    uint8_t id[SBX_ID_BYTES];
    enum sbx_rendering kind;
};

struct sbx_request {                /* all borrowed */
    const char *method;             /* "GET" */
    const char *path;               /* decoded, without the query */
    struct sbx_store_view view;     /* of the client: all answers from the store come through it */
    const char *before, *limit;     /* query arguments as they came; NULL when missing */
    struct sbx_arguments arguments; /* all of them */
    const char *if_none_match;      /* header; NULL when missing */
    const char *host;               /* likewise */
    struct sbx_need *need;          /* filled in when `made` is missing; NULL: nobody would wait */
    const struct sbx_wish *made;    /* what became of it; NULL: not asked for yet */
};

/* A whole number in [0, max]; `otherwise` for anything else. */
int64_t sbx_request_number(const char *text, int64_t max, int64_t otherwise);

/* Are all arguments among `names`, with blanks between, each once, and are `before` and `limit` numbers that there can be? Else the
 * refusal is in `reply`: what is not understood is never left out. */
bool sbx_request_takes(const struct sbx_request *request, const char *names, struct sbx_reply *reply);

/* Whether a person asks, for a page; else a program does. */
bool sbx_request_is_page(const struct sbx_request *request);

/* A refusal in the form of its path: a page for people, a line for programs. */
void sbx_refuse(const struct sbx_request *request, struct sbx_reply *reply, unsigned status, const char *sentence);

/* What to answer when the store gave -errno instead of rows. */
void sbx_refuse_for(const struct sbx_request *request, struct sbx_reply *reply, int result);

#endif
