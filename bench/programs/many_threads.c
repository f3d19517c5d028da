/* SPDX-License-Identifier: Apache-2.0 */
/* many_threads.c - thousands of threads: the cost of an allocation and a wait in each of them, and the cost of the
 * recorder's own threads.
 *
 * usage: many_threads THREADS SECONDS [--asleep|--held]
 * Each turn of a thread is 100 allocations and a sleep of 50 ms. With --asleep, only 100 threads do this, and the
 * others sleep for half a second each time: with many more than 2,000 awake threads, a machine with two CPUs does
 * nothing else. With --held, the others begin first, allocate once, and sleep in a way that no hook sees. A recorder
 * cannot take their seats away. So if there are more than 1,024 of them, the 100 threads have no seat, as with that
 * many threads that compute and never wait. Prints "NS_A_PAIR NS_A_TURN RECORDER_CPU_PERCENT RSS_KIB". A pair is malloc
 * and free, a turn is all pairs and the sleep, both in CPU time of the thread. The recorder's figure is the CPU time of
 * its threads divided by wall time. */
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    PAIRS = 100, /* with 10,000 threads this uses one CPU */
    AWAKE = 100,
    THREADS_MAX = 20000
};

static atomic_bool goes_on = true;
static bool are_asleep, are_held;
static size_t thread_count;
static atomic_size_t held;
static int (*sleep_past_hooks)(const struct timespec *, struct timespec *);
static double ns_a_pair[THREADS_MAX], ns_a_turn[THREADS_MAX];

static double now_of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void *hold_a_seat(void)
{
    const struct timespec moment = {0, 500000000};
    void *volatile memory = malloc(64);
    free(memory);
    held++;
    while (goes_on) {
        sleep_past_hooks(&moment, NULL);
    }
    return NULL;
}

static void *run(void *number)
{
    size_t self = (size_t)number;
    if (are_held && self + AWAKE < thread_count) {
        return hold_a_seat();
    }
    double pairs_ns = 0, turns_ns = 0, turns = 0;
    while (goes_on) {
        bool is_awake = !are_asleep || self < AWAKE;
        double begin = now_of(CLOCK_THREAD_CPUTIME_ID), middle = begin;
        if (is_awake) {
            for (int i = 0; i < PAIRS; i++) {
                void *volatile memory = malloc(64);
                free(memory);
            }
            middle = now_of(CLOCK_THREAD_CPUTIME_ID);
        }
        usleep(is_awake ? 50000 : 500000);
        if (is_awake) {
            pairs_ns += middle - begin;
            turns_ns += now_of(CLOCK_THREAD_CPUTIME_ID) - begin;
            turns++;
        }
    }
    ns_a_pair[self] = turns > 0 ? pairs_ns / turns / PAIRS : 0;
    ns_a_turn[self] = turns > 0 ? turns_ns / turns : 0;
    return NULL;
}

/* Returns the CPU ticks of our process's threads whose names begin with "sbx-". */
static double recorder_ticks(void)
{
    double ticks = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *task = tasks != NULL ? readdir(tasks) : NULL; task != NULL; task = readdir(tasks)) {
        char path[300], line[512];
        unsigned long user = 0, system = 0;
        snprintf(path, sizeof path, "/proc/self/task/%s/stat", task->d_name);
        FILE *file = fopen(path, "re");
        if (file == NULL) {
            continue;
        }
        if (fgets(line, sizeof line, file) != NULL && strstr(line, "(sbx-") != NULL &&
            sscanf(strrchr(line, ')') + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system) ==
                2) {
            ticks += (double)(user + system);
        }
        fclose(file);
    }
    if (tasks != NULL) {
        closedir(tasks);
    }
    return ticks;
}

static long rss_kib(void)
{
    long pages = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file != NULL) {
        if (fscanf(file, "%ld %ld", &pages, &resident) != 2) {
            resident = 0;
        }
        fclose(file);
    }
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

int main(int argc, char **argv)
{
    static pthread_t threads[THREADS_MAX];
    size_t count = argc > 2 ? strtoul(argv[1], NULL, 10) : 0;
    pthread_attr_t small;
    if (count == 0 || count > THREADS_MAX) {
        fprintf(stderr, "usage: many_threads THREADS SECONDS [--asleep|--held]\n");
        return 2;
    }
    are_asleep = argc > 3 && strcmp(argv[3], "--asleep") == 0;
    are_held = argc > 3 && strcmp(argv[3], "--held") == 0;
    thread_count = count;
    *(void **)&sleep_past_hooks = dlsym(RTLD_DEFAULT, "nanosleep");
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 64 * 1024);
    for (size_t i = 0; i < count; i++) {
        while (are_held && i + AWAKE == count && held < i) {
            usleep(1000); /* until each of them had the chance to get a seat */
        }
        if (pthread_create(&threads[i], &small, run, (void *)i) != 0) {
            perror("many_threads");
            return 1;
        }
    }
    sleep(2);
    double ticks = recorder_ticks(), begin = now_of(CLOCK_MONOTONIC);
    sleep((unsigned)atoi(argv[2]));
    double percent =
        (recorder_ticks() - ticks) / (double)sysconf(_SC_CLK_TCK) * 100 / ((now_of(CLOCK_MONOTONIC) - begin) / 1e9);
    long rss = rss_kib();
    goes_on = false;
    double pairs = 0, turns = 0;
    size_t counted = 0;
    for (size_t i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
        pairs += ns_a_pair[i];
        turns += ns_a_turn[i];
        counted += ns_a_pair[i] > 0;
    }
    printf("%.1f %.1f %.1f %ld\n", pairs / (double)counted, turns / (double)counted, percent, rss);
    return 0;
}
