/* SPDX-License-Identifier: Apache-2.0 */
/* pool_threads.c - a pool of threads that take tasks from one queue, like a server with blocking handlers.
 *
 * usage: pool_threads THREADS [ROUNDS]
 * One thread puts tasks into the queue, which has a limited length. The others take tasks, allocate, compute (20,000
 * rounds are some 50 us), read a clock, and update counters under a lock of their own shard. Prints a line for each 64
 * tasks, until the output is closed. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    THREADS_MAX = 4096,
    STACK_BYTES = 128 * 1024,
    ROOM = 256,
    TASKS_A_LINE = 64,
    SHARDS = 8,
    TASK_BYTES = 600,
    ROUNDS = 20000,
};

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t is_work, is_room;
    uint64_t tasks[ROOM], put, taken;
} queue = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER, {0}, 0, 0};

static struct {
    pthread_mutex_t mutex;
    uint64_t count, sum;
} shards[SHARDS];

static int rounds = ROUNDS;

static void handle(uint64_t task)
{
    struct timespec now;
    char *memory = malloc(TASK_BYTES);
    clock_gettime(CLOCK_MONOTONIC, &now);
    memset(memory, (int)task, TASK_BYTES);
    uint64_t sum = task + (uint64_t)now.tv_nsec;
    for (int i = 0; i < rounds; i++) {
        sum = sum * UINT64_C(6364136223846793005) + (uint64_t)memory[sum % TASK_BYTES];
    }
    free(memory);
    unsigned shard = (unsigned)(task % SHARDS);
    pthread_mutex_lock(&shards[shard].mutex);
    shards[shard].count++;
    shards[shard].sum += sum;
    pthread_mutex_unlock(&shards[shard].mutex);
}

static void *work(void *unused)
{
    for (;;) {
        pthread_mutex_lock(&queue.mutex);
        while (queue.taken == queue.put) {
            pthread_cond_wait(&queue.is_work, &queue.mutex);
        }
        uint64_t task = queue.tasks[queue.taken++ % ROOM];
        pthread_cond_signal(&queue.is_room);
        pthread_mutex_unlock(&queue.mutex);
        handle(task);
        if (task % TASKS_A_LINE == 0 && write(STDOUT_FILENO, "\n", 1) != 1) {
            exit(0);
        }
    }
    return unused;
}

int main(int count, char **arguments)
{
    int threads = count > 1 ? atoi(arguments[1]) : 64;
    rounds = count > 2 ? atoi(arguments[2]) : ROUNDS;
    if (threads < 1 || threads > THREADS_MAX) {
        fprintf(stderr, "usage: pool_threads THREADS [ROUNDS]\n");
        return 2;
    }
    for (int i = 0; i < SHARDS; i++) {
        pthread_mutex_init(&shards[i].mutex, NULL);
    }
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, STACK_BYTES);
    for (int i = 0; i < threads; i++) {
        pthread_t thread;
        if (pthread_create(&thread, &small, work, NULL) != 0) {
            return 1;
        }
    }
    for (uint64_t task = 1;; task++) {
        pthread_mutex_lock(&queue.mutex);
        while (queue.put - queue.taken == ROOM) {
            pthread_cond_wait(&queue.is_room, &queue.mutex);
        }
        queue.tasks[queue.put++ % ROOM] = task;
        pthread_cond_signal(&queue.is_work);
        pthread_mutex_unlock(&queue.mutex);
    }
}
