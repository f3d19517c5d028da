/* SPDX-License-Identifier: Apache-2.0 */
/* gate.h - the rights of a request: a function of a request's headers and the tokens there are.
 *
 *   writing   needs a token with a right to it when there is any token; never comes from a web page (a browser says so in
 *             Origin)
 *   reading   needs one unless the server listens on loopback only, and no token is for one application alone; then the request must be meant for loopback
 *             (Host), or a web page could read here under a name it made resolve to 127.0.0.1
 *
 * A token comes as "Authorization: Bearer TOKEN", or as the password of Basic, which is what browsers can ask for. */
#ifndef SBX_GATE_H
#define SBX_GATE_H

#include <stdbool.h>
#include <stddef.h>

#include "token_ring.h"

struct sbx_gate {
    struct sbx_token_ring *tokens; /* borrowed; without a token in it, none is asked for */
    bool is_loopback;
};

enum sbx_entry {
    SBX_ENTRY_ALLOWED = 0,
    SBX_ENTRY_NEEDS_TOKEN = 1,
    SBX_ENTRY_FOREIGN_HOST = 2, /* reading without a token under a name that is not this machine's loopback */
    SBX_ENTRY_FROM_PAGE = 3,    /* writing on behalf of a web page */
    SBX_ENTRY_NO_RIGHT = 4,     /* the token is for something else */
};

/* The token that a request comes with. False: with none, or one that there is not. */
bool sbx_gate_token(const struct sbx_gate *gate, const char *authorization, struct sbx_token *token_out);

/* `token`: what it came with, NULL none. `rights`: one of these suffices. Headers are borrowed, NULL when the request has none. */
enum sbx_entry sbx_gate_check(const struct sbx_gate *gate, unsigned rights, bool is_write,
                              const struct sbx_token *token, const char *host, const char *origin);

#endif
