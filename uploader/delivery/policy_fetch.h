/* SPDX-License-Identifier: Apache-2.0 */
/* policy_fetch.h - asks the server once whether there is another policy. */
#ifndef SBX_POLICY_FETCH_H
#define SBX_POLICY_FETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "keyset.h"
#include "signed_document.h"

enum sbx_fetch_verdict {
    SBX_FETCH_BUNDLE = 0, /* `bytes` were received; none of them is verified yet */
    SBX_FETCH_SAME = 1,   /* the server still has the one with `tag` */
    SBX_FETCH_NONE = 2,   /* it has none for this application */
    SBX_FETCH_FAILED = 3, /* no answer, or an unclear one: ask again later */
};

struct sbx_fetch_result {
    enum sbx_fetch_verdict verdict;
    size_t byte_count;
    uint64_t retry_after_ms; /* from the server; 0: none */
    bool is_certain;         /* over a channel on which no other machine can answer */
    char tag[80];            /* of the bundle; "": none */
    char why[160];           /* on failure: a sentence fragment */
};

/* GET SERVER/v1/policy/APP into bytes_out[SBX_BUNDLE_BYTES_MAX]. `tag` is that of the known bundle ("": none). Over
 * https, the server must have one of the KEYSET's pins. Sends nothing about this machine. `timeout_ms` 0: a minute.
 * Blocks. Any thread. */
struct sbx_fetch_result sbx_policy_fetch(const char *server_url, const struct sbx_keyset *keyset, const char *tag,
                                         uint32_t timeout_ms, uint8_t *bytes_out);

/* How long to wait until the server is asked for a policy again. Pure. After an answer: `interval_ms`, plus or minus a
 * quarter, so that a fleet that was started at once does not ask at once. After `fails` failures in a row (0: it
 * answered) at first sooner: half to all of 2, 4 ... 64 minutes. Never before `server_ms` (its Retry-After; 0: none)
 * plus some of the spread of sbx_backoff_ms(). `random` is any 64 random bits. */
uint64_t sbx_policy_pause_ms(uint64_t interval_ms, uint32_t fails, uint64_t server_ms, uint64_t random);

#endif
