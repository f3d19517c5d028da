/* SPDX-License-Identifier: Apache-2.0 */
/* request.h - a request, and a refusal in the form that suits its path. Does not know the HTTP library. Any thread. */
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
    SBX_STORE_AGAIN_S = 5, /* when to try again after the store did not answer */
    SBX_ROWS_MAX = 1000,   /* rows of a list in one answer */
};

/* A rendering that must be made before a request can be answered. */
struct sbx_need {
    bool is_there; /* a rendering is needed */
    uint8_t id[SBX_ID_BYTES];
    enum sbx_rendering kind;
};

struct sbx_request {                /* all borrowed */
    const char *method;             /* "GET" */
    const char *path;               /* decoded, without the query */
    struct sbx_store_view view;     /* what the client may see; every answer from the store uses it */
    const char *before, *limit;     /* query arguments as received; NULL when missing */
    struct sbx_arguments arguments; /* all of them */
    const char *if_none_match;      /* header; NULL when missing */
    const char *host;               /* same */
    struct sbx_need *need;          /* filled in when `made` is missing; NULL: the client does not wait */
    const struct sbx_wish *made;    /* the result of the wish; NULL: not asked for yet */
};

/* A whole number in [0, max]; `otherwise` for anything else. */
int64_t sbx_request_number(const char *text, int64_t max, int64_t otherwise);

/* Check the arguments: each must be in `names` (separated by spaces) and occur once, and `before` and `limit` must
 * be valid numbers. Otherwise returns false with the refusal in `reply`, because an unknown argument must not be
 * ignored. */
bool sbx_request_takes(const struct sbx_request *request, const char *names, struct sbx_reply *reply);

/* Does a person ask for a page? Otherwise a program asks. */
bool sbx_request_is_page(const struct sbx_request *request);

/* A refusal that suits its path: a page for people, a line for programs. */
void sbx_refuse(const struct sbx_request *request, struct sbx_reply *reply, unsigned status, const char *sentence);

/* Answer for the case that the store returned -errno instead of rows. */
void sbx_refuse_for(const struct sbx_request *request, struct sbx_reply *reply, int result);

#endif
