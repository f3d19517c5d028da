/* SPDX-License-Identifier: Apache-2.0 */
/* callbacks.c SECONDS - a program with callbacks from libc, allocations on its stack and an aligned stack. It is built
 * in several ways, among them -O3 and -fno-plt. */
#include <alloca.h>
#include <ctype.h>
#include <dirent.h>
#include <link.h>
#include <math.h>
#include <pthread.h>
#include <search.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <wchar.h>

enum {
    VALUES = 200
};

static volatile uint64_t sink;

/* A frame with vectors needs a stack that is aligned by 64, so the old stack pointer is first kept in another
 * register. */
static __attribute__((noinline)) double aligned_work(uint64_t seed, size_t bytes)
{
    _Alignas(64) double values[16];
    volatile char *text = alloca(bytes + 1);
    for (size_t i = 0; i < bytes; i++) {
        text[i] = (char)(seed + i);
    }
    for (unsigned i = 0; i < 16; i++) {
        values[i] = (double)(seed * (i + 1) % 1000) + text[i % (bytes + 1)];
    }
    double sum = 0;
    for (unsigned i = 0; i < 16; i++) {
        sum += sqrt(fabs(values[i])) * sin(values[i]);
    }
    return sum;
}

static int compare(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    if (a % 16 == 0) {
        sink += (uint64_t)aligned_work(a, a % 300);
    }
    return a < b ? -1 : a > b;
}

static int compare_with(const void *left, const void *right, void *context)
{
    ++*(uint64_t *)context;
    return compare(left, right);
}

static void visit(const void *node, VISIT which, int depth)
{
    if (which == postorder || which == leaf) {
        sink += **(uint64_t *const *)node + (uint64_t)depth;
    }
}

static void once(void)
{
    sink++;
}

static int at_module(struct dl_phdr_info *info, size_t bytes, void *context)
{
    (void)context;
    sink += info->dlpi_phnum + bytes + strlen(info->dlpi_name);
    return 0;
}

static int filter(const struct dirent *entry)
{
    return isdigit((unsigned char)entry->d_name[0]);
}

static ssize_t cookie_write(void *cookie, const char *text, size_t bytes)
{
    (void)cookie;
    sink += (uint64_t)text[0];
    return (ssize_t)bytes;
}

static void free_nothing(void *node)
{
    (void)node;
}

static __attribute__((noinline)) uint64_t recurse(uint64_t seed, unsigned depth)
{
    volatile uint64_t locals[8];
    locals[seed % 8] = seed;
    if (depth == 0) {
        return locals[seed % 8];
    }
    return recurse(seed * 31 + 7, depth - 1) + locals[seed % 8];
}

static void work(uint64_t seed)
{
    uint64_t values[VALUES], calls = 0;
    void *tree = NULL;
    for (unsigned i = 0; i < VALUES; i++) {
        values[i] = (seed + i) * UINT64_C(6364136223846793005) >> 33;
    }
    qsort(values, VALUES, sizeof values[0], compare);
    qsort_r(values, VALUES, sizeof values[0], compare_with, &calls);
    sink += bsearch(&values[7], values, VALUES, sizeof values[0], compare) != NULL;
    for (unsigned i = 0; i < 30; i++) {
        tsearch(&values[i], &tree, compare);
    }
    twalk(tree, visit);
    tdestroy(tree, free_nothing);
    pthread_once_t control = PTHREAD_ONCE_INIT;
    pthread_once(&control, once);
    dl_iterate_phdr(at_module, NULL);
    struct dirent **names;
    int found = scandir("/proc/self/task", &names, filter, alphasort);
    for (int i = 0; i < found; i++) {
        free(names[i]);
    }
    if (found >= 0) {
        free(names);
    }
    FILE *stream = fopencookie(NULL, "w", (cookie_io_functions_t){.write = cookie_write});
    fprintf(stream, "%s %d %.17g %lx %ls", "words", (int)seed, (double)seed / 7, (unsigned long)seed, L"wide");
    fclose(stream);
    char text[300];
    snprintf(text, sizeof text, "%200.3e %Lf", (double)seed, (long double)seed);
    sink += (uint64_t)strtod(text, NULL) + recurse(seed, (unsigned)(seed % 700));
    void *blocks[20];
    for (unsigned i = 0; i < 20; i++) {
        blocks[i] = malloc(16 + seed * (i + 1) % 5000);
    }
    for (unsigned i = 0; i < 20; i++) {
        free(blocks[i]);
    }
    time_t now = time(NULL);
    struct tm broken_down;
    localtime_r(&now, &broken_down);
    struct timespec stamp;
    for (unsigned i = 0; i < 50; i++) {
        clock_gettime(CLOCK_MONOTONIC, &stamp); /* the vdso */
    }
    sink += (uint64_t)stamp.tv_nsec + (uint64_t)broken_down.tm_sec;
}

static time_t ends;

static void *work_until(void *context)
{
    for (uint64_t seed = (uintptr_t)context; time(NULL) < ends; seed += 2) {
        work(seed);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    ends = time(NULL) + (argc > 1 ? atoi(argv[1]) : 1);
    pthread_t thread;
    if (pthread_create(&thread, NULL, work_until, (void *)(uintptr_t)2) != 0) {
        return 1;
    }
    work_until((void *)(uintptr_t)1);
    return pthread_join(thread, NULL);
}
