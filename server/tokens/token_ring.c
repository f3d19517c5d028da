/* SPDX-License-Identifier: Apache-2.0 */
/* token_ring.c - the tokens of the book and of the options, and when the book was last read. */
#include "token_ring.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "token_book.h"

/* Tells two states of a file apart: it is replaced as a whole, so a new state has another inode. */
struct look {
    dev_t device;
    ino_t inode;
    struct timespec changed;
    off_t bytes;
    bool is_there;
};

struct list {
    struct sbx_token *tokens;
    size_t count;
};

struct sbx_token_ring {
    char *path; /* path of the book; NULL: none */
    const struct sbx_operator_log *log;
    pthread_mutex_t lock; /* protects all below */
    struct list of_options, of_book;
    struct look look; /* state of the book when it was last read */
    int64_t looked_s; /* CLOCK_MONOTONIC */
};

static int64_t monotonic_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

static struct look look_at(const char *path)
{
    struct stat status;
    if (lstat(path, &status) < 0)
        return (struct look){.is_there = errno != ENOENT};
    return (struct look){status.st_dev, status.st_ino, status.st_ctim, status.st_size, true};
}

static bool is_same(const struct look *left, const struct look *right)
{
    return left->is_there == right->is_there && left->device == right->device && left->inode == right->inode &&
           left->changed.tv_sec == right->changed.tv_sec && left->changed.tv_nsec == right->changed.tv_nsec &&
           left->bytes == right->bytes;
}

/* Read the book if it has changed. The lock is held. */
static int renew(struct sbx_token_ring *ring, char *why, size_t why_bytes)
{
    struct list list = {NULL, 0};
    struct look look = look_at(ring->path);
    if (is_same(&look, &ring->look))
        return 0;
    ring->look = look; /* so that a bad book is logged once */
    int result = look.is_there ? sbx_token_book_read(ring->path, &list.tokens, &list.count, why, why_bytes) : 0;
    if (result == -ENOENT) /* removed since the look */
        result = 0;
    if (result < 0)
        return result;
    free(ring->of_book.tokens);
    ring->of_book = list;
    return 0;
}

/* The same, at most once a second. */
static void keep_up(struct sbx_token_ring *ring)
{
    char why[300] = "";
    int64_t now_s = monotonic_s();
    if (!ring->path || now_s == ring->looked_s)
        return;
    ring->looked_s = now_s;
    if (renew(ring, why, sizeof(why)) < 0)
        sbx_operator_log(ring->log, SBX_LOG_WARNING, "tokens", "%s; the tokens of before stand", why);
}

int sbx_token_ring_create(const char *path, const struct sbx_operator_log *log, struct sbx_token_ring **ring_out,
                          char *why, size_t why_bytes)
{
    struct sbx_token_ring *ring = calloc(1, sizeof(*ring));
    if (!ring || (path && !(ring->path = strdup(path)))) {
        free(ring);
        snprintf(why, why_bytes, "no memory");
        return -ENOMEM;
    }
    ring->log = log;
    pthread_mutex_init(&ring->lock, NULL);
    int result = path ? renew(ring, why, why_bytes) : 0;
    ring->looked_s = monotonic_s();
    if (result < 0) {
        sbx_token_ring_destroy(ring);
        return result;
    }
    *ring_out = ring;
    return 0;
}

void sbx_token_ring_destroy(struct sbx_token_ring *ring)
{
    if (!ring)
        return;
    pthread_mutex_destroy(&ring->lock);
    free(ring->of_options.tokens);
    free(ring->of_book.tokens);
    free(ring->path);
    free(ring);
}

int sbx_token_ring_add(struct sbx_token_ring *ring, const char *text, unsigned rights)
{
    struct sbx_token token = {.rights = rights};
    int result = sbx_token_digest(text, strlen(text), token.digest);
    if (result < 0)
        return result;
    pthread_mutex_lock(&ring->lock);
    struct sbx_token *grown =
        reallocarray(ring->of_options.tokens, ring->of_options.count + 1, sizeof(*ring->of_options.tokens));
    if (grown) {
        ring->of_options.tokens = grown;
        grown[ring->of_options.count++] = token;
    }
    pthread_mutex_unlock(&ring->lock);
    return grown ? 0 : -ENOMEM;
}

bool sbx_token_ring_has_any(struct sbx_token_ring *ring)
{
    pthread_mutex_lock(&ring->lock);
    keep_up(ring);
    bool has_any = ring->of_options.count + ring->of_book.count > 0;
    pthread_mutex_unlock(&ring->lock);
    return has_any;
}

bool sbx_token_ring_has_apps(struct sbx_token_ring *ring)
{
    bool has_apps = false;
    pthread_mutex_lock(&ring->lock);
    keep_up(ring);
    for (size_t i = 0; i < ring->of_book.count && !has_apps; i++)
        has_apps = ring->of_book.tokens[i].app_number != 0;
    pthread_mutex_unlock(&ring->lock);
    return has_apps;
}

/* Compare with all tokens, so that the time does not tell which one was nearly right. */
static void look_in(const struct list *list, const uint8_t *digest, const struct sbx_token **found)
{
    for (size_t i = 0; i < list->count; i++) {
        uint8_t difference = 0;
        for (size_t n = 0; n < SBX_TOKEN_DIGEST; n++)
            difference |= list->tokens[i].digest[n] ^ digest[n];
        if (difference == 0 && !*found)
            *found = &list->tokens[i];
    }
}

bool sbx_token_ring_find_digest(struct sbx_token_ring *ring, const uint8_t digest[SBX_TOKEN_DIGEST],
                                struct sbx_token *token_out)
{
    const struct sbx_token *found = NULL;
    pthread_mutex_lock(&ring->lock);
    keep_up(ring);
    look_in(&ring->of_options, digest, &found);
    look_in(&ring->of_book, digest, &found);
    bool is_found = found && (found->ends_s == 0 || time(NULL) < found->ends_s);
    if (is_found)
        *token_out = *found;
    pthread_mutex_unlock(&ring->lock);
    return is_found;
}

bool sbx_token_ring_find(struct sbx_token_ring *ring, const char *text, size_t bytes, struct sbx_token *token_out)
{
    uint8_t digest[SBX_TOKEN_DIGEST];
    return sbx_token_digest(text, bytes, digest) == 0 && sbx_token_ring_find_digest(ring, digest, token_out);
}
