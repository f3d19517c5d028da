/* SPDX-License-Identifier: Apache-2.0 */
/* policy_fetch.h - one question to the server: is there another policy? */
#ifndef SBX_POLICY_FETCH_H
#define SBX_POLICY_FETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "keyset.h"
#include "signed_document.h"

enum sbx_fetch_verdict {
    SBX_FETCH_BUNDLE = 0, /* `bytes` of them came: nothing about them is believed yet */
    SBX_FETCH_SAME = 1,   /* the server says that it has the one of `tag` still */
    SBX_FETCH_NONE = 2,   /* it has none for this application */
    SBX_FETCH_FAILED = 3, /* no answer, or one that says nothing: ask again later */
};

struct sbx_fetch_result {
    enum sbx_fetch_verdict verdict;
    size_t byte_count;
    uint64_t retry_after_ms; /* from the server; 0: it said nothing */
    bool is_certain;         /* over a channel on which nobody else could answer */
    char tag[80];            /* of the bundle; "": it has none */
    char why[160];           /* when it failed: a sentence fragment */
};

/* GET SERVER/v1/policy/APP into bytes_out[SBX_BUNDLE_BYTES_MAX]. `tag` is that of the bundle known ("": none); the KEYSET's
 * pins are held to over https. Sends nothing about this machine. `timeout_ms` 0: a minute. Blocks; any thread. */
struct sbx_fetch_result sbx_policy_fetch(const char *server_url, const struct sbx_keyset *keyset, const char *tag,
                                         uint32_t timeout_ms, uint8_t *bytes_out);

/* Pure: how long until the server is asked for a policy again. `interval_ms`, a quarter more or less, so that a fleet
 * started at once does not ask at once; after `fails` failures in a row (0: it answered) sooner than that, at first:
 * half to all of 2, 4 ... 64 minutes; and not before `server_ms` (its Retry-After; 0: none) and some of the spread of
 * sbx_backoff_ms(). `random` is any 64 random bits. */
uint64_t sbx_policy_pause_ms(uint64_t interval_ms, uint32_t fails, uint64_t server_ms, uint64_t random);

#endif
