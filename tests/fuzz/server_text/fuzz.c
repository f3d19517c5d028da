/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz.c - text from outside at the server: in pages and documents, and as headers, ids and addresses.
 *
 * Properties: the output of the HTML writer has no markup and no harmful character of the input; a JSON string ends at
 * its end; no header except the token opens the gate. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "active_replies.h"
#include "erasure_request.h"
#include "fuzz_target.h"
#include "gate.h"
#include "html_writer.h"
#include "json_document.h"
#include "listener.h"
#include "snapshot_id.h"
#include "utf8.h"

static void must_be_showable(const char *text, size_t bytes)
{
    size_t skip;
    for (size_t at = 0; at < bytes; at += skip)
        MUST(sbx_utf8_showable(text + at, bytes - at, &skip) > 0);
}

static void check_page(const char *text)
{
    struct sbx_byte_buffer page = {0};
    sbx_html_text(&page, text);
    sbx_html_url_part(&page, text);
    MUST(!page.failed);
    if (page.used) {
        MUST(strpbrk(page.data, "<>\"'") == NULL && strlen(page.data) == page.used);
        must_be_showable(page.data, page.used);
        for (const char *at = page.data; (at = strchr(at, '&')) != NULL; at++)
            MUST(strncmp(at, "&amp;", 5) == 0 || strncmp(at, "&lt;", 4) == 0 || strncmp(at, "&gt;", 4) == 0 ||
                 strncmp(at, "&quot;", 6) == 0 || strncmp(at, "&#39;", 5) == 0);
    }
    sbx_byte_buffer_finish(&page);
}

static void check_document(const char *text)
{
    struct sbx_document json = {0};
    sbx_document_string(&json, NULL, text);
    size_t at = 1;
    MUST(json.text.used >= 2 && json.text.data[0] == '"');
    while (json.text.data[at] != '"')
        at += json.text.data[at] == '\\' ? 2 : 1;
    MUST(at + 1 == json.text.used);
    MUST(strchr(json.text.data, '<') == NULL);
    must_be_showable(json.text.data, json.text.used);
    sbx_byte_buffer_finish(&json.text);
}

static void check_gate(const char *text)
{
    static char secret[] = "a token nobody guesses, 0123456789";
    static struct sbx_token_ring *ring;
    char why[200];
    struct sbx_token token;
    if (!ring) {
        MUST(sbx_token_ring_create(NULL, NULL, &ring, why, sizeof(why)) == 0);
        MUST(sbx_token_ring_add(ring, secret, SBX_RIGHT_ALL) == 0);
    }
    const struct sbx_gate gate = {.tokens = ring, .is_loopback = false};
    const struct sbx_gate open_gate = {.is_loopback = true};
    bool is_known = sbx_gate_token(&gate, text, &token);
    MUST(sbx_gate_check(&gate, SBX_RIGHT_SEND, true, is_known ? &token : NULL, text, NULL) == SBX_ENTRY_NEEDS_TOKEN ||
         strstr(text, "0123456789") || strncasecmp(text, "Basic ", 6) == 0);
    if (sbx_gate_check(&open_gate, SBX_RIGHT_READ, false, NULL, text, NULL) == SBX_ENTRY_ALLOWED)
        MUST(strncmp(text, "127.", 4) == 0 || strncasecmp(text, "localhost", 9) == 0 || strncmp(text, "[::1]", 5) == 0);
}

static void check_id(const char *text, size_t bytes)
{
    uint8_t id[SBX_ID_BYTES];
    char back[SBX_ID_TEXT_BYTES];
    if (!sbx_id_parse(text, bytes, id))
        return;
    sbx_id_print(id, back);
    MUST(bytes == 32 && memcmp(back, text, 32) == 0);
}

/* An accepted text is the same when it is printed again. */
static void check_erasures(const char *text, size_t bytes)
{
    uint8_t proofs[SBX_ERASURES_MAX][SBX_ERASURE_PROOF_BYTES];
    size_t count = sbx_erasure_request_read(text, bytes, proofs);
    MUST(count <= SBX_ERASURES_MAX && (count == 0 || bytes == count * 65));
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < SBX_ERASURE_PROOF_BYTES; k++) {
            char hex[3];
            snprintf(hex, sizeof(hex), "%02x", proofs[i][k]);
            MUST(memcmp(text + 65 * i + 2 * k, hex, 2) == 0);
        }
}

/* The same. */
static void check_machine_day(const char *text, size_t bytes)
{
    uint64_t app;
    char version[SBX_ACTIVE_VERSION_BYTES], back[SBX_ACTIVE_BODY_MAX + 1];
    if (!sbx_active_request_read(text, bytes, &app, version))
        return;
    int used = snprintf(back, sizeof(back), "app=%010llx&version=%s", (unsigned long long)app, version);
    MUST((size_t)used == bytes && memcmp(back, text, bytes) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char why[200];
    bool is_loopback;
    char *text = malloc(bytes + 1);
    MUST(text != NULL);
    memcpy(text, data, bytes);
    text[bytes] = '\0';
    check_page(text);
    check_document(text);
    check_gate(text);
    check_id(text, bytes);
    check_erasures(text, bytes);
    check_machine_day(text, bytes);
    (void)sbx_listen_is_loopback(text, &is_loopback, why, sizeof(why));
    free(text);
    return 0;
}
