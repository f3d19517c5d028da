/* SPDX-License-Identifier: Apache-2.0 */
/* released_program.c - a loop that answers, and once computes for a second in functions whose names are only in its
 * debug file. */
#include <poll.h>
#include <stdint.h>
#include <time.h>

static volatile uint64_t sink;

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000ll + now.tv_nsec / 1000000;
}

static inline __attribute__((always_inline)) void weigh_entry(uint64_t entry)
{
    for (uint64_t i = 0; i < 1000; i++)
        sink = sink * 2862933555777941757u + entry + i;
}

static __attribute__((noinline)) void reindex_everything(int64_t ms)
{
    for (int64_t end = now_ms() + ms; now_ms() < end;)
        weigh_entry(sink);
}

static __attribute__((noinline)) void handle_event(int number)
{
    if (number == 10)
        reindex_everything(1200);
    sink++; /* after the call: no tail call */
}

int main(void)
{
    for (int number = 0; number < 20; number++) {
        poll(NULL, 0, 20);
        handle_event(number);
    }
    return 0;
}
