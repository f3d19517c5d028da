/* SPDX-License-Identifier: Apache-2.0 */
/* gate.h - who may do what: a pure function of a request's headers.
 *
 *   writing   needs a token with a right to it when there is any token; never comes from a web page (a browser says so in
 *             Origin)
 *   reading   needs one unless the server listens on loopback only; then the request must be meant for loopback
 *             (Host), or a web page could read here under a name it made resolve to 127.0.0.1
 *
 * A token comes as "Authorization: Bearer TOKEN", or as the password of Basic, which is what browsers can ask for. */
#ifndef SBX_GATE_H
#define SBX_GATE_H

#include <stdbool.h>
#include <stddef.h>

/* What a token is for. One that may do everything has all bits. */
enum sbx_right {
    SBX_RIGHT_SEND = 1,    /* payloads, and requests to delete them */
    SBX_RIGHT_SYMBOLS = 2, /* symbol files and maps of names; and look at what is there of them */
    SBX_RIGHT_READ = 4,    /* pages and lists */
    SBX_RIGHT_ADMIN = 8,   /* whatever else there is: policies */
    SBX_RIGHT_ALL = 15,
};

struct sbx_token {
    char *text;
    unsigned rights; /* bits */
};

struct sbx_gate {
    const struct sbx_token *tokens; /* borrowed */
    size_t token_count;             /* 0: there is none, and none is asked for */
    bool is_loopback;
};

enum sbx_entry {
    SBX_ENTRY_ALLOWED = 0,
    SBX_ENTRY_NEEDS_TOKEN = 1,
    SBX_ENTRY_FOREIGN_HOST = 2, /* reading without a token under a name that is not this machine's loopback */
    SBX_ENTRY_FROM_PAGE = 3,    /* writing on behalf of a web page */
    SBX_ENTRY_NO_RIGHT = 4,     /* the token is for something else */
};

/* Which of the tokens is this text? *index_out: of gate->tokens. Takes as long for any text of a length. */
bool sbx_gate_find_token(const struct sbx_gate *gate, const char *text, size_t *index_out);

/* `rights`: one of these suffices. Headers are borrowed, NULL when the request has none. */
enum sbx_entry sbx_gate_check(const struct sbx_gate *gate, unsigned rights, bool is_write, const char *authorization,
                              const char *host, const char *origin);

#endif
