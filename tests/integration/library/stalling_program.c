/* SPDX-License-Identifier: Apache-2.0 */
/* stalling_program.c - an event loop that knows nothing of the recorder, and stalls twice: once asleep, once busy. */
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define OWN_FRAME __attribute__((noinline))

static volatile uint64_t sink;

static int compare(const void *left, const void *right)
{
    sink++;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

OWN_FRAME static void fetch_slowly(void)
{
    struct timespec pause = {2, 0};
    while (nanosleep(&pause, &pause) != 0) {
    }
    sink++;
}

/* Two seconds of sorting: the stack goes through libc and back into us. */
OWN_FRAME static void sort_for_long(void)
{
    static uint32_t numbers[4096];
    for (double end = now() + 2; now() < end;) {
        for (uint32_t i = 0; i < 4096; i++) {
            numbers[i] = i * 2654435761u;
        }
        qsort(numbers, 4096, sizeof numbers[0], compare);
    }
    sink++;
}

OWN_FRAME static void handle_message(int number)
{
    if (number == 4) {
        fetch_slowly();
    } else if (number == 8) {
        sort_for_long();
    }
    sink++;
}

int main(void)
{
    for (int i = 0; i < 12; i++) {
        poll(NULL, 0, 20);
        handle_message(i);
    }
    puts("done");
    return 0;
}
