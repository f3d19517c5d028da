/* SPDX-License-Identifier: Apache-2.0 */
/* shared_lock.c - an editor whose thread "saver" holds the document's lock while it writes. Its loop needs that lock
 * for the next key. The program does not know the recorder.
 *
 *   stallbox run -- build/release/examples/shared_lock [SECONDS]
 *
 * The report blames the function that held the lock, on the other thread. */
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

static pthread_mutex_t document_lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t keys;
static double seconds = 2;

static void wait_for_disk(void) /* an old disk */
{
    struct timespec left = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&left, NULL);
}

__attribute__((noinline)) static void save_document(void)
{
    pthread_mutex_lock(&document_lock);
    wait_for_disk();
    pthread_mutex_unlock(&document_lock);
}

static void *save(void *unused)
{
    (void)unused;
    pthread_setname_np(pthread_self(), "saver");
    save_document();
    return NULL;
}

__attribute__((noinline)) static void take_key(void)
{
    pthread_mutex_lock(&document_lock);
    keys++;
    pthread_mutex_unlock(&document_lock);
}

int main(int argc, char **argv)
{
    pthread_t saver;
    if (argc > 1) {
        seconds = strtod(argv[1], NULL);
    }
    for (int turn = 0; turn < 60; turn++) {
        (void)poll(NULL, 0, 10); /* the next key */
        if (turn == 40 && pthread_create(&saver, NULL, save, NULL) != 0) {
            return 1;
        }
        take_key();
    }
    pthread_join(saver, NULL);
    return keys == 0;
}
