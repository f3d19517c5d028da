/* SPDX-License-Identifier: Apache-2.0 */
/* steered_program.c - an event loop for SECONDS seconds that allocates, locks and sleeps. The second argument: with
 * "fragile" it dies when nanosleep is hooked, as a program that checks its own integrity would. With "stalls" each
 * SIGUSR1 makes a message take 600 ms. With "named" and a spool it starts the recorder itself, which is preloaded, and
 * says that it is the editor 3.1.4. */
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "stallbox/stallbox.h"

/* Where calls of nanosleep go: the value of its GOT slot, read so that the compiler does not know the value. */
static void *target_of_nanosleep(void)
{
    void *target;
#if defined(__x86_64__)
    __asm__ volatile("movq nanosleep@GOTPCREL(%%rip), %0" : "=r"(target));
#else
    target = dlsym(RTLD_DEFAULT, "nanosleep");
#endif
    return target;
}

static int is_hooked(void)
{
    Dl_info found;
    return dladdr(target_of_nanosleep(), &found) != 0 && found.dli_fname != NULL &&
           strstr(found.dli_fname, "libstallbox") != NULL;
}

static volatile sig_atomic_t is_wanted;

static void want_a_stall(int number)
{
    (void)number;
    is_wanted = 1;
}

__attribute__((noinline)) static void stall(void)
{
    const struct timespec pause = {0, 600000000};
    nanosleep(&pause, NULL);
}

static void start_named(const char *spool)
{
    const struct stallbox_options options = {.sizeof_options = sizeof options,
                                             .spool_path = spool,
                                             .recording_path = getenv("STALLBOX_RECORDINGS"),
                                             .app_name = "editor",
                                             .app_version = {3, 1, 4}};
    void *start = dlsym(RTLD_DEFAULT, "stallbox_start");
    if (start == NULL || ((enum stallbox_result(*)(const struct stallbox_options *))start)(&options) != STALLBOX_OK) {
        abort();
    }
}

int main(int argc, char **argv)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    double seconds = argc > 1 ? atof(argv[1]) : 1;
    int is_fragile = argc > 2 && strcmp(argv[2], "fragile") == 0;
    struct timespec begin, now;
    if (argc > 2 && strcmp(argv[2], "stalls") == 0) {
        signal(SIGUSR1, want_a_stall);
    }
    if (argc > 3 && strcmp(argv[2], "named") == 0) {
        start_named(argv[3]);
    }
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        const struct timespec pause = {0, 1000000};
        if (is_fragile && is_hooked()) {
            abort();
        }
        poll(NULL, 0, 5);
        pthread_mutex_lock(&lock);
        free(malloc(100));
        pthread_mutex_unlock(&lock);
        nanosleep(&pause, NULL);
        if (is_wanted) {
            is_wanted = 0;
            stall();
        }
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((double)(now.tv_sec - begin.tv_sec) + (double)(now.tv_nsec - begin.tv_nsec) / 1e9 < seconds);
    return 0;
}
