/* SPDX-License-Identifier: Apache-2.0 */
/* gate.h - who may do what: a pure function of a request's headers.
 *
 *   writing   needs the token when there is one; never comes from a web page (a browser says so in Origin)
 *   reading   needs the token unless the server listens on loopback only; then the request must be meant for loopback
 *             (Host), or a web page could read here under a name it made resolve to 127.0.0.1
 *
 * A token comes as "Authorization: Bearer TOKEN", or as the password of Basic, which is what browsers can ask for. */
#ifndef SBX_GATE_H
#define SBX_GATE_H

#include <stdbool.h>

struct sbx_gate {
    const char *token; /* borrowed; NULL none */
    bool is_loopback;
};

enum sbx_entry {
    SBX_ENTRY_ALLOWED = 0,
    SBX_ENTRY_NEEDS_TOKEN = 1,
    SBX_ENTRY_FOREIGN_HOST = 2, /* reading without a token under a name that is not this machine's loopback */
    SBX_ENTRY_FROM_PAGE = 3,    /* writing on behalf of a web page */
};

/* Headers are borrowed, NULL when the request has none. */
enum sbx_entry sbx_gate_check(const struct sbx_gate *gate, bool is_write, const char *authorization, const char *host,
                              const char *origin);

#endif
