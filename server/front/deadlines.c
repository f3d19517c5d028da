/* SPDX-License-Identifier: Apache-2.0 */
/* deadlines.c - a list in order of deadline, and a thread that sleeps until the first one is due.
 *
 * All deadlines have the same length, so a new or renewed one is always the last: appending keeps the list sorted. */
#include "deadlines.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <time.h>

struct sbx_deadline {
    TAILQ_ENTRY(sbx_deadline) link;
    int64_t due_ns; /* CLOCK_MONOTONIC */
    int fd;
    bool is_cut;    /* the socket is shut down; the deadline is out of the list and waits for its close */
    bool is_paused; /* out of the list until renewed */
};

struct sbx_deadlines {
    pthread_mutex_t lock;
    pthread_cond_t changed;          /* signalled when the list gets its first entry, and at the stop */
    TAILQ_HEAD(, sbx_deadline) list; /* earliest first */
    pthread_t thread;
    int64_t length_ns;
    struct sbx_metrics *metrics;
    bool stopping;
};

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000ll + now.tv_nsec;
}

static void *sweep(void *argument)
{
    struct sbx_deadlines *deadlines = argument;
    pthread_mutex_lock(&deadlines->lock);
    while (!deadlines->stopping) {
        struct sbx_deadline *first = TAILQ_FIRST(&deadlines->list);
        if (!first) {
            pthread_cond_wait(&deadlines->changed, &deadlines->lock);
            continue;
        }
        if (first->due_ns > now_ns()) {
            struct timespec due = {.tv_sec = first->due_ns / 1000000000, .tv_nsec = first->due_ns % 1000000000};
            pthread_cond_timedwait(&deadlines->changed, &deadlines->lock, &due);
            continue;
        }
        /* The connection still owns the descriptor, because its close takes this lock first. */
        shutdown(first->fd, SHUT_RDWR);
        first->is_cut = true;
        TAILQ_REMOVE(&deadlines->list, first, link);
        sbx_metrics_add(deadlines->metrics, SBX_METRIC_CLOSED_LATE, 1);
    }
    pthread_mutex_unlock(&deadlines->lock);
    return NULL;
}

int sbx_deadlines_create(uint32_t deadline_ms, struct sbx_metrics *metrics, struct sbx_deadlines **deadlines_out)
{
    struct sbx_deadlines *deadlines = calloc(1, sizeof(*deadlines));
    if (!deadlines)
        return -ENOMEM;
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&deadlines->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&deadlines->lock, NULL);
    TAILQ_INIT(&deadlines->list);
    deadlines->length_ns = (int64_t)deadline_ms * 1000000;
    deadlines->metrics = metrics;
    int result = -pthread_create(&deadlines->thread, NULL, sweep, deadlines);
    if (result < 0) {
        pthread_mutex_destroy(&deadlines->lock);
        pthread_cond_destroy(&deadlines->changed);
        free(deadlines);
        return result;
    }
    *deadlines_out = deadlines;
    return 0;
}

void sbx_deadlines_destroy(struct sbx_deadlines *deadlines)
{
    if (!deadlines)
        return;
    pthread_mutex_lock(&deadlines->lock);
    deadlines->stopping = true;
    pthread_cond_signal(&deadlines->changed);
    pthread_mutex_unlock(&deadlines->lock);
    pthread_join(deadlines->thread, NULL);
    pthread_mutex_destroy(&deadlines->lock);
    pthread_cond_destroy(&deadlines->changed);
    free(deadlines);
}

struct sbx_deadline *sbx_deadline_open(struct sbx_deadlines *deadlines, int fd)
{
    struct sbx_deadline *deadline = malloc(sizeof(*deadline));
    if (!deadline)
        return NULL;
    *deadline = (struct sbx_deadline){.fd = fd};
    pthread_mutex_lock(&deadlines->lock);
    /* the clock is read under the lock, so that the list stays sorted */
    deadline->due_ns = now_ns() + deadlines->length_ns;
    bool was_empty = TAILQ_EMPTY(&deadlines->list);
    TAILQ_INSERT_TAIL(&deadlines->list, deadline, link);
    if (was_empty)
        pthread_cond_signal(&deadlines->changed);
    pthread_mutex_unlock(&deadlines->lock);
    return deadline;
}

void sbx_deadline_renew(struct sbx_deadlines *deadlines, struct sbx_deadline *deadline)
{
    if (!deadline)
        return;
    pthread_mutex_lock(&deadlines->lock);
    if (!deadline->is_cut) {
        if (!deadline->is_paused)
            TAILQ_REMOVE(&deadlines->list, deadline, link);
        deadline->is_paused = false;
        deadline->due_ns = now_ns() + deadlines->length_ns;
        if (TAILQ_EMPTY(&deadlines->list))
            pthread_cond_signal(&deadlines->changed);
        TAILQ_INSERT_TAIL(&deadlines->list, deadline, link);
    }
    pthread_mutex_unlock(&deadlines->lock);
}

void sbx_deadline_pause(struct sbx_deadlines *deadlines, struct sbx_deadline *deadline)
{
    if (!deadline)
        return;
    pthread_mutex_lock(&deadlines->lock);
    if (!deadline->is_cut && !deadline->is_paused) {
        TAILQ_REMOVE(&deadlines->list, deadline, link);
        deadline->is_paused = true;
    }
    pthread_mutex_unlock(&deadlines->lock);
}

void sbx_deadline_close(struct sbx_deadlines *deadlines, struct sbx_deadline *deadline)
{
    if (!deadline)
        return;
    pthread_mutex_lock(&deadlines->lock);
    if (!deadline->is_cut && !deadline->is_paused)
        TAILQ_REMOVE(&deadlines->list, deadline, link);
    pthread_mutex_unlock(&deadlines->lock);
    free(deadline);
}
