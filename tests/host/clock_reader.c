/* SPDX-License-Identifier: Apache-2.0 */
/* clock_reader.c - threads that read clocks and compete for a lock. It is run under libfaketime, whose clock takes a
 * lock. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

enum {
    THREADS = 8
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool goes_on = true;
static volatile long shared;

static void *read_clocks(void *unused)
{
    struct timespec now;
    while (goes_on) {
        for (int i = 0; i < 50; i++) {
            clock_gettime(CLOCK_REALTIME, &now);
        }
        pthread_mutex_lock(&mutex);
        for (int i = 0; i < 1000; i++) {
            shared++;
        }
        pthread_mutex_unlock(&mutex);
    }
    return unused;
}

int main(void)
{
    pthread_t threads[THREADS];
    const struct timespec pause = {2, 0};
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, read_clocks, NULL);
    }
    nanosleep(&pause, NULL);
    goes_on = false;
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    return 0;
}
