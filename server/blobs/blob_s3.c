/* SPDX-License-Identifier: Apache-2.0 */
/* blob_s3.c - three requests of S3: PUT, GET and DELETE of an object, addressed by path, signed by libcurl (AWS SigV4).
 *
 * Lists, multipart uploads and tags are not used, so that every compatible store will do. The signature covers the hash
 * of the body, so the store refuses a body that was changed on the way. Proxies are not used, and redirects are not
 * followed. */
#include <curl/curl.h>
#include <errno.h>
#include <mbedtls/sha256.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "blob_ways.h"
#include "s3_error.h"

enum {
    HANDLES_MAX = 32, /* connections kept for later requests */
    CONNECT_MS = 5000,
    REQUEST_MS = 30000,
    TRIES = 2, /* for reading and removing; a sender repeats the upload of a payload itself */
    PAUSE_MS = 200,
    ERROR_BYTES_MAX = 16384,
};

struct bucket {
    struct sbx_s3_url url;
    char *access, *secret;
    char signature[96];
    pthread_mutex_t lock;
    CURL *handles[HANDLES_MAX];
    size_t handle_count;
};

struct exchange {
    const char *method, *key;
    const void *bytes;
    size_t count;
    struct sbx_byte_buffer *out; /* receives the wanted body; NULL: no body is wanted */
    size_t max;
    bool is_too_large;
    long status; /* 0: there was no answer */
    CURLcode code;
    struct sbx_byte_buffer error; /* the body of an answer with another status */
    CURL *curl;
};

static size_t take_body(char *bytes, size_t one, size_t count, void *context)
{
    struct exchange *exchange = context;
    long status = 0;
    (void)one;
    curl_easy_getinfo(exchange->curl, CURLINFO_RESPONSE_CODE, &status);
    if (status == 200 && exchange->out) {
        if (count > exchange->max - exchange->out->used) {
            exchange->is_too_large = true;
            return 0;
        }
        sbx_byte_buffer_append(exchange->out, bytes, count);
        return exchange->out->failed ? 0 : count;
    }
    if (exchange->error.used + count <= ERROR_BYTES_MAX)
        sbx_byte_buffer_append(&exchange->error, bytes, count);
    return count;
}

static CURL *take_handle(struct bucket *bucket)
{
    CURL *handle = NULL;
    pthread_mutex_lock(&bucket->lock);
    if (bucket->handle_count > 0)
        handle = bucket->handles[--bucket->handle_count];
    pthread_mutex_unlock(&bucket->lock);
    return handle ? handle : curl_easy_init();
}

static void give_handle(struct bucket *bucket, CURL *handle)
{
    curl_easy_reset(handle); /* this keeps its connections */
    pthread_mutex_lock(&bucket->lock);
    bool is_kept = bucket->handle_count < HANDLES_MAX;
    if (is_kept)
        bucket->handles[bucket->handle_count++] = handle;
    pthread_mutex_unlock(&bucket->lock);
    if (!is_kept)
        curl_easy_cleanup(handle);
}

/* "x-amz-content-sha256: <hex>", the hash of the request body. */
static int print_hash(const void *bytes, size_t count, char header_out[96])
{
    unsigned char digest[32];
    if (mbedtls_sha256_ret(bytes ? bytes : (const void *)"", bytes ? count : 0, digest, 0) != 0)
        return -EIO;
    int used = snprintf(header_out, 96, "x-amz-content-sha256: ");
    for (size_t i = 0; i < sizeof(digest); i++)
        snprintf(header_out + used + 2 * i, 3, "%02x", digest[i]);
    return 0;
}

static int set_options(struct bucket *bucket, struct exchange *exchange, const char *url, struct curl_slist *headers)
{
    CURL *curl = exchange->curl;
    CURLcode code = CURLE_OK;
#define SET(option, value) \
    if (code == CURLE_OK)  \
    code = curl_easy_setopt(curl, option, value)
    SET(CURLOPT_URL, url);
    SET(CURLOPT_PROTOCOLS_STR, "http,https");
    SET(CURLOPT_PROXY, "");
    SET(CURLOPT_FOLLOWLOCATION, 0L);
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
    SET(CURLOPT_TIMEOUT_MS, (long)REQUEST_MS);
    SET(CURLOPT_AWS_SIGV4, bucket->signature);
    SET(CURLOPT_USERNAME, bucket->access);
    SET(CURLOPT_PASSWORD, bucket->secret);
    SET(CURLOPT_HTTPHEADER, headers);
    SET(CURLOPT_WRITEFUNCTION, take_body);
    SET(CURLOPT_WRITEDATA, exchange);
    SET(CURLOPT_USERAGENT, "stallbox");
    if (exchange->bytes) {
        SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)exchange->count);
        SET(CURLOPT_POSTFIELDS, exchange->bytes);
    }
    SET(CURLOPT_CUSTOMREQUEST, exchange->method);
#undef SET
    return code == CURLE_OK ? 0 : -EIO;
}

static int run(struct bucket *bucket, struct exchange *exchange)
{
    char url[sizeof(bucket->url.base) + SBX_BLOB_KEY_BYTES + 2], hash[96];
    snprintf(url, sizeof(url), "%s/%s", bucket->url.base, exchange->key);
    int result = print_hash(exchange->bytes, exchange->count, hash);
    struct curl_slist *headers = result == 0 ? curl_slist_append(NULL, hash) : NULL;
    struct curl_slist *more = headers ? curl_slist_append(headers, "Content-Type: application/octet-stream") : NULL;
    exchange->status = 0;
    exchange->error.used = 0;
    exchange->curl = more ? take_handle(bucket) : NULL;
    if (!exchange->curl) {
        curl_slist_free_all(headers);
        return -ENOMEM;
    }
    result = set_options(bucket, exchange, url, headers);
    if (result == 0) {
        exchange->code = curl_easy_perform(exchange->curl);
        if (exchange->code == CURLE_OK)
            curl_easy_getinfo(exchange->curl, CURLINFO_RESPONSE_CODE, &exchange->status);
    }
    give_handle(bucket, exchange->curl);
    curl_slist_free_all(headers);
    return result;
}

