/* SPDX-License-Identifier: Apache-2.0 */
/* policy_fetch.c - the request, and the meaning of its answers. */
#include "policy_fetch.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "deliver.h"
#include "http_exchange.h"

struct sbx_fetch_result sbx_policy_fetch(const char *server_url, const struct sbx_keyset *keyset, const char *tag,
                                         uint32_t timeout_ms, uint8_t *bytes_out)
{
    struct sbx_fetch_result result = {.verdict = SBX_FETCH_FAILED};
    struct sbx_http_reply answer;
    char path[64] = "/v1/policy/", known[100];
    for (size_t i = 0, at = strlen(path); i < SBX_APP_ID_BYTES; i++, at += 2) {
        snprintf(path + at, 3, "%02x", keyset->app_id[i]);
    }
    snprintf(known, sizeof known, "If-None-Match: %s", tag);
    const char *const headers[] = {tag[0] != '\0' ? known : NULL, NULL};
    const struct sbx_http_question question = {
        .server_url = server_url,
        .path = path,
        .headers = headers,
        .answer_bytes_max = SBX_BUNDLE_BYTES_MAX,
        .timeout_ms = timeout_ms,
        .pins = keyset->pin_count != 0 && strncasecmp(server_url, "https:", 6) == 0 ? keyset->pins : NULL,
        .pin_count = strncasecmp(server_url, "https:", 6) == 0 ? keyset->pin_count : 0,
    };
    if (!sbx_http_exchange(&question, bytes_out, SBX_BUNDLE_BYTES_MAX, &answer)) {
        memcpy(result.why, answer.why, sizeof result.why);
        result.retry_after_ms = answer.retry_after_ms;
        return result;
    }
    result.retry_after_ms = answer.retry_after_ms;
    result.is_certain = answer.is_certain;
    if (answer.status == 200 && answer.body_bytes > 0) {
        result.verdict = SBX_FETCH_BUNDLE;
        result.byte_count = answer.body_bytes;
        memcpy(result.tag, answer.tag, sizeof result.tag);
    } else if (answer.status == 304 && tag[0] != '\0') {
        result.verdict = SBX_FETCH_SAME;
    } else if (answer.status == 404) {
        result.verdict = SBX_FETCH_NONE;
    } else {
        snprintf(result.why, sizeof result.why, "HTTP %ld", answer.status);
    }
    return result;
}

uint64_t sbx_policy_pause_ms(uint64_t interval_ms, uint32_t fails, uint64_t server_ms, uint64_t random)
{
    uint64_t part = random & UINT32_MAX, pause_ms = interval_ms * 3 / 4 + interval_ms / 2 * part / UINT32_MAX;
    if (fails != 0) {
        uint64_t soon_ms = UINT64_C(60000) << (fails < 6 ? fails : 6);
        soon_ms = soon_ms / 2 + soon_ms / 2 * part / UINT32_MAX;
        pause_ms = soon_ms < pause_ms ? soon_ms : pause_ms;
    }
    uint64_t asked_ms = server_ms != 0 ? sbx_backoff_ms(1, server_ms, random) : 0;
    return asked_ms > pause_ms ? asked_ms : pause_ms;
}
