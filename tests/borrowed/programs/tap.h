/* SPDX-License-Identifier: Apache-2.0 */
/* tap.h - a line for each case. */
#ifndef TAP_H
#define TAP_H

#include <stdbool.h>
#include <stdio.h>

static int tap_cases, tap_failures;

static inline void tap_case(bool is_ok, const char *what, long got, long wanted)
{
    tap_failures += !is_ok;
    printf("%sok %d - %s", is_ok ? "" : "not ", ++tap_cases, what);
    printf(is_ok ? "\n" : ": %ld, not %ld\n", got, wanted);
    fflush(stdout);
}

static inline void tap_equal(const char *what, long got, long wanted)
{
    tap_case(got == wanted, what, got, wanted);
}

static inline int tap_end(void)
{
    printf("1..%d\n", tap_cases);
    return tap_failures != 0;
}

#endif
