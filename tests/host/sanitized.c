/* SPDX-License-Identifier: Apache-2.0 */
/* sanitized.c - a program without a fault, to be built with a sanitizer: threads, locks, allocations, files, polls. With an
 * argument it forgets memory, which a leak checker is to tell of, and of nothing else. With IS_LINKED it links the library and
 * starts it by itself. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef IS_LINKED
#include "stallbox/stallbox.h"
#endif

enum {
    THREADS = 4
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long counted;
static char *volatile kept;

static void *work(void *unused)
{
    for (int i = 0; i < 5000; i++) {
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

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    (void)argv;
#ifdef IS_LINKED
    char spool[200], recordings[200];
    snprintf(spool, sizeof spool, "%s/spool", getenv("HOST_FOLDER"));
    snprintf(recordings, sizeof recordings, "%s/recordings", getenv("HOST_FOLDER"));
    struct stallbox_options options = {.sizeof_options = sizeof options,
                                       .spool_path = spool,
                                       .recording_path = recordings,
                                       .anr_ms = 60000,
                                       .slow_message_ms = 60000};
    if (stallbox_start(&options) != STALLBOX_OK) {
        return 3;
    }
#endif
    for (int turn = 0; turn < 5; turn++) {
        for (int i = 0; i < THREADS; i++) {
            pthread_create(&threads[i], NULL, work, NULL);
        }
        for (int i = 0; i < THREADS; i++) {
            pthread_join(threads[i], NULL);
        }
        poll(NULL, 0, 50);
    }
    kept = malloc(77);
    kept[0] = 1;
    if (argc > 1) {
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
