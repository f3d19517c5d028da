/* SPDX-License-Identifier: Apache-2.0 */
/* clock_gaps.c - reads the time repeatedly, from the line "begin" on standard input to the next line, and prints the
 * longest time between two readings in milliseconds. For this time it could not run. */
#include <poll.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

int main(void)
{
    char line[64];
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    double longest = 0;
    if (read(STDIN_FILENO, line, sizeof line) <= 0) {
        return 1;
    }
    double last = now_ms();
    for (unsigned long turn = 0;; turn++) {
        double now = now_ms();
        longest = now - last > longest ? now - last : longest;
        last = now;
        if (turn % 100000 == 0 && poll(&input, 1, 0) != 0) {
            break;
        }
    }
    printf("%.3f\n", longest);
    return 0;
}
