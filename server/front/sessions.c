/* SPDX-License-Identifier: Apache-2.0 */
/* sessions.c - a table of random numbers and the times when they end. */
#include "sessions.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "snapshot_id.h"

enum {
    SECRET_BYTES = (SBX_SESSION_TEXT_BYTES - 1) / 2,
    FAILURES_MAX = 30,
    FAILURE_EVERY_S = 2
};

struct session {
    char text[SBX_SESSION_TEXT_BYTES]; /* "": this place is free */
    int64_t begun_s;
    uint8_t token[SBX_TOKEN_DIGEST];
};

struct sbx_sessions {
    pthread_mutex_t lock; /* protects all members below */
    size_t max;
    int64_t failures, failed_s; /* wrong tokens that still count, and the time of that count */
    struct session each[];
};

struct sbx_sessions *sbx_sessions_create(size_t max)
{
    struct sbx_sessions *sessions = calloc(1, sizeof(*sessions) + max * sizeof(sessions->each[0]));
    if (!sessions)
        return NULL;
    sessions->max = max;
    pthread_mutex_init(&sessions->lock, NULL);
    return sessions;
}

void sbx_sessions_destroy(struct sbx_sessions *sessions)
{
    if (!sessions)
        return;
    pthread_mutex_destroy(&sessions->lock);
    explicit_bzero(sessions->each, sessions->max * sizeof(sessions->each[0]));
    free(sessions);
}

int sbx_sessions_open(struct sbx_sessions *sessions, const uint8_t token[SBX_TOKEN_DIGEST], int64_t now_s,
                      char text_out[SBX_SESSION_TEXT_BYTES])
{
    uint8_t secret[SECRET_BYTES];
    if (getrandom(secret, sizeof(secret), 0) != (ssize_t)sizeof(secret))
        return -EAGAIN;
    sbx_hex_print(secret, sizeof(secret), text_out);
    explicit_bzero(secret, sizeof(secret));
    pthread_mutex_lock(&sessions->lock);
    struct session *place = &sessions->each[0];
    for (size_t i = 0; i < sessions->max && *place->text; i++)
        if (!*sessions->each[i].text || sessions->each[i].begun_s < place->begun_s)
            place = &sessions->each[i];
    memcpy(place->text, text_out, SBX_SESSION_TEXT_BYTES);
    place->begun_s = now_s;
    memcpy(place->token, token, SBX_TOKEN_DIGEST);
    pthread_mutex_unlock(&sessions->lock);
    return 0;
}

/* Compare in a time that does not depend on where the texts differ. */
static bool is_equal(const char *left, const char *right)
{
    unsigned char difference = 0;
    for (size_t i = 0; i < SBX_SESSION_TEXT_BYTES; i++)
        difference |= (unsigned char)(left[i] ^ right[i]);
    return difference == 0;
}

/* The lock is held. */
static struct session *find(struct sbx_sessions *sessions, const char *text)
{
    struct session *found = NULL;
    if (!text || strlen(text) != SBX_SESSION_TEXT_BYTES - 1)
        return NULL;
    for (size_t i = 0; i < sessions->max; i++)
        if (is_equal(sessions->each[i].text, text))
            found = &sessions->each[i];
    return found;
}

bool sbx_sessions_find(struct sbx_sessions *sessions, const char *text, int64_t now_s,
                       uint8_t token_out[SBX_TOKEN_DIGEST])
{
    pthread_mutex_lock(&sessions->lock);
    struct session *session = find(sessions, text);
    if (session && now_s - session->begun_s >= SBX_SESSION_LIFE_S) {
        *session = (struct session){.text = ""};
        session = NULL;
    }
    if (session)
        memcpy(token_out, session->token, SBX_TOKEN_DIGEST);
    pthread_mutex_unlock(&sessions->lock);
    return session != NULL;
}

void sbx_sessions_close(struct sbx_sessions *sessions, const char *text)
{
    pthread_mutex_lock(&sessions->lock);
    struct session *session = find(sessions, text);
    if (session)
        *session = (struct session){.text = ""};
    pthread_mutex_unlock(&sessions->lock);
}

bool sbx_sessions_may_fail(struct sbx_sessions *sessions, int64_t now_s)
{
    pthread_mutex_lock(&sessions->lock);
    int64_t forgiven = (now_s - sessions->failed_s) / FAILURE_EVERY_S;
    if (forgiven > 0) {
        sessions->failures = sessions->failures > forgiven ? sessions->failures - forgiven : 0;
        sessions->failed_s = now_s;
    }
    bool may = sessions->failures < FAILURES_MAX;
    sessions->failures += may;
    pthread_mutex_unlock(&sessions->lock);
    return may;
}
