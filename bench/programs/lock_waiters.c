/* SPDX-License-Identifier: Apache-2.0 */
/* lock_waiters.c - more threads than locks, like a server whose requests compete for shared state.
 *
 * usage: lock_waiters LOCKS THREADS
 * Each thread takes one lock after another, beginning at a number of its own. It computes some 10 us with the lock, and
 * some 10 us without. Prints a line for each 64 such turns, until the output is closed. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    LOCKS_MAX = 1024,
    THREADS_MAX = 4096,
    TURNS_A_LINE = 64,
    ROUNDS = 8000,
    STRIDE = 7, /* so that two threads that met at a lock do not meet at the next one */
};

static struct {
    _Alignas(64) pthread_mutex_t mutex;
    uint64_t sum;
} locks[LOCKS_MAX];
static size_t lock_count;

static uint64_t compute(uint64_t value)
{
    for (int i = 0; i < ROUNDS; i++) {
        value = value * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    }
    return value;
}

static void *take_turns(void *number)
{
    uint64_t value = (uint64_t)(uintptr_t)number;
    for (size_t turn = (size_t)value;; turn += STRIDE) {
        size_t which = turn % lock_count;
        pthread_mutex_lock(&locks[which].mutex);
        locks[which].sum += compute(value);
        pthread_mutex_unlock(&locks[which].mutex);
        value = compute(value + 1);
        if (turn / STRIDE % TURNS_A_LINE == 0 && write(STDOUT_FILENO, "\n", 1) != 1) {
            exit(0);
        }
    }
    return NULL;
}

int main(int count, char **arguments)
{
    lock_count = count > 1 ? strtoul(arguments[1], NULL, 10) : 0;
    size_t threads = count > 2 ? strtoul(arguments[2], NULL, 10) : 0;
    if (lock_count == 0 || lock_count > LOCKS_MAX || threads == 0 || threads > THREADS_MAX) {
        fprintf(stderr, "usage: lock_waiters LOCKS THREADS\n");
        return 2;
    }
    for (size_t i = 0; i < lock_count; i++) {
        pthread_mutex_init(&locks[i].mutex, NULL);
    }
    for (size_t i = 0; i < threads; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, take_turns, (void *)i) != 0) {
            return 1;
        }
    }
    pause();
    return 0;
}
