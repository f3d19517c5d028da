/* SPDX-License-Identifier: Apache-2.0 */
/* wrapped.c - a program that prints, and whose threads compete for locks, under the wrappers of wrapper.c. The wrappers
 * must see every call of the program, and no other. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum {
    THREADS = 4,
    TURNS = 20000,
    PRINTS = 500
};

extern int __printf_chk(int flag, const char *format, ...);
extern int __fprintf_chk(FILE *stream, int flag, const char *format, ...);
extern int __dprintf_chk(int fd, int flag, const char *format, ...);

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static volatile long shared;

static long asked(const char *name)
{
    long (*ask)(void) = (long (*)(void))dlsym(RTLD_DEFAULT, name);
    return ask != NULL ? ask() : -1;
}

static void *contend(void *unused)
{
    for (int i = 0; i < TURNS; i++) {
        pthread_mutex_lock(&mutex);
        for (int k = 0; k < 50; k++) {
            shared++;
        }
        pthread_mutex_unlock(&mutex);
        i % 8 == 0 ? pthread_rwlock_wrlock(&rwlock) : pthread_rwlock_rdlock(&rwlock);
        shared++;
        pthread_rwlock_unlock(&rwlock);
        pthread_spin_lock(&spin);
        shared++;
        pthread_spin_unlock(&spin);
    }
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    const struct timespec pause = {0, 100000000}; /* by then every module has its hooks */
    nanosleep(&pause, NULL);
    if (argc == 2 && strcmp(argv[1], "locks") == 0) {
        pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
        for (int i = 0; i < THREADS; i++) {
            pthread_create(&threads[i], NULL, contend, NULL);
        }
        for (int i = 0; i < THREADS; i++) {
            pthread_join(threads[i], NULL);
        }
        long bad = asked("wrapper_bad_unlocks");
        fprintf(stderr, "%ld unlocks without their lock\n", bad);
        return bad == 0 ? 0 : 1;
    }
    FILE *nowhere = fopen("/dev/null", "w");
    for (int i = 0; i < PRINTS; i++) {
        printf("%d\n", i);
        __printf_chk(1, "%d\n", i);
        fprintf(nowhere, "%d %s\n", i, "text");
        __fprintf_chk(nowhere, 1, "%d %.1f\n", i, 1.5);
        dprintf(fileno(nowhere), "%d\n", i);
        __dprintf_chk(fileno(nowhere), 1, "%d\n", i);
    }
    long seen = asked("wrapper_prints"), others = asked("wrapper_other_prints");
    long wanted = argc == 2 && strcmp(argv[1], "formats") == 0 ? 6 * PRINTS : 0;
    fprintf(stderr, "%ld of %ld calls seen, %ld that nobody made\n", seen, wanted, others);
    return seen == wanted && others == 0 ? 0 : 1;
}
