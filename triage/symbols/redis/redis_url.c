/* SPDX-License-Identifier: Apache-2.0 */
/* redis_url.c - the form in which an operator writes the address of Redis. */
#include "redis_url.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char one[] = "redis://", cluster[] = "redis+cluster://", socket_path[] = "unix:";

static bool begins(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool sbx_redis_url_is(const char *text)
{
    return begins(text, one) || begins(text, cluster) || begins(text, socket_path);
}

/* A decimal number of `bytes` bytes, at most `max`. */
static bool read_number(const char *text, size_t bytes, unsigned max, unsigned *out)
{
    unsigned long number = 0;
    for (size_t i = 0; i < bytes; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return false;
        }
        number = number * 10 + (unsigned long)(text[i] - '0');
        if (number > max) {
            return false;
        }
    }
    *out = (unsigned)number;
    return bytes > 0;
}

/* HOST, HOST:PORT or [ADDRESS]:PORT of `bytes` bytes. */
static bool read_address(const char *text, size_t bytes, struct sbx_redis_address *out)
{
    const char *host = text, *end = text + bytes, *behind;
    if (bytes > 0 && text[0] == '[') {
        host++;
        behind = memchr(host, ']', bytes - 1);
        if (behind == NULL) {
            return false;
        }
    } else {
        behind = memchr(text, ':', bytes);
        behind = behind == NULL ? end : behind;
    }
    size_t host_bytes = (size_t)(behind - host);
    if (host_bytes == 0 || host_bytes >= sizeof out->host || memchr(host, '/', host_bytes) != NULL) {
        return false;
    }
    memcpy(out->host, host, host_bytes);
    out->host[host_bytes] = '\0';
    out->port = SBX_REDIS_PORT;
    behind += behind < end && *behind == ']';
    return behind == end ||
           (*behind == ':' && read_number(behind + 1, (size_t)(end - behind - 1), 65535, &out->port) && out->port > 0);
}

/* Read the part after the scheme, for a server or a cluster. Returns the error as text, or NULL. */
static const char *read_servers(const char *text, size_t bytes, struct sbx_redis_url *url)
{
    const char *at = memchr(text, '@', bytes), *end = text + bytes;
    if (at != NULL) {
        size_t user = (size_t)(at - text);
        if (memchr(text, ':', user) != NULL) {
            return "a password does not belong where everybody can read it: put it into a file and name that in "
                   "STALLBOX_REDIS_PASSWORD_FILE";
        }
        if (user == 0 || user >= sizeof url->user) {
            return "there is no user's name before '@'";
        }
        memcpy(url->user, text, user);
        text = at + 1;
    }
    const char *slash = memchr(text, '/', (size_t)(end - text));
    if (slash != NULL && slash + 1 < end) {
        if (url->is_cluster) {
            return "a cluster has one database alone";
        }
        if (!read_number(slash + 1, (size_t)(end - slash - 1), 65535, &url->database)) {
            return "behind '/' the number of a database is wanted";
        }
    }
    end = slash == NULL ? end : slash;
    while (text <= end) {
        const char *comma = memchr(text, ',', (size_t)(end - text));
        const char *behind = comma == NULL ? end : comma;
        if (url->seed_count == SBX_REDIS_SEEDS_MAX) {
            return "it names too many servers";
        }
        if (!read_address(text, (size_t)(behind - text), &url->seeds[url->seed_count])) {
            return "HOST:PORT is wanted";
        }
        url->seed_count++;
        text = behind + 1;
    }
    return url->seed_count > 1 && !url->is_cluster ? "several servers are a cluster: redis+cluster://" : NULL;
}

int sbx_redis_url_parse(const char *text, struct sbx_redis_url *url_out, char *why, size_t why_bytes)
{
    const char *wrong = NULL, *query = strchr(text, '?');
    struct sbx_redis_url url = {.is_cluster = begins(text, cluster)};
    size_t bytes = query == NULL ? strlen(text) : (size_t)(query - text);
    if (query != NULL &&
        (!begins(query, "?ttl=") || !read_number(query + 5, strlen(query + 5), SBX_REDIS_TTL_DAYS_MAX, &url.ttl_days) ||
         url.ttl_days == 0)) {
        wrong = "behind '?' ttl=DAYS is wanted";
    } else if (begins(text, socket_path)) {
        size_t path = bytes - strlen(socket_path);
        if (path == 0 || path >= sizeof url.seeds[0].host) {
            wrong = "the path of a socket is wanted";
        } else {
            memcpy(url.seeds[0].host, text + strlen(socket_path), path);
            url.seed_count = 1;
        }
    } else if (url.is_cluster || begins(text, one)) {
        size_t scheme = url.is_cluster ? strlen(cluster) : strlen(one);
        wrong = read_servers(text + scheme, bytes - scheme, &url);
    } else {
        wrong = "redis://, redis+cluster:// or unix: is wanted";
    }
    if (wrong != NULL) {
        snprintf(why, why_bytes, "%s", wrong);
        return -EINVAL;
    }
    *url_out = url;
    return 0;
}

int sbx_redis_url_read_password(struct sbx_redis_url *url, char *why, size_t why_bytes)
{
    const char *path = getenv("STALLBOX_REDIS_PASSWORD_FILE"), *word = getenv("STALLBOX_REDIS_PASSWORD");
    struct stat status;
    if (path == NULL) {
        size_t bytes = word == NULL ? 0 : strlen(word);
        if (bytes >= sizeof url->password) {
            snprintf(why, why_bytes, "the password in STALLBOX_REDIS_PASSWORD is too long");
            return -EINVAL;
        }
        memcpy(url->password, word == NULL ? "" : word, bytes + 1);
        return 0;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &status) != 0) {
        int result = -errno;
        snprintf(why, why_bytes, "%s: %s", path, strerror(-result));
        if (fd >= 0) {
            close(fd);
        }
        return result;
    }
    if (S_ISREG(status.st_mode) && (status.st_mode & (S_IRGRP | S_IROTH | S_IWGRP | S_IWOTH)) != 0) {
        snprintf(why, why_bytes, "%s: others may read or write it; use chmod 600", path);
        close(fd);
        return -EPERM;
    }
    ssize_t got = read(fd, url->password, sizeof url->password - 1);
    close(fd);
    url->password[got > 0 ? got : 0] = '\0';
    url->password[strcspn(url->password, "\r\n")] = '\0';
    if (got <= 0 || url->password[0] == '\0' || got == (ssize_t)sizeof url->password - 1) {
        snprintf(why, why_bytes, "%s: one line with a password is wanted", path);
        return -EINVAL;
    }
    return 0;
}
