/* SPDX-License-Identifier: Apache-2.0 */
/* late_allocator.c - a program with an allocator of its own that main() initializes, as GCL's: it must not be called
 * before. The program waits for some messages and then computes for long enough to be sampled. */
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    MESSAGES = 12,
    QUICK_MS = 5,
    LAST_MS = 700
};
static char *arena;
static size_t arena_bytes, used;

static void *take(size_t bytes)
{
    size_t wanted = ((bytes + 15) & ~(size_t)15) + 16;
    size_t at = __atomic_fetch_add(&used, wanted, __ATOMIC_RELAXED);
    if (arena == NULL || at + wanted > arena_bytes) {
        static const char why[] = "asked for memory before main() has made the heap\n";
        (void)!write(2, why, sizeof why - 1);
        _exit(134);
    }
    memcpy(arena + at, &bytes, sizeof bytes);
    return arena + at + 16;
}

void *malloc(size_t bytes)
{
    return take(bytes);
}

void free(void *memory)
{
    if (arena == NULL) { /* also for free(NULL): GCL's looks up the page of the pointer */
        take(0);
    }
    (void)memory;
}

void *calloc(size_t count, size_t bytes)
{
    return take(count * bytes); /* memory is never given out twice, so it is zero */
}

void *realloc(void *old, size_t bytes)
{
    char *made = take(bytes);
    size_t had = 0;
    if (old != NULL) {
        memcpy(&had, (char *)old - 16, sizeof had);
        memcpy(made, old, had < bytes ? had : bytes);
    }
    return made;
}

static void compute(long ms)
{
    struct timespec now, begin;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        for (volatile int i = 0; i < 10000; i++) {
        }
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < ms);
}

int main(void)
{
    static _Alignas(16) char heap[16 << 20];
    arena_bytes = sizeof heap;
    arena = heap;
    int ends[2];
    char byte = 0;
    if (pipe(ends) != 0) {
        return 1;
    }
    struct pollfd who = {.fd = ends[0], .events = POLLIN};
    for (int i = 0; i < MESSAGES; i++) {
        poll(&who, 1, 100);
        if (write(ends[1], &byte, 1) != 1 || poll(&who, 1, -1) != 1 || read(ends[0], &byte, 1) != 1) {
            return 1;
        }
        free(malloc(100));
        compute(i == MESSAGES - 1 ? LAST_MS : QUICK_MS);
    }
    poll(&who, 1, 500);
    return 0;
}
