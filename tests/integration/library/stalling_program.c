/* SPDX-License-Identifier: Apache-2.0 */
/* stalling_program.c - an event loop without any knowledge of the recorder. It stalls twice: once asleep, once
 * computing. */
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

OWN_FRAME static void sort(uint32_t *numbers, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        for (uint32_t k = i; k > 0 && compare(&numbers[k], &numbers[k - 1]) < 0; k--) {
            uint32_t swapped = numbers[k];
            numbers[k] = numbers[k - 1];
            numbers[k - 1] = swapped;
        }
    }
    sink++;
}

/* Two seconds of sorting: the stack goes through libc and back into this program, or stays in this program if
 * `by_own_code`. */
OWN_FRAME static void sort_for_long(int by_own_code)
{
    static uint32_t numbers[4096];
    for (double end = now() + 2; now() < end;) {
        for (uint32_t i = 0; i < 4096; i++) {
            numbers[i] = i * 2654435761u;
        }
        if (by_own_code) {
            sort(numbers, 1000);
        } else {
            qsort(numbers, 4096, sizeof numbers[0], compare);
        }
    }
    sink++;
}

OWN_FRAME static void handle_message(int number, int by_own_code)
{
    if (number == 4) {
        fetch_slowly();
    } else if (number == 8) {
        sort_for_long(by_own_code);
    }
    sink++;
}

int main(int argc, char **argv)
{
    for (int i = 0; i < 12; i++) {
        poll(NULL, 0, 20);
        handle_message(i, argc > 1 && strcmp(argv[1], "own") == 0);
    }
    puts("done");
    return 0;
}
