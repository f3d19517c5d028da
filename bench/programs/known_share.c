/* SPDX-License-Identifier: Apache-2.0 */
/* known_share.c - a program that does a known share of its work in a library, with which a profiler's figures can be
 * checked.
 *
 * usage: known_share TENTHS_OF_PERMILLE
 * The library (known_share_library.c) does this many of 10,000 equal pieces of work, spread evenly. Runs until it is
 * killed. */
#include <stdint.h>
#include <stdlib.h>

#include "known_work.h"

uint64_t known_work_of_library(uint64_t state);

__attribute__((noinline)) static uint64_t known_work_of_program(uint64_t state)
{
    return known_work(state);
}

int main(int count, char **arguments)
{
    int wanted = count == 2 ? atoi(arguments[1]) : -1, owed = 0;
    uint64_t state = 1;
    if (wanted < 0 || wanted > 10000) {
        return 2;
    }
    while (state != 0) {
        owed += wanted;
        if (owed >= 10000) {
            owed -= 10000;
            state = known_work_of_library(state);
        } else {
            state = known_work_of_program(state);
        }
    }
    return 0;
}
