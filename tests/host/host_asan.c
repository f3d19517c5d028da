/* SPDX-License-Identifier: Apache-2.0 */
/* host_asan.c - a program built with the address sanitizer that links the library: threads, allocations, a stall. The
 * sanitizer ends it with a status of its own when anything of ours is amiss. */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "stallbox/stallbox.h"

static atomic_bool goes_on = true;

static void *work(void *unused)
{
    (void)unused;
    while (goes_on) {
        char *memory = malloc(1000);
        memset(memory, 1, 1000);
        for (volatile int i = 0; i < 10000; i++) {
        }
        free(memory);
    }
    return NULL;
}

int main(void)
{
    char spool[200], recordings[200];
    pthread_t threads[2];
    snprintf(spool, sizeof spool, "%s/spool", getenv("HOST_FOLDER"));
    snprintf(recordings, sizeof recordings, "%s/recordings", getenv("HOST_FOLDER"));
    struct stallbox_options options = {.sizeof_options = sizeof options,
                                       .spool_path = spool,
                                       .recording_path = recordings,
                                       .anr_ms = 60000,
                                       .slow_message_ms = 60000};
    if (stallbox_start(&options) != STALLBOX_OK) {
        return 1;
    }
    for (int i = 0; i < 2; i++) {
        pthread_create(&threads[i], NULL, work, NULL);
    }
    for (int i = 0; i < 60; i++) {
        struct pollfd none = {.fd = -1};
        poll(&none, 1, 1);
        const struct timespec pause = {0, i == 40 ? 700000000 : 0};
        nanosleep(&pause, NULL);
    }
    if (stallbox_snapshot(30000) != STALLBOX_OK) { /* its own poll() is the sanitizer's: no loop is seen */
        return 1;
    }
    goes_on = false;
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
    }
    return stallbox_stop(10000) == STALLBOX_OK ? 0 : 1;
}
