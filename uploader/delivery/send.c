/* SPDX-License-Identifier: Apache-2.0 */
/* send.c - one attempt to deliver one payload, and the meaning of the answer. Only the one agreed answer counts as
 * delivered. */
#include <stdio.h>
#include <string.h>

#include "deliver.h"
#include "envelope_format.h"
#include "http_exchange.h"

enum {
    ANSWER_BYTES_MAX = 64 << 10, /* our server's answer has 50 bytes */
    STORED_BYTES = sizeof SBX_STORED_PREFIX - 1 + 2 * SBX_PAYLOAD_ID_BYTES + 1,
};

static const uint64_t gone_ms = 86400000;

/* The answer. */
struct answer {
    struct sbx_http_reply http;
    char body[STORED_BYTES + 1]; /* as many bytes as can matter */
};

static bool is_stored(const struct answer *answer, const char *id_hex)
{
    char expected[STORED_BYTES + 1];
    snprintf(expected, sizeof expected, "%s%s\n", SBX_STORED_PREFIX, id_hex);
    return answer->http.body_bytes == STORED_BYTES && memcmp(answer->body, expected, STORED_BYTES) == 0;
}

/* Does this status concern the payload itself, so that the same bytes will be refused again? Not 401, 403, 404 and
 * similar ones: they mean a wrong token or a wrong address. When a person corrects it, the payloads must still be
 * there. */
static bool is_about_payload(long status)
{
    return status == 400 || status == 409 || status == 413 || status == 415 || status == 422;
}

/* Decides what an answer means. A payload is given up only if it is sure that the same bytes will be refused again. */
static void judge(const struct answer *answer, const char *id_hex, struct sbx_send_result *result)
{
    long status = result->http_status;
    result->retry_after_ms = answer->http.retry_after_ms;
    result->verdict = SBX_SEND_LATER;
    if (status == 200 || status == 201) {
        if (is_stored(answer, id_hex)) {
            result->verdict = SBX_SEND_STORED;
            snprintf(result->why, sizeof result->why, "stored");
        } else {
            snprintf(result->why, sizeof result->why,
                     "HTTP %ld, but not the answer of a Stallbox server (a captive portal or a wrong address?)",
                     status);
        }
    } else if (is_about_payload(status)) {
        result->verdict = SBX_SEND_NEVER;
        snprintf(result->why, sizeof result->why, "HTTP %ld: refused by the server", status);
    } else if (status == 401 || status == 403 || status == 404) {
        snprintf(result->why, sizeof result->why, "HTTP %ld: is the token or the address wrong?", status);
    } else if (status == 410) {
        /* This server no longer accepts payloads. They are kept, and the server is asked again after a day, in case the
         * answer was a mistake. */
        result->retry_after_ms = gone_ms;
        snprintf(result->why, sizeof result->why, "HTTP 410: the server takes no more; asked again in a day");
    } else if (status >= 300 && status < 400) {
        snprintf(result->why, sizeof result->why, "HTTP %ld: redirected, which is not followed", status);
    } else {
        snprintf(result->why, sizeof result->why, "HTTP %ld", status);
    }
}

struct sbx_send_result sbx_send_to(const struct sbx_destination *to, const uint8_t id[16], const void *envelope,
                                   size_t bytes)
{
    struct sbx_send_result result = {.verdict = SBX_SEND_LATER};
    struct answer answer;
    char id_hex[2 * SBX_PAYLOAD_ID_BYTES + 1], id_line[64];
    for (int i = 0; i < SBX_PAYLOAD_ID_BYTES; i++) {
        snprintf(id_hex + 2 * i, 3, "%02x", id[i]);
    }
    snprintf(id_line, sizeof id_line, "X-Stallbox-Payload-Id: %s", id_hex);
    const char *const headers[] = {"Content-Type: application/x-stallbox-envelope", id_line, NULL};
    const struct sbx_http_question question = {
        .server_url = to->url,
        .path = "/v1/snapshots",
        .token = to->token,
        .pins = to->pins,
        .pin_count = to->pin_count,
        .is_unwanted = to->is_unwanted,
        .context = to->context,
        .headers = headers,
        .body = envelope,
        .body_bytes = bytes,
        .answer_bytes_max = ANSWER_BYTES_MAX,
    };
    if (sbx_http_exchange(&question, (uint8_t *)answer.body, sizeof answer.body, &answer.http)) {
        result.http_status = answer.http.status;
        judge(&answer, id_hex, &result);
    } else {
        result.retry_after_ms = answer.http.retry_after_ms;
        snprintf(result.why, sizeof result.why, "%s", answer.http.why);
    }
    return result;
}

struct sbx_send_result sbx_send(const char *server_url, const char *token, const uint8_t id[16], const void *envelope,
                                size_t bytes)
{
    return sbx_send_to(&(struct sbx_destination){.url = server_url, .token = token}, id, envelope, bytes);
}