static int result_of(long status)
{
    switch (status) {
    case 200:
    case 204:
        return 0;
    case 404:
        return -ENOENT;
    case 401:
    case 403:
        return -EACCES;
    case 408:
    case 409: /* another request with the same key is running */
    case 425:
    case 429:
        return -EAGAIN;
    case 507:
        return -ENOSPC;
    default:
        return status >= 500 ? -EAGAIN : -EPROTO;
    }
}

static int say(const struct bucket *bucket, const struct exchange *exchange, int result, char *why, size_t why_bytes)
{
    char code[SBX_S3_CODE_BYTES];
    if (exchange->is_too_large) {
        snprintf(why, why_bytes, "%s %s/%s: larger than a blob may be", exchange->method, bucket->url.base,
                 exchange->key);
        return -EPROTO;
    }
    if (exchange->status == 0) {
        snprintf(why, why_bytes, "%s %s/%s: %s", exchange->method, bucket->url.base, exchange->key,
                 result == -ENOMEM ? "no memory" : curl_easy_strerror(exchange->code));
        return result == -ENOMEM ? result : -EAGAIN;
    }
    sbx_s3_error_code(exchange->error.data, exchange->error.used, code);
    snprintf(why, why_bytes, "%s %s/%s: %ld%s%s", exchange->method, bucket->url.base, exchange->key, exchange->status,
             *code ? " " : "", code);
    if (strcmp(code, "NoSuchBucket") == 0)
        return -EACCES;
    return result;
}

static int ask(struct bucket *bucket, struct exchange *exchange, unsigned tries, char *why, size_t why_bytes)
{
    int result = -EAGAIN;
    size_t before = exchange->out ? exchange->out->used : 0;
    exchange->max += before;
    for (unsigned i = 0; i < tries && result == -EAGAIN; i++) {
        if (i > 0)
            nanosleep(&(struct timespec){.tv_nsec = PAUSE_MS * 1000000l}, NULL);
        if (exchange->out)
            exchange->out->used = before;
        result = run(bucket, exchange);
        if (result == 0)
            result = exchange->status == 0 ? -EAGAIN : result_of(exchange->status);
        if (result < 0)
            result = say(bucket, exchange, result, why, why_bytes);
    }
    sbx_byte_buffer_finish(&exchange->error);
    return result;
}

static int put(void *self, const char *key, const void *bytes, size_t count, char *why, size_t why_bytes)
{
    struct exchange exchange = {.method = "PUT", .key = key, .bytes = bytes, .count = count};
    int result = ask(self, &exchange, 1, why, why_bytes);
    return result == -ENOENT ? -EACCES : result; /* there is no such bucket, and this server does not make buckets */
}

static int get(void *self, const char *key, size_t max, struct sbx_byte_buffer *out, char *why, size_t why_bytes)
{
    struct exchange exchange = {.method = "GET", .key = key, .out = out, .max = max};
    return ask(self, &exchange, TRIES, why, why_bytes);
}

static int remove_object(void *self, const char *key, char *why, size_t why_bytes)
{
    struct exchange exchange = {.method = "DELETE", .key = key};
    int result = ask(self, &exchange, TRIES, why, why_bytes);
    return result == -ENOENT ? 0 : result;
}

static void close_bucket(void *self)
{
    struct bucket *bucket = self;
    while (bucket->handle_count > 0)
        curl_easy_cleanup(bucket->handles[--bucket->handle_count]);
    pthread_mutex_destroy(&bucket->lock);
    if (bucket->secret)
        explicit_bzero(bucket->secret, strlen(bucket->secret));
    free(bucket->secret);
    free(bucket->access);
    free(bucket);
}

int sbx_blob_s3_open(const struct sbx_s3_url *url, const char *secret, void **self_out, char *why, size_t why_bytes)
{
    const char *space = secret ? strchr(secret, ' ') : NULL;
    if (!space || space == secret || !space[1]) {
        snprintf(why, why_bytes, "%s: an access key and a secret key are needed, with a blank between", url->base);
        return -EINVAL;
    }
    struct bucket *bucket = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK ? calloc(1, sizeof(*bucket)) : NULL;
    if (!bucket) {
        snprintf(why, why_bytes, "no memory");
        return -ENOMEM;
    }
    pthread_mutex_init(&bucket->lock, NULL);
    bucket->url = *url;
    bucket->access = strndup(secret, (size_t)(space - secret));
    bucket->secret = strdup(space + 1);
    snprintf(bucket->signature, sizeof(bucket->signature), "aws:amz:%s:s3", url->region);
    struct sbx_byte_buffer nothing = {0};
    int result = bucket->access && bucket->secret
                     ? get(bucket, "stallbox-is-this-our-bucket", 1 << 10, &nothing, why, why_bytes)
                     : -ENOMEM;
    sbx_byte_buffer_finish(&nothing);
    if (result < 0 && result != -ENOENT && result != -EAGAIN) {
        close_bucket(bucket);
        return result;
    }
    *self_out = bucket;
    return 0;
}

const struct sbx_blob_way sbx_blob_s3 = {put, get, remove_object, close_bucket};
