/* SPDX-License-Identifier: Apache-2.0 */
/* nasty_cancel_async.c - threads that are cancelled at any instruction.
 *
 * A separate file, because it is compiled without -fexceptions. Otherwise the compiler finds no place in a loop of
 * additions where an exception could occur, and omits the cleanup. Registered with libc the cleanup runs. */
#include "nasty_host.h"

#include <semaphore.h>

struct async_victim {
    sem_t ready;
    int cleaned;
    volatile uint64_t sum;
};

static void clean_async(void *argument)
{
    ((struct async_victim *)argument)->cleaned++;
}

static void *compute_for_ever(void *argument)
{
    struct async_victim *victim = argument;
    nasty_block_host_signals();
    pthread_cleanup_push(clean_async, victim);
    sem_post(&victim->ready);
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    for (uint64_t i = 0;; i++) {
        victim->sum = victim->sum * 31 + i;
    }
    pthread_cleanup_pop(0);
    return NULL;
}

void nasty_cancel_async(struct nasty_worker *worker)
{
    enum {
        AT_ONCE = 4
    };
    while (nasty_goes_on()) {
        struct async_victim victims[AT_ONCE] = {0};
        pthread_t threads[AT_ONCE];
        nasty_step(worker, "starting threads that compute");
        for (int i = 0; i < AT_ONCE; i++) {
            sem_init(&victims[i].ready, 0, 0);
            threads[i] = nasty_thread(worker, 0, compute_for_ever, &victims[i]);
        }
        for (int i = 0; i < AT_ONCE; i++) {
            while (sem_wait(&victims[i].ready) != 0) {
            }
        }
        nasty_pause_us(nasty_random(worker, 4000));
        nasty_step(worker, "cancelling threads that compute");
        for (int i = 0; i < AT_ONCE; i++) {
            pthread_cancel(threads[i]);
        }
        for (int i = 0; i < AT_ONCE; i++) {
            if (nasty_join(worker, threads[i]) != PTHREAD_CANCELED || victims[i].cleaned != 1) {
                nasty_error(worker, "a thread that computes: %d cleanup handlers", victims[i].cleaned);
            }
            sem_destroy(&victims[i].ready);
        }
        nasty_round(worker);
        nasty_pause_us(2000);
    }
}
