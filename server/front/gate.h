/* SPDX-License-Identifier: Apache-2.0 */
/* gate.h - the rights of a request: a function of a request's headers and the tokens there are.
 *
 *   writing   needs a token with that right when there is any token; never allowed from a web page (a browser tells in
 *             Origin)
 *   reading   needs a token, unless the server listens on loopback only and no token is for a single application. Then
 *             Host must name loopback; otherwise a web page could read here under a name that resolves to 127.0.0.1
 *
 * A token comes as "Authorization: Bearer TOKEN", or as the password of Basic, which is what browsers can ask for. */
#ifndef SBX_GATE_H
#define SBX_GATE_H

#include <stdbool.h>
#include <stddef.h>

#include "token_ring.h"

struct sbx_gate {
    struct sbx_token_ring *tokens; /* borrowed; when it is empty, no token is needed */
    bool is_loopback;
};

enum sbx_entry {
    SBX_ENTRY_ALLOWED = 0,
    SBX_ENTRY_NEEDS_TOKEN = 1,
    SBX_ENTRY_FOREIGN_HOST = 2, /* reading without a token, and Host is not a loopback name */
    SBX_ENTRY_FROM_PAGE = 3,    /* a web page tries to write */
    SBX_ENTRY_NO_RIGHT = 4,     /* the token has other rights */
};

/* Find the token of a request. Returns false when the request has none, or an unknown one. */
bool sbx_gate_token(const struct sbx_gate *gate, const char *authorization, struct sbx_token *token_out);

/* `token`: the token of the request, NULL for none. `rights`: one of these suffices. Headers are borrowed, NULL when
 * the request does not have them. */
enum sbx_entry sbx_gate_check(const struct sbx_gate *gate, unsigned rights, bool is_write,
                              const struct sbx_token *token, const char *host, const char *origin);

#endif
