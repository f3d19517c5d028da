/* SPDX-License-Identifier: Apache-2.0 */
/* sanitized.c - a program without an error, to be built with a sanitizer: threads, locks, allocations, files, polls.
 * With the argument "forget" it leaks memory, which a leak checker must report, and nothing else. With IS_LINKED it
 * links the library and starts it itself; with "snapshot" it then stalls, and requests a snapshot while its threads
 * work. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifdef IS_LINKED
#include "stallbox/stallbox.h"
#endif

enum {
    THREADS = 4
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long counted;
static atomic_bool is_over = true; /* during a snapshot threads work until it is made */
static char *volatile kept;

static void *work(void *unused)
{
    for (int i = 0; i < 5000 || !is_over; i++) {
        pthread_mutex_lock(&mutex);
        counted++;
        pthread_mutex_unlock(&mutex);
        char *memory = malloc(1000);
        memset(memory, 1, 1000);
        free(memory);
        if (i % 500 == 0) {
            int file = open("/dev/null", O_RDWR | O_CLOEXEC);
            (void)!write(file, "x", 1);
            close(file);
        }
    }
    return unused;
}

static void take_turns(void)
{
    pthread_t threads[THREADS];
    for (int turn = 0; turn < 5; turn++) {
        for (int i = 0; i < THREADS; i++) {
            pthread_create(&threads[i], NULL, work, NULL);
        }
        for (int i = 0; i < THREADS; i++) {
            pthread_join(threads[i], NULL);
        }
        poll(NULL, 0, 50);
    }
}

#ifdef IS_LINKED
static bool start(void)
{
    char spool[200], recordings[200];
    snprintf(spool, sizeof spool, "%s/spool", getenv("HOST_FOLDER"));
    snprintf(recordings, sizeof recordings, "%s/recordings", getenv("HOST_FOLDER"));
    struct stallbox_options options = {.sizeof_options = sizeof options,
                                       .spool_path = spool,
                                       .recording_path = recordings,
                                       .anr_ms = 60000,
                                       .slow_message_ms = 60000};
    return stallbox_start(&options) == STALLBOX_OK;
}

/* A loop with a stall in it. The program's poll() is the sanitizer's, so no loop is seen and no stall found. Therefore
 * the program requests a snapshot. */
static bool stall_and_ask(void)
{
    pthread_t threads[2];
    is_over = false;
    for (int i = 0; i < 2; i++) {
        pthread_create(&threads[i], NULL, work, NULL);
    }
    for (int i = 0; i < 60; i++) {
        struct pollfd none = {.fd = -1};
        poll(&none, 1, 1);
        const struct timespec pause = {0, i == 40 ? 700000000 : 0};
        nanosleep(&pause, NULL);
    }
    bool is_made = stallbox_snapshot(30000) == STALLBOX_OK;
    is_over = true;
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
    }
    counted = 0;
    return is_made;
}
#endif

int main(int argc, char **argv)
{
    const char *order = argc > 1 ? argv[1] : "";
#ifdef IS_LINKED
    if (!start()) {
        return 3;
    }
    if (strcmp(order, "snapshot") == 0 && !stall_and_ask()) {
        return 6;
    }
#endif
    take_turns();
    kept = malloc(77);
    kept[0] = 1;
    if (strcmp(order, "forget") == 0) {
        kept = NULL;
    }
    printf("%ld\n", counted);
#ifdef IS_LINKED
    if (stallbox_stop(10000) != STALLBOX_OK) {
        return 4;
    }
#endif
    return counted == 5L * THREADS * 5000 ? 0 : 5;
}
