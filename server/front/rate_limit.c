/* SPDX-License-Identifier: Apache-2.0 */
/* rate_limit.c - a table of small sets. A new sender replaces the one of its set that was quiet for longest. */
#include "rate_limit.h"

#include <pthread.h>
#include <stdlib.h>

enum {
    SETS = 1 << 13,
    WAYS = 8,
    HOUR_MS = 3600000
};

struct sender {
    uint64_t number; /* 0: free */
    int64_t seen_ms;
    double spent; /* used part of its burst */
};

struct sbx_rate_limit {
    pthread_mutex_t lock;
    uint32_t an_hour;
    struct sender senders[SETS][WAYS];
};

struct sbx_rate_limit *sbx_rate_limit_create(uint32_t an_hour)
{
    /* pages of the table that are never touched cost no memory */
    struct sbx_rate_limit *limit = calloc(1, sizeof(*limit));
    if (!limit)
        return NULL;
    limit->an_hour = an_hour;
    pthread_mutex_init(&limit->lock, NULL);
    return limit;
}

void sbx_rate_limit_destroy(struct sbx_rate_limit *limit)
{
    if (!limit)
        return;
    pthread_mutex_destroy(&limit->lock);
    free(limit);
}

/* Find the sender with that number, or make a place for it. */
static struct sender *find(struct sbx_rate_limit *limit, uint64_t number, int64_t now_ms)
{
    struct sender *set = limit->senders[(number * UINT64_C(0x9e3779b97f4a7c15)) >> 51], *place = &set[0];
    for (size_t i = 0; i < WAYS; i++) {
        if (set[i].number == number)
            return &set[i];
        if (set[i].seen_ms < place->seen_ms)
            place = &set[i];
    }
    *place = (struct sender){.number = number, .seen_ms = now_ms};
    return place;
}

unsigned sbx_rate_limit_take(struct sbx_rate_limit *limit, uint64_t number, int64_t now_ms)
{
    return sbx_rate_limit_take_of(limit, number, limit->an_hour, limit->an_hour, now_ms);
}

unsigned sbx_rate_limit_take_of(struct sbx_rate_limit *limit, uint64_t number, uint32_t an_hour, uint32_t at_once,
                                int64_t now_ms)
{
    pthread_mutex_lock(&limit->lock);
    struct sender *sender = find(limit, number ? number : 1, now_ms);
    double each_ms = (double)HOUR_MS / an_hour, gained = (double)(now_ms - sender->seen_ms) / each_ms;
    sender->spent = sender->spent > gained ? sender->spent - gained : 0;
    sender->seen_ms = now_ms;
    double over = sender->spent + 1 - at_once;
    unsigned after_s = 0;
    if (over > 0)
        after_s = (unsigned)(over * each_ms / 1000) + 1;
    else
        sender->spent += 1;
    pthread_mutex_unlock(&limit->lock);
    return after_s;
}
