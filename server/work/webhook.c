/* SPDX-License-Identifier: Apache-2.0 */
/* webhook.c - a signed POST. In this folder, only this file knows libcurl. */
#include "webhook.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <curl/curl.h>
#include <mbedtls/md.h>

enum {
    TIMEOUT_S = 10,
    MAC_BYTES = 32
};

struct sbx_webhook {
    char *url, *secret;
};

void sbx_webhook_destroy(struct sbx_webhook *webhook)
{
    if (!webhook)
        return;
    if (webhook->secret)
        explicit_bzero(webhook->secret, strlen(webhook->secret));
    free(webhook->secret);
    free(webhook->url);
    free(webhook);
}

struct sbx_webhook *sbx_webhook_create(const char *url, const char *secret)
{
    if (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0)
        return NULL;
    struct sbx_webhook *webhook = calloc(1, sizeof(*webhook));
    if (!webhook)
        return NULL;
    curl_global_init(CURL_GLOBAL_DEFAULT);
    webhook->url = strdup(url);
    webhook->secret = strdup(secret);
    if (!webhook->url || !webhook->secret) {
        sbx_webhook_destroy(webhook);
        return NULL;
    }
    return webhook;
}

void sbx_webhook_sign(const char *secret, int64_t now_s, const char *body, size_t bytes,
                      char out[SBX_WEBHOOK_SIGNATURE_BYTES])
{
    const mbedtls_md_info_t *sha256 = mbedtls_md_info_from_type(MBEDTLS_MD_SHA256);
    unsigned char mac[MAC_BYTES] = {0};
    char time[32];
    mbedtls_md_context_t context;
    int length = snprintf(time, sizeof(time), "%lld.", (long long)now_s);
    mbedtls_md_init(&context);
    bool is_made = mbedtls_md_setup(&context, sha256, 1) == 0 &&
                   mbedtls_md_hmac_starts(&context, (const unsigned char *)secret, strlen(secret)) == 0 &&
                   mbedtls_md_hmac_update(&context, (const unsigned char *)time, (size_t)length) == 0 &&
                   mbedtls_md_hmac_update(&context, (const unsigned char *)body, bytes) == 0 &&
                   mbedtls_md_hmac_finish(&context, mac) == 0;
    mbedtls_md_free(&context);
    length = snprintf(out, SBX_WEBHOOK_SIGNATURE_BYTES, "t=%lld,v1=", (long long)now_s);
    for (size_t i = 0; i < MAC_BYTES && is_made; i++)
        length += snprintf(out + length, SBX_WEBHOOK_SIGNATURE_BYTES - (size_t)length, "%02x", mac[i]);
}

static size_t drop_bytes(char *bytes, size_t size, size_t count, void *context)
{
    (void)bytes, (void)context;
    return size * count;
}

static bool set_up(CURL *curl, const struct sbx_webhook *webhook, struct curl_slist *headers, const char *body,
                   size_t bytes)
{
    return curl_easy_setopt(curl, CURLOPT_URL, webhook->url) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_TIMEOUT, (long)TIMEOUT_S) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_MAXFILESIZE, 65536L) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, drop_bytes) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE, (long)bytes) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body) == CURLE_OK;
}

/* Append a header; NULL when an earlier append failed. */
static struct curl_slist *add_header(struct curl_slist *headers, const char *header)
{
    struct curl_slist *longer = curl_slist_append(headers, header);
    if (!longer)
        curl_slist_free_all(headers);
    return longer;
}

int sbx_webhook_post(struct sbx_webhook *webhook, const char *body, size_t bytes, int64_t now_s, char *why,
                     size_t why_bytes)
{
    char signature[SBX_WEBHOOK_SIGNATURE_BYTES], header[SBX_WEBHOOK_SIGNATURE_BYTES + 32];
    long status = 0;
    CURL *curl = curl_easy_init();
    struct curl_slist *headers = add_header(NULL, "Content-Type: application/json");
    if (headers && *webhook->secret) {
        sbx_webhook_sign(webhook->secret, now_s, body, bytes, signature);
        snprintf(header, sizeof(header), "Stallbox-Signature: %s", signature);
        headers = add_header(headers, header);
    }
    CURLcode code = CURLE_OUT_OF_MEMORY;
    if (curl && headers && set_up(curl, webhook, headers, body, bytes))
        code = curl_easy_perform(curl);
    if (code == CURLE_OK)
        curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    curl_slist_free_all(headers);
    curl_easy_cleanup(curl);
    if (code == CURLE_OK && status >= 200 && status < 300)
        return 0;
    if (code == CURLE_OK)
        snprintf(why, why_bytes, "it answered %ld", status);
    else
        snprintf(why, why_bytes, "%s", curl_easy_strerror(code));
    return code == CURLE_OK && status >= 400 && status < 500 && status != 408 && status != 429 ? -EPROTO : -EAGAIN;
}

int64_t sbx_webhook_pause_s(int tries)
{
    static const int64_t pauses[] = {60, 300, 900, 3600, 7200, 14400, 28800, 28800};
    return tries >= 1 && tries <= (int)(sizeof(pauses) / sizeof(pauses[0])) ? pauses[tries - 1] : 0;
}
