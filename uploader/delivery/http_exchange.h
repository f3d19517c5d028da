/* SPDX-License-Identifier: Apache-2.0 */
/* http_exchange.h - one request and its answer, bounded in size and time. The only file behind it knows libcurl.
 *
 * It runs in processes that are not ours, with an environment that is not ours, against networks that answer whatever
 * they like. So nothing is taken from the environment (proxy, netrc, key log), no redirect is followed, nothing is
 * decompressed, and plain http goes to this machine only. */
#ifndef SBX_HTTP_EXCHANGE_H
#define SBX_HTTP_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "marks.h"

struct sbx_http_question {      /* all borrowed */
    const char *server_url;     /* "https://host[:port][/prefix]" */
    const char *path;           /* "/v1/..." */
    const char *token;          /* NULL: none is sent */
    const char *const *headers; /* "Name: value"s, NULL behind the last; NULL: none */
    const char *method;         /* NULL: GET, or POST where there is a body */
    bool
        asks_first; /* wait for the server's word before the body (Expect: 100-continue): it may be large and refused */
    const void *body; /* NULL: none */
    size_t body_bytes;
    size_t answer_bytes_max; /* of the body; an answer with more is none */
    uint32_t timeout_ms;     /* for the whole; 0: 60 s */
    uint32_t patience_s;     /* without a byte in either direction; 0: 30 s */
    const uint8_t (
        *pins)[32]; /* SHA-256 of the public keys one of which the server must have; NULL: any it can prove */
    uint32_t pin_count;
    bool (*is_unwanted)(
        void *context); /* asked several times a second while it lasts: true breaks it off; NULL: never */
    void (*progress)(void *context, uint64_t sent,
                     uint64_t total); /* of the body, now and then; NULL: nobody is told */
    void *context;                    /* handed to is_unwanted and progress */
};

struct sbx_http_reply {
    long status;             /* 0: there was no answer */
    size_t body_bytes;       /* really received; what fits is in the caller's bytes */
    uint64_t retry_after_ms; /* from the server, clamped to 24 h; 0: it said nothing */
    char tag[80];            /* ETag; "": none, or too long */
    bool is_certain;         /* nobody between could have answered: this machine, or a pinned key */
    char why[160];           /* when there was no answer: the reason, a sentence fragment */
};

/* Ask. The answer's body goes to body_out[room], as far as it fits. Returns whether there was an answer. Any thread; blocks
 * for the time-out at most. */
bool sbx_http_exchange(const struct sbx_http_question *question, uint8_t *body_out, size_t room,
                       struct sbx_http_reply *answer_out);

/* Why nothing would be sent to this address, which is known before anything is tried; NULL: it may be. *is_local_out: it is
 * this machine's own. */
const char *sbx_http_refusal(const char *server_url, bool *is_local_out);

/* From now on believe only servers whose certificate one of these authorities has signed, instead of those of the
 * system. `pem` is copied; NULL: those of the system again. Not while an exchange is going on. 0, or -ENOMEM, or
 * -EINVAL when it is no text with a certificate in it. */
SBX_MUST_CHECK int sbx_http_trust(const char *pem);

#endif
