/* SPDX-License-Identifier: Apache-2.0 */
/* s3_url.c - an own parser, because only a few of the possible URLs are allowed. */
#include "s3_url.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";

static int refuse(const char *text, const char *reason, char *why, size_t why_bytes)
{
    snprintf(why, why_bytes, "\"%.200s\" %s", text, reason);
    return -EINVAL;
}

/* "127.0.0.1:80", "localhost", "[::1]:80": names of this machine. */
static bool is_loopback(const char *host, size_t bytes)
{
    size_t name = host[0] == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":/?");
    name = name < bytes ? name : bytes;
    return (name == 9 && strncmp(host, "localhost", 9) == 0) || (name == 5 && strncmp(host, "[::1]", 5) == 0) ||
           (strncmp(host, "127.", 4) == 0 && strspn(host, "0123456789.") == name);
}

/* "bucket/prefix/more": parts of plain letters. */
static bool is_path(const char *path, size_t bytes)
{
    size_t part = 0;
    for (size_t i = 0; i <= bytes; i++) {
        if (i < bytes && path[i] != '/') {
            part += strchr(letters, path[i]) ? 1 : 1000;
        } else {
            if (part == 0 || part > 255 || path[i - part] == '.')
                return false;
            part = 0;
        }
    }
    return true;
}

int sbx_s3_url_read(const char *text, struct sbx_s3_url *url_out, char *why, size_t why_bytes)
{
    bool is_plain = strncmp(text, "http://", 7) == 0;
    if (!is_plain && strncmp(text, "https://", 8) != 0)
        return refuse(text, "is neither a folder (/DIR) nor a bucket (https://HOST/BUCKET)", why, why_bytes);
    const char *host = text + (is_plain ? 7 : 8), *path = strchr(host, '/');
    size_t host_bytes = path ? (size_t)(path - host) : strlen(host);
    if (host_bytes == 0 || memchr(host, '@', host_bytes))
        return refuse(text, "has no host, or a secret in it: a secret goes into a file", why, why_bytes);
    for (size_t i = 0; i < host_bytes; i++)
        if (!strchr(letters, host[i]) && !strchr(":[]", host[i]))
            return refuse(text, "has a host that is none", why, why_bytes);
    if (is_plain && !is_loopback(host, host_bytes))
        return refuse(text, "is not encrypted: http goes to this machine only, use https", why, why_bytes);
    const char *query = path ? strchr(path, '?') : NULL;
    size_t bytes = path ? query ? (size_t)(query - text) : strlen(text) : 0;
    while (path && bytes > 0 && text + bytes - 1 > path && text[bytes - 1] == '/')
        bytes--;
    if (!path || !is_path(path + 1, bytes - (size_t)(path + 1 - text)))
        return refuse(text, "names no bucket: https://HOST/BUCKET[/PREFIX]", why, why_bytes);
    if (bytes >= sizeof(url_out->base))
        return refuse(text, "is too long", why, why_bytes);
    snprintf(url_out->base, sizeof(url_out->base), "%.*s", (int)bytes, text);
    snprintf(url_out->region, sizeof(url_out->region), "us-east-1");
    if (!query)
        return 0;
    const char *region = strncmp(query, "?region=", 8) == 0 ? query + 8 : "";
    if (!*region || strlen(region) >= sizeof(url_out->region) || strspn(region, letters) != strlen(region))
        return refuse(text, "has an argument that is not region=NAME", why, why_bytes);
    snprintf(url_out->region, sizeof(url_out->region), "%s", region);
    return 0;
}
