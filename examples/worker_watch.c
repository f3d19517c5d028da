/* SPDX-License-Identifier: Apache-2.0 */
/* worker_watch.c - a worker thread that promises signs of life, rests while it has nothing to do, and then waits for
 * something that does not come.
 *
 *     ./worker_watch && stallbox report ~/.local/state/stallbox/spool */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#include <stallbox/stallbox.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t has_job = PTHREAD_COND_INITIALIZER;
static int next_job; /* 0: none; 3: the last */

static void pause_ms(long ms)
{
    const struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&pause, NULL);
}

static int wait_for_job(uint64_t watch)
{
    stallbox_watch_rest(watch); /* waiting for work is no stall */
    pthread_mutex_lock(&lock);
    while (next_job == 0) {
        pthread_cond_wait(&has_job, &lock);
    }
    int job = next_job;
    next_job = 0;
    pthread_mutex_unlock(&lock);
    stallbox_watch_beat(watch);
    return job;
}

static void ask_a_server_that_does_not_answer(void)
{
    pause_ms(1000);
}

static void *work(void *unused)
{
    (void)unused;
    uint64_t watch = stallbox_watch_open("worker", 400);
    for (int job = 0; job != 3;) {
        job = wait_for_job(watch);
        if (job == 2) {
            ask_a_server_that_does_not_answer(); /* longer than promised: kind watchdog */
        }
    }
    stallbox_watch_close(watch);
    return NULL;
}

int main(void)
{
    pthread_t worker;
    if (stallbox_start(NULL) != STALLBOX_OK) {
        fputs("no recorder\n", stderr); /* the program continues all the same */
    }
    if (pthread_create(&worker, NULL, work, NULL) != 0) {
        return 1;
    }
    for (int job = 1; job <= 3; job++) {
        pause_ms(600); /* the worker rests longer than it promised, too: no stall */
        pthread_mutex_lock(&lock);
        next_job = job;
        pthread_cond_signal(&has_job);
        pthread_mutex_unlock(&lock);
    }
    pthread_join(worker, NULL);
    stallbox_stop(10000); /* waits at most so long if a snapshot is being written */
    return 0;
}
