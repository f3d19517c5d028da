/* SPDX-License-Identifier: Apache-2.0 */
/* http_client.c - uses libcurl with one handle for each request, so no state is shared between tests. */
#include "http_client.h"

#include <curl/curl.h>
#include <stdio.h>
#include <string.h>

static size_t collect(char *bytes, size_t size, size_t count, void *buffer)
{
    sbx_byte_buffer_append(buffer, bytes, size * count);
    return size * count;
}

struct answer ask(uint16_t port, const struct question *question)
{
    struct answer answer = {0};
    char url[512];
    CURL *curl = curl_easy_init();
    struct curl_slist *headers = curl_slist_append(NULL, "Expect:");
    if (question->header)
        headers = curl_slist_append(headers, question->header);
    if (question->other_header)
        headers = curl_slist_append(headers, question->other_header);
    if (question->is_chunked)
        headers = curl_slist_append(headers, "Transfer-Encoding: chunked");
    snprintf(url, sizeof(url), "http://127.0.0.1:%u%s", port, question->path);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_PROXY, "");
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT, 60L);
    curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, collect);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &answer.body);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, collect);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, &answer.headers);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    if (question->body) {
        curl_easy_setopt(curl, CURLOPT_POST, 1L);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, question->body);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)question->body_bytes);
    }
    if (question->method && strcmp(question->method, "HEAD") == 0)
        curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
    else if (question->method)
        curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, question->method);
    if (curl_easy_perform(curl) == CURLE_OK || answer.headers.used)
        curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &answer.status);
    curl_slist_free_all(headers);
    curl_easy_cleanup(curl);
    return answer;
}

struct answer get(uint16_t port, const char *path)
{
    return ask(port, &(struct question){.path = path});
}

struct answer get_of(uint16_t port, const char *prefix, const char *id, const char *suffix)
{
    char path[100];
    snprintf(path, sizeof(path), "%s%s%s", prefix, id, suffix);
    return get(port, path);
}

long status_of(uint16_t port, const char *prefix, const char *id, const char *suffix)
{
    struct answer answer = get_of(port, prefix, id, suffix);
    long status = answer.status;
    answer_finish(&answer);
    return status;
}

struct answer post(uint16_t port, const void *envelope, size_t bytes)
{
    return ask(port, &(struct question){.path = "/v1/snapshots", .body = envelope, .body_bytes = bytes});
}

void answer_finish(struct answer *answer)
{
    sbx_byte_buffer_finish(&answer->headers);
    sbx_byte_buffer_finish(&answer->body);
}

int answer_has(const struct answer *answer, const char *text)
{
    return answer->body.used && memmem(answer->body.data, answer->body.used, text, strlen(text)) != NULL;
}
