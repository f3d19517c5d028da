/* SPDX-License-Identifier: Apache-2.0 */
/* late_curl.c - the functions of libcurl that are called here (README.md). */
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <curl/curl.h>

#include "late_library.h"

/* These macros of curl check the types of arguments; without them the functions can be defined below. */
#undef curl_easy_setopt
#undef curl_easy_getinfo

static struct {
    __typeof__(&curl_global_init) global_init;
    __typeof__(&curl_easy_init) easy_init;
    __typeof__(&curl_easy_setopt) easy_setopt;
    __typeof__(&curl_easy_perform) easy_perform;
    __typeof__(&curl_easy_getinfo) easy_getinfo;
    __typeof__(&curl_easy_reset) easy_reset;
    __typeof__(&curl_easy_cleanup) easy_cleanup;
    __typeof__(&curl_easy_strerror) easy_strerror;
    __typeof__(&curl_slist_append) slist_append;
    __typeof__(&curl_slist_free_all) slist_free_all;
    __typeof__(&curl_url) url;
    __typeof__(&curl_url_set) url_set;
    __typeof__(&curl_url_get) url_get;
    __typeof__(&curl_url_cleanup) url_cleanup;
    __typeof__(&curl_free) free;
} real;
static bool is_here;

static void load(void)
{
    const struct sbx_late_function functions[] = {
        {"curl_global_init", &real.global_init},
        {"curl_easy_init", &real.easy_init},
        {"curl_easy_setopt", &real.easy_setopt},
        {"curl_easy_perform", &real.easy_perform},
        {"curl_easy_getinfo", &real.easy_getinfo},
        {"curl_easy_reset", &real.easy_reset},
        {"curl_easy_cleanup", &real.easy_cleanup},
        {"curl_easy_strerror", &real.easy_strerror},
        {"curl_slist_append", &real.slist_append},
        {"curl_slist_free_all", &real.slist_free_all},
        {"curl_url", &real.url},
        {"curl_url_set", &real.url_set},
        {"curl_url_get", &real.url_get},
        {"curl_url_cleanup", &real.url_cleanup},
        {"curl_free", &real.free},
    };
    is_here = sbx_late_library_load(LATE_SONAME, functions, sizeof functions / sizeof functions[0]);
}

static bool has_library(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return is_here;
}

/* ---- functions that may be called first ---- */

CURLcode curl_global_init(long flags)
{
    return has_library() ? real.global_init(flags) : CURLE_FAILED_INIT;
}

CURL *curl_easy_init(void)
{
    return has_library() ? real.easy_init() : NULL;
}

struct curl_slist *curl_slist_append(struct curl_slist *list, const char *line)
{
    return has_library() ? real.slist_append(list, line) : NULL;
}

CURLU *curl_url(void)
{
    return has_library() ? real.url() : NULL;
}

const char *curl_easy_strerror(CURLcode code)
{
    return has_library() ? real.easy_strerror(code) : "libcurl is not here";
}

/* ---- functions that free: NULL if the library was never loaded ---- */

void curl_easy_cleanup(CURL *curl)
{
    if (curl != NULL) {
        real.easy_cleanup(curl);
    }
}

void curl_slist_free_all(struct curl_slist *list)
{
    if (list != NULL) {
        real.slist_free_all(list);
    }
}

void curl_url_cleanup(CURLU *url)
{
    if (url != NULL) {
        real.url_cleanup(url);
    }
}

void curl_free(void *text)
{
    if (text != NULL) {
        real.free(text);
    }
}

/* ---- functions that need an object of the library ---- */

/* Every option, and every place for a result, is one word: a number, a pointer, a curl_off_t. */
CURLcode curl_easy_setopt(CURL *curl, CURLoption option, ...)
{
    va_list arguments;
    va_start(arguments, option);
    void *word = va_arg(arguments, void *);
    va_end(arguments);
    return real.easy_setopt(curl, option, word);
}

CURLcode curl_easy_getinfo(CURL *curl, CURLINFO info, ...)
{
    va_list arguments;
    va_start(arguments, info);
    void *place = va_arg(arguments, void *);
    va_end(arguments);
    return real.easy_getinfo(curl, info, place);
}

CURLcode curl_easy_perform(CURL *curl)
{
    return real.easy_perform(curl);
}

void curl_easy_reset(CURL *curl)
{
    real.easy_reset(curl);
}

CURLUcode curl_url_set(CURLU *url, CURLUPart part, const char *text, unsigned flags)
{
    return real.url_set(url, part, text, flags);
}

#if LIBCURL_VERSION_NUM >= 0x080000
CURLUcode curl_url_get(const CURLU *url, CURLUPart part, char **text_out, unsigned flags)
#else
CURLUcode curl_url_get(CURLU *url, CURLUPart part, char **text_out, unsigned flags)
#endif
{
    return real.url_get(url, part, text_out, flags);
}
