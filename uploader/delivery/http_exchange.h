/* SPDX-License-Identifier: Apache-2.0 */
/* http_exchange.h - one request and its answer, limited in size and time. Only its implementation uses libcurl.
 *
 * This code runs in other people's processes, with their environment, and on networks that may answer anything. So
 * nothing is taken from the environment (proxy, netrc, key log), no redirect is followed, nothing is decompressed, and
 * plain http goes to this machine only. */
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
    const char *const *headers; /* "Name: value" strings, NULL after the last; NULL: none */
    const char *method;         /* NULL: POST if there is a body, else GET */
    bool asks_first;  /* wait for consent before the body (Expect: 100-continue): it may be large and refused */
    const void *body; /* NULL: none */
    size_t body_bytes;
    size_t answer_bytes_max; /* of the body; a longer answer counts as no answer */
    uint32_t timeout_ms;     /* for the whole exchange; 0: 60 s */
    uint32_t patience_s;     /* without a byte in either direction; 0: 30 s */
    const uint8_t (
        *pins)[32]; /* SHA-256 of public keys, of which the server must have one; NULL: any key it can prove */
    uint32_t pin_count;
    bool (*is_unwanted)(
        void *context); /* called several times a second during the exchange: true breaks it off; NULL: never */
    void (*progress)(void *context, uint64_t sent, uint64_t total); /* of the body, now and then; NULL: no report */
    void *context;                                                  /* passed to is_unwanted and progress */
};

struct sbx_http_reply {
    long status;             /* 0: there was no answer */
    size_t body_bytes;       /* bytes received; those that fit are in the caller's buffer */
    uint64_t retry_after_ms; /* from the server, at most 24 h; 0: none */
    char tag[80];            /* ETag; "": none, or too long */
    bool is_certain;         /* no other machine can have answered: it is this machine, or has a pinned key */
    char why[160];           /* if there was no answer: the reason, a sentence fragment */
};

/* Make the request. The answer's body goes to body_out[room] as far as it fits. Returns whether there was an answer.
 * Any thread. Blocks at most for the time-out. */
bool sbx_http_exchange(const struct sbx_http_question *question, uint8_t *body_out, size_t room,
                       struct sbx_http_reply *answer_out);

/* Returns the reason why nothing may be sent to this address, without trying it; NULL: the address may be used.
 * *is_local_out: it is this machine's own. */
const char *sbx_http_refusal(const char *server_url, bool *is_local_out);

/* From now on, accept only servers whose certificate is signed by one of these authorities, instead of the system's.
 * `pem` is copied; NULL: those of the system again. Not to be called during an exchange. Returns 0, -ENOMEM, or -EINVAL
 * if the text contains no certificate. */
SBX_MUST_CHECK int sbx_http_trust(const char *pem);

#endif
